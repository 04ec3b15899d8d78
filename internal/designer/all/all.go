// Package all is the one list of designers: the worker designs with it, and
// `starter design replay` asks with it again.
package all

import (
	"cmp"

	"floe/internal/designer"
	"floe/internal/designer/openai"
	"floe/internal/designer/rule"
	"floe/internal/endpoint"
	"floe/internal/experiment"
	"floe/internal/serve/pool"
)

// Maker makes the designer that a spec asks for.
type Maker func(experiment.DesignerSpec) (designer.Designer, error)

// With makes designers: models behind the endpoints of a directory, and rules.
func With(d endpoint.Directory) Maker {
	return func(spec experiment.DesignerSpec) (designer.Designer, error) {
		if spec.Kind == "openai" {
			return model(d, spec)
		}
		return rule.New(spec.Kind)
	}
}

// Served makes a designer of a model that a pool has made to answer.
func Served(u *pool.Use) (designer.Designer, error) {
	return openai.New(openai.Settings{Endpoint: u.Endpoint, Model: u.Model, Prices: u.Prices})
}

// model is a language model behind an endpoint. Whatever is wrong with the
// endpoint stays wrong until a person changes it.
func model(d endpoint.Directory, spec experiment.DesignerSpec) (designer.Designer, error) {
	place, err := d.Open(spec.Endpoint)
	if err != nil {
		return nil, &designer.FinalError{Reason: err.Error()}
	}
	return openai.New(openai.Settings{Endpoint: place.Endpoint, Model: cmp.Or(spec.Model, place.Model), Prices: place.Prices})
}
