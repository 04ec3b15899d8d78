package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"floe/internal/artifact/s3"
)

func TestTheStoresRulesAreCheckedFromTheCommandLine(t *testing.T) {
	broken := false
	g := behind(t, func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if broken && r.URL.Query().Get("partNumber") != "" {
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
	g.says(exitOK, "ok         an object over 16 MiB is put in parts and read back\n", "check", "store")
	broken = true
	g.says(exitFailed, "FAILED     an object over 16 MiB is put in parts and read back\n", "check", "store")
	var out, errOut bytes.Buffer
	code := run(t.Context(), []string{"check", "store", "-o", "json", "--s3-endpoint", g.endpoint, "--bucket", g.stack.Bucket}, strings.NewReader(""), &out, &errOut)
	var all []s3.Finding
	if err := json.Unmarshal(out.Bytes(), &all); err != nil || code != exitFailed || len(all) != 12 || !strings.Contains(errOut.String(), "1 of 12 rules failed") {
		t.Errorf("exit code %d, %d findings, %v, %s", code, len(all), err, errOut.String())
	}
	g.stack.Stop()
	g.says(exitUnreachable, "not tried  the clocks agree", "check", "store")
}
