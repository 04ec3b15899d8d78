package main

import (
	"bytes"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHelpTeachesEveryFlag(t *testing.T) {
	var out bytes.Buffer
	if _, err := parseFlags([]string{"--help"}, &out); !errors.Is(err, flag.ErrHelp) {
		t.Fatalf("error %v; want flag.ErrHelp", err)
	}
	for _, want := range []string{"--data", "--temporal-port", "--ui-port", "--s3-port", "--bucket", "-q", "stack.json", "credentials", "Exit codes"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("help lacks %q", want)
		}
	}
}

func TestWrongFlagsAreAllNamed(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"--bukket x", "bukket"},
		{"--ui-port many", "many"},
		{"--ui-port 70000 --s3-port -1 --bucket No_ rest", "--ui-port 70000|--s3-port -1|No_|rest"},
		{"--ui-port 8000 --s3-port 8000", "--ui-port and --s3-port are both 8000"},
	} {
		_, err := parseFlags(strings.Fields(c.args), io.Discard)
		if got := exitCode(err, io.Discard); got != exitUsage {
			t.Errorf("%s: exit code %d; want %d", c.args, got, exitUsage)
		}
		for want := range strings.SplitSeq(c.want, "|") {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v; want %q in it", c.args, err, want)
			}
		}
	}
}

func TestDefaultFolderFollowsXDG(t *testing.T) {
	for _, c := range []struct{ xdg, want string }{
		{"/state", "/state/floe"},
		{"relative", "/home/me/.local/state/floe"},
		{"", "/home/me/.local/state/floe"},
	} {
		t.Setenv("XDG_STATE_HOME", c.xdg)
		t.Setenv("HOME", "/home/me")
		if got, err := defaultDataDir(); err != nil || got != c.want {
			t.Errorf("XDG_STATE_HOME=%q: %q, %v; want %q", c.xdg, got, err, c.want)
		}
	}
}

func TestCredentialsAreMadeOnceAndHidden(t *testing.T) {
	path := filepath.Join(t.TempDir(), "credentials")
	var said bytes.Buffer
	out := &console{w: &said}
	first, err := loadCredentials(path, out)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	second, err := loadCredentials(path, out)
	if err != nil || second != first {
		t.Errorf("second load: %v, %v; want the first keys", second, err)
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 || !strings.Contains(said.String(), "0600") {
		t.Errorf("mode %v, %v, said %q; want it repaired and said", info.Mode(), err, said.String())
	}
	if text := fmt.Sprintf("%v %+v %#v %s", first, first, first, first); strings.Contains(text, first.secret) {
		t.Errorf("formatting shows the secret: %s", text)
	}
}

func TestBrokenCredentialsSayWhatIsMissing(t *testing.T) {
	_, err := parseCredentials([]byte("[other]\naws_access_key_id = a\n[default]\naws_secret_access_key=b\n"))
	if err == nil || !strings.Contains(err.Error(), "aws_access_key_id") || strings.Contains(err.Error(), "aws_secret_access_key") {
		t.Errorf("error %v; want only the access key missed", err)
	}
}

func TestLogsAreBounded(t *testing.T) {
	d, err := openDataDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l, err := openLog(d, "noisy")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	chunk := bytes.Repeat([]byte("x"), logFileMaxSize/2+1)
	for range 12 { // each write needs a file of its own
		if _, err := l.Write(chunk); err != nil {
			t.Fatal(err)
		}
	}
	files, err := filepath.Glob(filepath.Join(d.logs(), "noisy-*"))
	if err != nil || len(files) != logFilesKept {
		t.Errorf("%d files, %v; want %d", len(files), err, logFilesKept)
	}
}

// withOldSchema makes a database as an older server would have left it.
func withOldSchema(t *testing.T, version string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "temporal.db")
	if err := prepareSchema(t.Context(), file, &console{w: io.Discard}); err != nil {
		t.Fatal(err)
	}
	db := openTestDatabase(t, file)
	for _, statement := range []string{
		"DROP TABLE current_chasm_executions", // what 0.11 added
		"UPDATE devstack_schema SET version = '" + version + "' WHERE part = 'temporal'",
	} {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

func openTestDatabase(t *testing.T, file string) *sql.DB {
	t.Helper()
	db, err := openDatabase(file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func count(t *testing.T, db *sql.DB, query string) (n int) {
	t.Helper()
	if err := db.QueryRowContext(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

const countChasm = "SELECT count(*) FROM sqlite_master WHERE name = 'current_chasm_executions'"

func TestOldSchemaIsCopiedAndUpgraded(t *testing.T) {
	file := withOldSchema(t, "0.10")
	if err := prepareSchema(t.Context(), file, &console{w: io.Discard}); err != nil {
		t.Fatal(err)
	}
	db := openTestDatabase(t, file)
	if got := count(t, db, countChasm); got != 1 {
		t.Errorf("%d new tables; want 1", got)
	}
	parts, err := readStamp(t.Context(), db)
	if err != nil || describe(parts) != describe(wantedSchema) {
		t.Errorf("stamp %v, %v; want %v", parts, err, wantedSchema)
	}
	backup := openTestDatabase(t, file+".schema-temporal-0.10-visibility-0.1.bak")
	if got := count(t, backup, countChasm); got != 0 {
		t.Errorf("the copy has the new table")
	}
}

func TestFailedUpgradeLeavesTheDatabaseAlone(t *testing.T) {
	file := withOldSchema(t, "0.9") // its step to 0.10 makes tables that exist
	err := prepareSchema(t.Context(), file, &console{w: io.Discard})
	if err == nil || !strings.Contains(err.Error(), "0.9") || !strings.Contains(err.Error(), "unchanged") {
		t.Fatalf("error %v; want one that names 0.9", err)
	}
	db := openTestDatabase(t, file)
	parts, err := readStamp(t.Context(), db)
	if err != nil || describe(parts) != "temporal-0.9-visibility-0.1" {
		t.Errorf("stamp %v, %v; want the old one", parts, err)
	}
}

func TestForeignSchemasAreRefused(t *testing.T) {
	for stamp, want := range map[string][]string{
		"99.0": {"99.0", wantedSchema[0].version, "newer"},
		"odd":  {"odd"},
	} {
		file := withOldSchema(t, stamp)
		err := prepareSchema(t.Context(), file, &console{w: io.Discard})
		for _, w := range want {
			if err == nil || !strings.Contains(err.Error(), w) {
				t.Errorf("stamp %s: error %v; want %q in it", stamp, err, w)
			}
		}
	}
}

func TestUnstampedDatabaseIsRefused(t *testing.T) {
	file := withOldSchema(t, "0.10")
	if _, err := openTestDatabase(t, file).ExecContext(t.Context(), "DROP TABLE devstack_schema"); err != nil {
		t.Fatal(err)
	}
	if err := prepareSchema(t.Context(), file, &console{w: io.Discard}); err == nil || !strings.Contains(err.Error(), "no schema stamp") {
		t.Errorf("error %v; want one about the stamp", err)
	}
}

func TestVersionsAreComparedAsNumbers(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"0.9", "v0.10", -1}, {"0.10", "0.10", 0}, {"1.0", "0.11", 1}, {"odd", "0.1", -1},
	} {
		if got := compareVersions(c.a, c.b); got != c.want {
			t.Errorf("compare %s %s = %d; want %d", c.a, c.b, got, c.want)
		}
	}
}
