package artifact

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

const docsPrefix = "experiments/"

// PutDoc stores a document of an experiment, such as its spec or its report,
// over what is there.
func (s Steps) PutDoc(ctx context.Context, experiment, file string, body []byte) error {
	key, err := docKey(experiment, file)
	if err != nil {
		return err
	}
	if err := s.Store.Put(ctx, key, bytes.NewReader(body)); err != nil {
		return fmt.Errorf("store %s of experiment %s: %w", file, experiment, err)
	}
	return nil
}

// KeepDoc is PutDoc for a document that the experiment cannot do without: it is read
// back, since a store may say that it has stored what it has not.
func (s Steps) KeepDoc(ctx context.Context, experiment, file string, body []byte) error {
	if err := s.PutDoc(ctx, experiment, file, body); err != nil {
		return err
	}
	there, err := s.GetDoc(ctx, experiment, file)
	switch {
	case errors.Is(err, ErrNotFound):
		return fmt.Errorf("store %s of experiment %s: the store acknowledged it and does not have it", file, experiment)
	case err == nil && !bytes.Equal(there, body):
		return fmt.Errorf("store %s of experiment %s: the store acknowledged %d bytes and returns %d others", file, experiment, len(body), len(there))
	}
	return err
}

// GetDoc reads a document of an experiment; ErrNotFound if there is none.
func (s Steps) GetDoc(ctx context.Context, experiment, file string) ([]byte, error) {
	key, err := docKey(experiment, file)
	if err != nil {
		return nil, err
	}
	body, err := get(ctx, s.Store, key)
	if err != nil {
		return nil, fmt.Errorf("read %s of experiment %s: %w", file, experiment, err)
	}
	return body, nil
}

// ListDocs names the documents of an experiment, in order. An unknown experiment
// has none.
func (s Steps) ListDocs(ctx context.Context, experiment string) ([]string, error) {
	if err := checkPart(experiment); err != nil {
		return nil, fmt.Errorf("name of experiment: %w", err)
	}
	listed, err := s.Store.List(ctx, docsPrefix+experiment+"/")
	if err != nil {
		return nil, fmt.Errorf("list documents of experiment %s: %w", experiment, err)
	}
	files := make([]string, len(listed))
	for i, o := range listed {
		files[i] = strings.TrimPrefix(o.Key, docsPrefix+experiment+"/")
	}
	return files, nil
}

// ListExperiments names the experiments that have documents, in order.
func (s Steps) ListExperiments(ctx context.Context) ([]string, error) {
	listed, err := s.Store.List(ctx, docsPrefix)
	if err != nil {
		return nil, fmt.Errorf("list experiments: %w", err)
	}
	var names []string
	for _, o := range listed {
		name, _, _ := strings.Cut(strings.TrimPrefix(o.Key, docsPrefix), "/")
		names = append(names, name)
	}
	slices.Sort(names) // key order is another one: "a-b/x" comes before "a/x"
	return slices.Compact(names), nil
}

// AllDocs names the documents of all experiments. It is for decisions that rest on an
// experiment or a document not being there: two complete listings must agree.
func (s Steps) AllDocs(ctx context.Context) (map[string][]string, error) {
	var listings [2][]Object
	for i := range listings {
		var err error
		if listings[i], err = s.Store.List(ctx, docsPrefix); err != nil {
			return nil, fmt.Errorf("list the documents of all experiments: %w", err)
		}
	}
	sameKey := func(a, b Object) bool { return a.Key == b.Key }
	if !slices.EqualFunc(listings[0], listings[1], sameKey) {
		return nil, fmt.Errorf("two listings of %s disagree: an experiment changed meanwhile, or the store's listings cannot be trusted", docsPrefix)
	}
	all := map[string][]string{}
	for _, o := range listings[0] {
		name, doc, _ := strings.Cut(strings.TrimPrefix(o.Key, docsPrefix), "/")
		all[name] = append(all[name], doc)
	}
	return all, nil
}

// DocKey is where a document lies, for links.
func DocKey(experiment, file string) string { return docsPrefix + experiment + "/" + file }

func docKey(experiment, file string) (string, error) {
	if err := errors.Join(checkPart(experiment), checkPart(file)); err != nil {
		return "", fmt.Errorf("document %q of experiment %q: %w", file, experiment, err)
	}
	return DocKey(experiment, file), nil
}

// DeleteDoc removes a document of an experiment; one that is not there is no error.
func (s Steps) DeleteDoc(ctx context.Context, experiment, file string) error {
	key, err := docKey(experiment, file)
	if err != nil {
		return err
	}
	if err := s.Store.Delete(ctx, key); err != nil {
		return fmt.Errorf("delete %s of experiment %s: %w", file, experiment, err)
	}
	return nil
}

// ExperimentsWith names the experiments that have a document of this name.
func (s Steps) ExperimentsWith(ctx context.Context, file string) (map[string]bool, error) {
	if err := checkPart(file); err != nil {
		return nil, fmt.Errorf("name of document: %w", err)
	}
	listed, err := s.Store.List(ctx, docsPrefix)
	if err != nil {
		return nil, fmt.Errorf("list experiments with %s: %w", file, err)
	}
	names := map[string]bool{}
	for _, o := range listed {
		if name, ok := strings.CutSuffix(strings.TrimPrefix(o.Key, docsPrefix), "/"+file); ok {
			names[name] = true
		}
	}
	return names, nil
}
