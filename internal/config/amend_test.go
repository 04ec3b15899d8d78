package config_test

import (
	"strings"
	"testing"

	"floe/internal/config"
	"floe/internal/env/all"
)

func TestAnAmendedSpecForgetsTheModelOfADesignerThatIsNoMore(t *testing.T) {
	old, err := config.Load("a", []byte("name: a\ndesigner: {kind: openai, model: m, endpoint: lab, temperature: 0.3, stop: [x]}\n"), nil, all.Open)
	if err != nil {
		t.Fatal(err)
	}
	got, err := config.Amend("the spec of a", old, []string{"designer.kind=learnability", "epochs=7"}, all.Open)
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := config.Load("a", []byte("name: a\nepochs: 7\ndesigner: {kind: learnability}\n"), nil, all.Open)
	if err != nil {
		t.Fatal(err)
	}
	if diff := config.Diff(fresh, got); len(diff) != 0 {
		t.Errorf("differs from a file that says the same: %q", diff)
	}
	kept, err := config.Amend("the spec of a", old, []string{"designer.repairs=1"}, all.Open)
	if err != nil || kept.Designer.Model != "m" || kept.Designer.Endpoint != "lab" {
		t.Errorf("designer %+v, %v; want the model kept", kept.Designer, err)
	}
	if old.Designer.Model != "m" {
		t.Error("the old spec was changed")
	}
	_, err = config.Amend("the spec of a", old, []string{"designer.kind=fixed", "designer.model=other"}, all.Open)
	if err == nil || !strings.Contains(err.Error(), "designer.model") {
		t.Errorf("error %v; want a model that was asked for refused", err)
	}
}
