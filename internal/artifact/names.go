package artifact

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"floe/internal/experiment"
)

const (
	maxKey       = 1024 // bytes, S3's own limit
	maxComponent = 255  // bytes, the limit of a file name where a server keeps files
)

// CheckKey refuses keys that some S3 server would store wrongly or not at all:
// empty parts, ".", "..", parts over 255 bytes, and anything but letters,
// digits, dot, dash, underscore and equals sign. Stores call it before they write.
func CheckKey(key string) error {
	if len(key) > maxKey {
		return fmt.Errorf("key of %d bytes; want at most %d", len(key), maxKey)
	}
	var errs []error
	for part := range strings.SplitSeq(key, "/") {
		if err := checkPart(part); err != nil {
			errs = append(errs, fmt.Errorf("key %q: %w", key, err))
		}
	}
	return errors.Join(errs...)
}

func checkPart(part string) error {
	switch {
	case part == "":
		return errors.New("an empty part")
	case part == "." || part == "..":
		return fmt.Errorf("part %q would leave its folder", part)
	case len(part) > maxComponent:
		return fmt.Errorf("a part of %d bytes; want at most %d", len(part), maxComponent)
	case strings.ContainsFunc(part, func(r rune) bool { return !plain(r) }):
		return fmt.Errorf("part %q; want letters, digits, and . - _ = only", part)
	}
	return nil
}

func plain(r rune) bool {
	return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(".-_=", r)
}

const (
	manifestFile  = "manifest.json"
	partialFolder = "partial"
)

// Folders of a step in which others than this package keep what the step, while it
// is not done, goes on from. Once it is done they are of no use, and swept.
const (
	FolderAnswers = "answers" // that a model has given so far
	FolderJob     = "job"     // directory and attempts of a job that does the step
)

// WorkFolder is where such a folder of a step is in a store, without a slash at its end.
func WorkFolder(id experiment.StepID, folder string) string { return stepPrefix(id) + folder }

// goesOn says that a step which is not done goes on from what is in a folder of it.
func goesOn(folder string) bool {
	return folder == partialFolder || folder == FolderAnswers || folder == FolderJob
}

func stepPrefix(id experiment.StepID) string  { return stepsPrefix + id.Kind + "/" + id.Key + "/" }
func manifestKey(id experiment.StepID) string { return stepPrefix(id) + manifestFile }

func objectKey(id experiment.StepID, attempt, name string) string {
	return stepPrefix(id) + attempt + "/" + name
}

// checkStep says everything that is wrong with the names of a step.
func checkStep(id experiment.StepID, attempt string, names []string) error {
	errs := []error{checkID(id)}
	if err := checkPart(attempt); err != nil {
		errs = append(errs, fmt.Errorf("attempt: %w", err))
	}
	if attempt == manifestFile || attempt == leaseFolder || goesOn(attempt) {
		errs = append(errs, fmt.Errorf("attempt %q: the name is taken", attempt))
	}
	for _, n := range names {
		errs = append(errs, CheckKey(n))
	}
	return errors.Join(append(errs, checkFiles(names))...)
}

func checkID(id experiment.StepID) error {
	var errs []error
	if err := checkPart(id.Kind); err != nil {
		errs = append(errs, fmt.Errorf("kind of step: %w", err))
	}
	if err := checkPart(id.Key); err != nil {
		errs = append(errs, fmt.Errorf("key of step: %w", err))
	}
	return errors.Join(errs...)
}

// checkFiles refuses names that could not be files and folders of one tree.
func checkFiles(names []string) error {
	var errs []error
	for i, a := range names {
		if slices.Contains(names[:i], a) {
			errs = append(errs, fmt.Errorf("file %q is there twice", a))
		}
		for _, b := range names {
			if strings.HasPrefix(b, a+"/") {
				errs = append(errs, fmt.Errorf("%q is both a file and the folder of %q", a, b))
			}
		}
	}
	return errors.Join(errs...)
}
