package serve

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
)

// verifyListed is for servers that say no more than the name.
func verifyListed(ctx context.Context, a admin, s Settings) error {
	_, err := a.listedAs(ctx, s.served(), s.Model)
	return err
}

// verifyRoot is vLLM's: the root of a served name is the model it was started with.
func verifyRoot(ctx context.Context, a admin, s Settings) error {
	m, err := a.listedAs(ctx, s.served(), s.Model)
	if err == nil && m.Root != s.Model {
		err = &WrongModelError{a.name, m.ID, m.Root, s.Model}
	}
	return err
}

// verifySGLang asks for the path, as the root that SGLang lists is the served name.
// The path had another address before.
func verifySGLang(ctx context.Context, a admin, s Settings) error {
	if err := verifyListed(ctx, a, s); err != nil {
		return err
	}
	var info struct {
		Path string `json:"model_path"`
	}
	err := a.call(ctx, quickCall, http.MethodGet, "/model_info", nil, &info)
	if missing(err) {
		err = a.call(ctx, quickCall, http.MethodGet, "/get_model_info", nil, &info)
	}
	if err == nil && info.Path != s.Model {
		err = &WrongModelError{a.name, s.served(), info.Path, s.Model}
	}
	return err
}

// verifyLlama compares the file.
func verifyLlama(ctx context.Context, a admin, s Settings) error {
	if err := verifyListed(ctx, a, s); err != nil {
		return err
	}
	var props struct {
		Path string `json:"model_path"`
	}
	err := a.call(ctx, quickCall, http.MethodGet, "/props", nil, &props)
	if err == nil && filepath.Clean(props.Path) != filepath.Clean(s.Model) {
		err = &WrongModelError{a.name, s.served(), props.Path, s.Model}
	}
	return err
}

func missing(err error) bool {
	status, ok := errors.AsType[*statusError](err)
	return ok && status.code == http.StatusNotFound
}

// loaded turns the refusal of a name that is taken into success, if the name is of
// the same directory. Whatever a server answered, what it lists decides.
func loaded(ctx context.Context, a admin, name, dir string, refusal error) error {
	m, ok, err := a.find(ctx, name)
	switch {
	case err != nil:
		return errors.Join(refusal, err)
	case !ok && refusal != nil:
		return refusal
	case !ok:
		return &WrongModelError{a.name, name, "nothing", dir}
	case m.Root != dir:
		return &WrongModelError{a.name, name, m.Root, dir}
	}
	return nil
}

func vllmLoad(ctx context.Context, a admin, name, dir string) error {
	err := a.call(ctx, adapterCall, http.MethodPost, "/v1/load_lora_adapter", map[string]string{"lora_name": name, "lora_path": dir}, nil)
	return loaded(ctx, a, name, dir, err)
}

func vllmUnload(ctx context.Context, a admin, name string) error {
	err := a.call(ctx, adapterCall, http.MethodPost, "/v1/unload_lora_adapter", map[string]string{"lora_name": name}, nil)
	return unloaded(ctx, a, name, err)
}

// unloaded believes the list, and not what was answered.
func unloaded(ctx context.Context, a admin, name string, refusal error) error {
	_, ok, err := a.find(ctx, name)
	if err == nil && ok && refusal == nil {
		err = fmt.Errorf("%s: adapter %s is still listed", a.name, name)
	}
	if err != nil || ok {
		return errors.Join(refusal, err)
	}
	return nil
}

// vllmSleep keeps the weights in main memory, so that waking is quick.
func vllmSleep(ctx context.Context, a admin) error {
	return a.call(ctx, adapterCall, http.MethodPost, "/sleep?level=1", nil, nil)
}

func vllmWake(ctx context.Context, a admin) error {
	return a.call(ctx, adapterCall, http.MethodPost, "/wake_up", nil, nil)
}

func vllmSleeping(ctx context.Context, a admin) (bool, error) {
	var body struct {
		Is bool `json:"is_sleeping"`
	}
	err := a.call(ctx, quickCall, http.MethodGet, "/is_sleeping", nil, &body)
	return body.Is, err
}

// sglangAnswer is what SGLang says to a change of adapters; also with status 200 it
// may be a refusal.
type sglangAnswer struct {
	Success bool   `json:"success"`
	Error   string `json:"error_message"`
}

func sglangLoad(ctx context.Context, a admin, name, dir string) error {
	var said sglangAnswer
	err := a.call(ctx, adapterCall, http.MethodPost, "/load_lora_adapter", map[string]string{"lora_name": name, "lora_path": dir}, &said)
	if err == nil && !said.Success {
		err = errors.New(a.name + ": " + a.clean([]byte(said.Error)))
	}
	return loaded(ctx, a, name, dir, err)
}

func sglangUnload(ctx context.Context, a admin, name string) error {
	var said sglangAnswer
	err := a.call(ctx, adapterCall, http.MethodPost, "/unload_lora_adapter", map[string]string{"lora_name": name}, &said)
	if err == nil && !said.Success {
		err = errors.New(a.name + ": " + a.clean([]byte(said.Error)))
	}
	return unloaded(ctx, a, name, err)
}

func sglangSleep(ctx context.Context, a admin) error {
	return a.call(ctx, adapterCall, http.MethodPost, "/release_memory_occupation", struct{}{}, nil)
}

func sglangWake(ctx context.Context, a admin) error {
	return a.call(ctx, adapterCall, http.MethodPost, "/resume_memory_occupation", struct{}{}, nil)
}
