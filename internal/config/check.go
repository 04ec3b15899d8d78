package config

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"gopkg.in/yaml.v3"

	"floe/internal/experiment"
)

// checkSpec finds what is wrong between fields that are right one by one. It
// needs no environment.
func checkSpec(d *decoder, spec experiment.Spec) {
	r := spec.Reward
	if r.FullTokens <= r.FreeTokens && d.sound("reward.full_tokens", "reward.free_tokens") {
		d.Add(d.at("reward.full_tokens", "reward.free_tokens"), "reward.full_tokens",
			"found %d; want more than free_tokens, which is %d", r.FullTokens, r.FreeTokens)
	}
	if r.AccuracyLow > r.AccuracyTop && d.sound("reward.accuracy_low", "reward.accuracy_top") {
		d.Add(d.at("reward.accuracy_low", "reward.accuracy_top"), "reward.accuracy_low",
			"found %v; want at most accuracy_top, which is %v", r.AccuracyLow, r.AccuracyTop)
	}
	checkDesigner(d, spec)
	d.checkMeaning(spec)
}

// checkURL refuses an address that is no plain http URL.
func (d *decoder) checkURL(path, text string) {
	if text == "" {
		return
	}
	if err := plainURL(text); err != nil {
		d.Add(d.at(path), path, "%v; want an http or https URL", err)
	}
}

// plainURL refuses an address that is no plain http URL. Its errors never repeat
// what could be a password.
func plainURL(text string) error {
	u, err := url.Parse(text)
	switch {
	case err != nil && userInfo.MatchString(text):
		return errors.New("found an address that cannot be read")
	case err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https"):
		return fmt.Errorf("found %.60q", userInfo.ReplaceAllString(text, "//...@"))
	case u.User != nil:
		return errors.New("found a user or password in the address, and files hold no secrets")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return errors.New("found a query or fragment in the address")
	}
	return nil
}

// lines adds a fault for each line of an error that says several things.
func (d *decoder) lines(at *yaml.Node, path string, err error) {
	for _, e := range flatten(err) {
		d.Add(at, path, "%s", strings.ReplaceAll(e.Error(), "\n", "; "))
	}
}

func flatten(err error) []error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []error{err}
	}
	var all []error
	for _, e := range joined.Unwrap() {
		all = append(all, flatten(e)...)
	}
	return all
}
