package s3_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"

	"floe/internal/artifact/s3"
	"floe/internal/devtest"
	"floe/internal/outage"
)

// rotating is a server that takes only the newest session token; what it says about
// others is the test's.
type rotating struct {
	token   atomic.Value
	settled s3.Settings
	refused atomic.Int32
}

func rotate(t *testing.T, code string) *rotating {
	t.Helper()
	r := &rotating{}
	r.token.Store("one")
	credentials, region := settings(t).Credentials, devtest.Shared(t).Region
	_, r.settled = between(t, devtest.Shared(t), (*httptest.Server).Start, func(w http.ResponseWriter, q *http.Request, next http.Handler) {
		if q.Header.Get("X-Amz-Security-Token") != r.token.Load() {
			r.refused.Add(1)
			_, _ = io.Copy(io.Discard, q.Body)
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "<Error><Code>"+code+"</Code><Message>no</Message></Error>")
			return
		}
		own, err := credentials.Retrieve(q.Context())
		if err == nil { // the stack knows no session tokens
			q.Header.Del("X-Amz-Security-Token")
			q.URL.Host = q.Host
			err = v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = true }).
				SignHTTP(q.Context(), own, q, q.Header.Get("X-Amz-Content-Sha256"), "s3", region, time.Now())
		}
		if err != nil {
			t.Error(err)
		}
		next.ServeHTTP(w, q)
	})
	return r
}

// settings are the stack's own, as AWS tools know them.
func settings(t *testing.T) aws.Config {
	t.Helper()
	cfg, err := config.LoadDefaultConfig(t.Context(), config.WithSharedConfigProfile("default"),
		config.WithSharedCredentialsFiles([]string{devtest.Shared(t).Credentials}))
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// write renews a credentials file, which lies beside the stack's own.
func write(t *testing.T, file, token string) {
	t.Helper()
	own, err := os.ReadFile(devtest.Shared(t).Credentials)
	if err != nil {
		t.Fatal(err)
	}
	content := strings.TrimSpace(string(own)) + "\naws_session_token = " + token + "\n"
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func put(t *testing.T, store *s3.Store) error {
	t.Helper()
	return store.Put(t.Context(), fresh(), strings.NewReader("x"))
}

func TestRenewedCredentialsAreTakenWithoutARestart(t *testing.T) {
	for _, code := range []string{"ExpiredToken", "InvalidAccessKeyId", "InvalidToken"} {
		t.Run(code, func(t *testing.T) {
			server, file := rotate(t, code), filepath.Join(t.TempDir(), "credentials")
			write(t, file, "one")
			server.settled.CredentialsFile = file
			store := open(t, server.settled)
			if err := put(t, store); err != nil {
				t.Fatal(err)
			}
			server.token.Store("two") // and the file is not renewed yet
			err := put(t, store)
			if _, away := outage.As(err); !away {
				t.Errorf("between the two tokens: %v; want an outage, since it will pass", err)
			}
			if code == "ExpiredToken" && !strings.Contains(err.Error(), "the credentials have expired and are not renewed yet") {
				t.Errorf("got %q; want it to say that they expired, not that they are wrong", err)
			}
			write(t, file, "two")
			before := server.refused.Load()
			if err := put(t, store); err != nil || server.refused.Load() != before {
				t.Errorf("with the new token: %v after %d refusals; want the file to be read first", err, server.refused.Load()-before)
			}
		})
	}
}

// TestCredentialsOfAProcessAreAskedAgain has a program that gives credentials without
// an end, which no file's age tells of.
func TestCredentialsOfAProcessAreAskedAgain(t *testing.T) {
	server, dir := rotate(t, "ExpiredToken"), t.TempDir()
	bare(t)
	own, err := settings(t).Credentials.Retrieve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	answer := func(token string) {
		t.Helper()
		body := fmt.Sprintf(`{"Version":1,"AccessKeyId":%q,"SecretAccessKey":%q,"SessionToken":%q}`, own.AccessKeyID, own.SecretAccessKey, token)
		if err := os.WriteFile(filepath.Join(dir, "answer"), []byte(body), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	answer("one")
	configured := filepath.Join(dir, "config")
	if err := os.WriteFile(configured, []byte("[default]\ncredential_process = cat "+filepath.Join(dir, "answer")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CONFIG_FILE", configured)
	server.settled.CredentialsFile = ""
	store := open(t, server.settled)
	if err := put(t, store); err != nil {
		t.Fatal(err)
	}
	server.token.Store("two")
	answer("two")
	if err := put(t, store); err != nil || server.refused.Load() != 1 {
		t.Errorf("%v after %d refusals; want the program to be asked after the first", err, server.refused.Load())
	}
}

func TestCredentialsThatWereNeverGoodAreNoOutage(t *testing.T) {
	server, file := rotate(t, "InvalidToken"), filepath.Join(t.TempDir(), "credentials")
	write(t, file, "wrong")
	server.settled.CredentialsFile = file
	err := put(t, open(t, server.settled))
	if _, away := outage.As(err); err == nil || away || !strings.Contains(err.Error(), "the session token is wrong") {
		t.Errorf("got %v, an outage: %v; want the answer", err, away)
	}
	if strings.Contains(err.Error(), "aws_") {
		t.Errorf("the error repeats the file: %v", err)
	}
}

func TestExpiredCredentialsOfTheEnvironmentNeedARestart(t *testing.T) {
	withKeys(t, "a", canary)
	t.Setenv("AWS_SESSION_TOKEN", canary)
	err := put(t, open(t, s3.Settings{Bucket: "floe", Endpoint: web(t, answer(400, "ExpiredToken"))}))
	if err == nil || !strings.Contains(err.Error(), "start it again with new ones") || !strings.Contains(err.Error(), "credential_process") {
		t.Errorf("got %v; want it to say what renews them", err)
	}
}

func TestAFileThatIsHalfWrittenIsReadAgain(t *testing.T) {
	server, file := rotate(t, "ExpiredToken"), filepath.Join(t.TempDir(), "credentials")
	write(t, file, "one")
	server.settled.CredentialsFile = file
	store := open(t, server.settled)
	if err := put(t, store); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("[defa"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := put(t, store); err != nil {
		t.Errorf("while the file is being written: %v; want the old credentials to serve", err)
	}
	server.token.Store("two")
	write(t, file, "two")
	if err := put(t, store); err != nil {
		t.Error(err)
	}
}

// TestAProxyMayRewriteAcceptEncoding does what Google Cloud Storage does.
func TestAProxyMayRewriteAcceptEncoding(t *testing.T) {
	var rewritten atomic.Int32
	_, settings := between(t, devtest.Shared(t), (*httptest.Server).Start, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if got := r.Header.Get("Accept-Encoding"); got != "" {
			rewritten.Add(1)
			r.Header.Set("Accept-Encoding", got+",gzip(gfe)")
		}
		next.ServeHTTP(w, r)
	})
	store := open(t, settings)
	roundTrip(t, store)
	if err := store.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if rewritten.Load() == 0 {
		t.Error("no request had the header; the test is broken")
	}
}
