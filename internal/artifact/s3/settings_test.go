package s3_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"floe/internal/artifact/s3"
	"floe/internal/devtest"
)

func TestSettingsAreFoundWhereAWSToolsFindThem(t *testing.T) {
	stack := devtest.Shared(t)
	bare(t)
	t.Setenv("AWS_ENDPOINT_URL_S3", stack.S3)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", stack.Credentials)
	store := open(t, s3.Settings{Bucket: stack.Bucket})
	if !store.PathStyle() || store.Region() != "us-east-1" {
		t.Errorf("path style %v, region %q; want path style in us-east-1 for a server that is not AWS", store.PathStyle(), store.Region())
	}
	if err := store.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestSettingsComeBeforeTheEnvironment(t *testing.T) {
	stack := devtest.Shared(t)
	withKeys(t, "NOBODY", canary)
	t.Setenv("AWS_ENDPOINT_URL_S3", nobody(t))
	t.Setenv("AWS_REGION", "eu-west-1")
	t.Setenv("AWS_PROFILE", "nobody")
	store := open(t, stack.Settings())
	if err := store.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if store.Region() != stack.Region {
		t.Errorf("region %q; want %q", store.Region(), stack.Region)
	}
}

func TestAProfileIsUsed(t *testing.T) {
	stack := devtest.Shared(t)
	bare(t)
	content, err := os.ReadFile(stack.Credentials)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "credentials")
	if err := os.WriteFile(file, []byte(strings.Replace(string(content), "[default]", "[lab]", 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	settings := stack.Settings()
	settings.CredentialsFile, settings.Profile = file, "lab"
	if err := open(t, settings).Check(t.Context()); err != nil {
		t.Error(err)
	}
	settings.Profile = "nobody"
	if _, err := s3.Open(t.Context(), settings); err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("got %v; want it to name the profile that is not there", err)
	}
}

func TestOnAWSTheBucketIsInTheHost(t *testing.T) {
	withKeys(t, "a", "b")
	if _, err := s3.Open(t.Context(), s3.Settings{Bucket: "floe"}); err == nil || !strings.Contains(err.Error(), "no region") {
		t.Errorf("got %v; want no region to be assumed", err)
	}
	store := open(t, s3.Settings{Bucket: "floe", Region: "eu-west-1"})
	if store.PathStyle() || store.Region() != "eu-west-1" {
		t.Errorf("path style %v, region %q", store.PathStyle(), store.Region())
	}
	yes, no := true, false
	if !open(t, s3.Settings{Bucket: "floe", Region: "eu-west-1", PathStyle: &yes}).PathStyle() {
		t.Error("path style was asked for")
	}
	if open(t, s3.Settings{Bucket: "floe", Endpoint: "https://objects.example", PathStyle: &no}).PathStyle() {
		t.Error("path style was refused")
	}
	if got := store.URL("a/b"); got != "s3://floe/a/b" {
		t.Errorf("URL %q", got)
	}
}

func TestBadSettingsAreNamedAllAtOnce(t *testing.T) {
	bare(t)
	_, err := s3.Open(t.Context(), s3.Settings{Endpoint: "127.0.0.1:9000", Checksums: "always"})
	for _, want := range []string{"no bucket named", `checksums "always"`, `"127.0.0.1:9000"`} {
		if err == nil || !strings.Contains(err.Error(), want) && !strings.Contains(err.Error(), "no URL") {
			t.Errorf("error %v does not say %q", err, want)
		}
	}
	for _, endpoint := range []string{"localhost", "ftp://host", "http://", "http://host?x=1", "http://host#f", "http://\x7f"} {
		if _, err := s3.Open(t.Context(), s3.Settings{Bucket: "floe", Endpoint: endpoint}); err == nil {
			t.Errorf("endpoint %q was accepted", endpoint)
		}
	}
	if _, err := s3.Open(t.Context(), s3.Settings{Bucket: "floe", Endpoint: "http://host", CABundle: "/no/such/file"}); err == nil {
		t.Error("a CA bundle that is not there was accepted")
	}
}
