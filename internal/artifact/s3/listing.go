package s3

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"

	"floe/internal/artifact"
)

// List implements artifact.Store. A listing that may be partial is an error, since
// decisions rest on what it does not name: what garbage is, who holds a lease, which
// checkpoint is the newest. The SDK's paginator would end at the first page that
// gives no token, whatever else the page says.
func (s *Store) List(ctx context.Context, prefix string) ([]artifact.Object, error) {
	l := listing{store: s, prefix: prefix, size: s.page, sorted: !strings.HasSuffix(s.bucket, unsortedBucket)}
	for more := true; more; {
		page, err := l.fetch(ctx)
		if err == nil {
			more, err = l.take(page)
		}
		if err != nil {
			return nil, s.failed(ctx, "list", prefix, err)
		}
	}
	slices.SortFunc(l.all, func(a, b artifact.Object) int { return strings.Compare(a.Key, b.Key) })
	return l.all, nil
}

// unsortedBucket ends the names of AWS's directory buckets, which list in no order.
const unsortedBucket = "--x-s3"

// listing is one listing under way.
type listing struct {
	store  *Store
	prefix string
	size   int32 // of a page; 0 leaves it to the server
	sorted bool
	token  *string
	after  *string // asks for what follows a key, where a server says that nothing does
	seen   map[string]bool
	keys   map[string]bool // of a bucket without order
	all    []artifact.Object
}

func (l *listing) fetch(ctx context.Context) (*awss3.ListObjectsV2Output, error) {
	in := &awss3.ListObjectsV2Input{Bucket: &l.store.bucket, Prefix: &l.prefix, ContinuationToken: l.token, StartAfter: l.after}
	if l.size > 0 {
		in.MaxKeys = &l.size
	}
	return l.store.client.ListObjectsV2(ctx, in)
}

// take adds a page and says whether another one follows.
func (l *listing) take(page *awss3.ListObjectsV2Output) (more bool, err error) {
	if aws.ToString(page.Name) == "" {
		return false, errNoS3
	}
	if said := int(aws.ToInt32(page.KeyCount)); said > len(page.Contents)+len(page.CommonPrefixes) {
		return false, distrust("the server counts %d keys on a page and names %d", said, len(page.Contents))
	}
	for _, o := range page.Contents {
		if err := l.add(artifact.Object{Key: aws.ToString(o.Key), Size: aws.ToInt64(o.Size), Modified: aws.ToTime(o.LastModified).UTC()}); err != nil {
			return false, err
		}
	}
	return l.next(page)
}

func (l *listing) add(o artifact.Object) error {
	switch {
	case !strings.HasPrefix(o.Key, l.prefix):
		return distrust("the server names %q, which is not under the prefix", o.Key)
	case l.sorted && len(l.all) > 0 && o.Key <= l.all[len(l.all)-1].Key:
		return distrust("the server names %q after %q: twice, or out of order", o.Key, l.all[len(l.all)-1].Key)
	case !l.sorted && l.keys[o.Key]:
		return distrust("the server names %q twice", o.Key)
	case !l.sorted:
		if l.keys == nil {
			l.keys = map[string]bool{}
		}
		l.keys[o.Key] = true
	}
	l.all = append(l.all, o)
	return nil
}

// next says how the listing goes on. A token is followed also where the server
// forgets to say that more follows, and after a full page that calls itself the
// last the server is asked what comes after it.
func (l *listing) next(page *awss3.ListObjectsV2Output) (more bool, err error) {
	token := aws.ToString(page.NextContinuationToken)
	switch {
	case token != "" && l.seen[token]:
		return false, distrust("the server gives the same continuation token twice")
	case token != "":
		if l.seen == nil {
			l.seen = map[string]bool{}
		}
		l.seen[token], l.token, l.after = true, &token, nil
		return true, nil
	case aws.ToBool(page.IsTruncated):
		return false, distrust("the server says that more keys follow (IsTruncated) and gives no token to ask for them")
	case l.sorted && len(page.Contents) > 0 && len(page.Contents) >= int(aws.ToInt32(page.MaxKeys)):
		l.token, l.after = nil, page.Contents[len(page.Contents)-1].Key
		return true, nil
	}
	return false, nil
}

func distrust(format string, args ...any) error {
	return fmt.Errorf("this listing cannot be trusted: "+format, args...)
}
