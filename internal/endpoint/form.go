package endpoint

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Fields that hold the length of a reply; models take one of them, or both.
const (
	MaxTokens           = "max_tokens"
	MaxCompletionTokens = "max_completion_tokens"
)

// What Endpoint.Temperature may say. Empty: found out by asking.
const (
	TemperatureSend = "send"
	TemperatureOmit = "omit"
)

const (
	temperature = "temperature"
	seed        = "seed"
)

// form is how questions are put to one model: which of the settings that not every
// model takes are sent, and in which field the length stands. Neither can be told by a
// model's name, since gateways rename models and anybody may call theirs o1. So all
// is sent at first; what an endpoint refuses by name is left out from then on.
type form struct {
	tokens string
	omit   []string // sorted
}

func (f form) omits(field string) bool { return slices.Contains(f.omit, field) }

// optional are the settings that some models refuse.
func (r Request) optional() map[string]any {
	fields := map[string]any{seed: r.Seed, temperature: r.Temperature}
	if r.TopP > 0 {
		fields["top_p"] = r.TopP
	}
	return fields
}

// unsent are the settings of a request that this form leaves out.
func (f form) unsent(r Request) []string {
	var names []string
	for name, value := range r.optional() {
		switch {
		case !f.omits(name):
		case name == seed: // each question has its own
			names = append(names, name)
		default:
			names = append(names, fmt.Sprintf("%s %v", name, value))
		}
	}
	slices.Sort(names)
	return names
}

// learned are the forms that were found out in this process, by address and model.
var learned = struct {
	sync.Mutex
	by map[string]form
}{by: map[string]form{}}

func (e Endpoint) formKey(model string) string { return e.base + " " + model }

// form is the one to begin with: what the endpoints file says, else what was found
// out, else everything.
func (e Endpoint) form(model string) form {
	learned.Lock()
	defer learned.Unlock()
	f, known := learned.by[e.formKey(model)]
	if !known {
		f = form{tokens: MaxTokens}
	}
	if e.TokensField != "" {
		f.tokens = e.TokensField
	}
	if e.Temperature == TemperatureOmit && !f.omits(temperature) {
		f.omit = append(slices.Clone(f.omit), temperature)
		slices.Sort(f.omit)
	}
	return f
}

// learn remembers a form that was taken, and says what is new about it.
func (e Endpoint) learn(model string, f form) string {
	before := e.form(model)
	learned.Lock()
	defer learned.Unlock()
	learned.by[e.formKey(model)] = f
	var news []string
	if f.tokens != before.tokens {
		news = append(news, fmt.Sprintf("%s (%s is sent instead)", before.tokens, f.tokens))
	}
	for _, field := range f.omit {
		if !before.omits(field) {
			news = append(news, field+" (it is not sent)")
		}
	}
	if len(news) == 0 {
		return ""
	}
	return fmt.Sprintf("%s refuses for model %s: %s", e.host, model, strings.Join(news, ", "))
}

var refusesField = regexp.MustCompile(`(?i)unsupported|(not|n't|n’t|no longer) support|unrecogni[sz]ed|unknown|unexpected|extra inputs|extra_forbidden|not permitted|not allowed|deprecated|not compatible`)

// without is the form that leaves out what a response refuses by name; false if it
// refuses nothing that can be left out.
func (f form) without(e Endpoint, r Request, x *exchange) (form, bool) {
	if x.status != http.StatusBadRequest && x.status != http.StatusUnprocessableEntity {
		return f, false
	}
	said := string(x.response)
	if !refusesField.MatchString(said) || tooLong(said) {
		return f, false
	}
	named := func(field string) bool { return names(x.response, field) }
	next := form{f.tokens, slices.Clone(f.omit)}
	if f.tokens == MaxTokens && e.TokensField == "" && named(MaxTokens) {
		next.tokens = MaxCompletionTokens
	}
	for field := range r.optional() {
		if field == temperature && e.Temperature == TemperatureSend {
			continue
		}
		if !f.omits(field) && named(field) {
			next.omit = append(next.omit, field)
		}
	}
	slices.Sort(next.omit)
	return next, next.tokens != f.tokens || len(next.omit) > len(f.omit)
}

// names says whether an error response is about a field: by its param, where it has
// one, else by its text.
func names(response []byte, field string) bool {
	var param string
	if failure, ok := objectOf(whole(response)["error"]); ok && json.Unmarshal(failure["param"], &param) == nil && param != "" {
		return param == field
	}
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(field) + `\b`).Match(response)
}
