package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"floe/internal/ask"
	"floe/internal/endpoint"
)

// place is whom to ask. The directory decides which key goes there (docs/adr/0008):
// an address that somebody typed gets none but its own.
func (f benchFlags) place() (endpoint.Place, error) {
	if f.scoreOnly {
		return endpoint.Place{}, nil
	}
	directory, err := endpoint.Load(f.endpoints)
	if err != nil {
		return endpoint.Place{}, err
	}
	switch {
	case f.endpoint == "" && os.Getenv(endpoint.EnvBase) == "" && os.Getenv(endpoint.EnvKey) == "":
		return endpoint.Place{}, fmt.Errorf("no endpoint: set --endpoint or %s, or %s to use OpenAI", endpoint.EnvBase, endpoint.EnvKey)
	case !endpoint.IsURL(f.endpoint) && strings.ContainsAny(f.endpoint, ":/@"): // not quoted: there may be secrets in it
		return endpoint.Place{}, errors.New("--endpoint is no name of an endpoint and no URL like http://127.0.0.1:8000/v1")
	}
	place, err := directory.Open(f.endpoint)
	if err == nil && f.mostMoney > 0 && place.Prices == nil {
		err = errors.New("--max-cost counts by prices; name an endpoint of the endpoints file that has prompt_price and reply_price")
	}
	return place, err
}

// priceOf is what the tokens of an endpoint cost; nil where nobody has said.
func priceOf(place endpoint.Place) ask.Price {
	if place.Prices == nil {
		return nil
	}
	return place.Prices.Cost
}
