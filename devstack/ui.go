package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	uiserver "github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	uioptions "github.com/temporalio/ui-server/v2/server/server_options"
)

const uiStartTimeout = 10 * time.Second

// startUI returns when the Web UI answers. Its assets are in the binary and it
// fetches nothing from the internet.
//
// The library ends the process if it cannot listen, which is one more reason to
// check the ports before.
func startUI(ctx context.Context, p ports) (*uiserver.Server, error) {
	ui := uiserver.NewServer(uioptions.WithConfigProvider(&uiconfig.Config{
		TemporalGRPCAddress: address(p.temporal),
		Host:                loopback,
		Port:                p.ui,
		EnableUI:            true,
		DefaultNamespace:    namespaceName,
		DisableNewsFetch:    true,
		HideLogs:            true,
		// Plain HTTP on loopback: a cookie marked secure never comes back.
		CORS: uiconfig.CORS{CookieInsecure: true},
	}))
	go func() { _ = ui.Start() }()
	if err := awaitHTTP(ctx, "http://"+address(p.ui)+"/healthz"); err != nil {
		ui.Stop()
		return nil, fmt.Errorf("web UI: %w", err)
	}
	return ui, nil
}

func awaitHTTP(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, uiStartTimeout)
	defer cancel()
	return poll(ctx, func() error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		if err := response.Body.Close(); err != nil {
			return err
		}
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("%s answers %s; want 200", url, response.Status)
		}
		return nil
	})
}

// poll tries until try succeeds or ctx ends; then it returns the last error.
func poll(ctx context.Context, try func() error) error {
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w (gave up: %w)", err, context.Cause(ctx))
		}
	}
}
