package homes

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"floe/internal/devtest/binaries"
)

// switchOn is the environment variable with which `make test-homes` asks for them.
const switchOn = "FLOE_HOMES"

// programs is the folder with floe's programs, for any user to run.
var programs string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if os.Getenv(switchOn) == "" {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "floe-homes-bin-")
	if err == nil {
		defer os.RemoveAll(dir) //nolint:errcheck // of the temporary folder
		programs, err = dir, build(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}

func build(dir string) error {
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	built, err := binaries.Build(binaries.Worker, binaries.Starter, binaries.Devstack)
	if err != nil {
		return err
	}
	for _, name := range []string{binaries.Worker, binaries.Starter, binaries.Devstack} {
		if out, err := exec.Command("cp", filepath.Join(built, name), dir+"/").CombinedOutput(); err != nil {
			return fmt.Errorf("copy %s: %w\n%s", name, err, out)
		}
	}
	return exec.Command("chmod", "-R", "a+rX", dir).Run()
}

// home is a row of the matrix.
type home struct {
	name    string
	prepare func(s *site)
	look    func(s *site) // at what the demo left; nil: nothing special
	refuses string        // what the demo says instead of running; empty: it runs
	root    bool          // needs the superuser, who can become another
}

// Users who have no entry in the list of users.
const nobodyKnown, another = 54321, 54322

var homes = []home{
	{name: "spaces, quotes and other letters in the path", prepare: func(s *site) { s.data = s.folder("my data/ünï ﬁłē 数据/it's \"so\" $HOME `x`") }},
	{name: "signs of URLs and of SQLite in the path", prepare: func(s *site) { s.data = filepath.Join(s.root, "a?b#c%41&mode=memory;d:e") }},
	{name: "a path of 200 characters", prepare: func(s *site) {
		s.data = filepath.Join(s.root, strings.Repeat("long folder/", 20))[:max(200, len(s.root))]
		s.data = strings.TrimRight(s.data, "/ ") + strings.Repeat("x", 200-len(strings.TrimRight(s.data, "/ ")))
	}},
	{name: "a folder name of 250 bytes", prepare: func(s *site) { s.data = filepath.Join(s.root, strings.Repeat("é", 125)) }},
	{name: "a relative path", prepare: func(s *site) { s.data = "./here and/../there" }},
	{name: "a path that ends in a slash", prepare: func(s *site) { s.data += "/" }},
	{name: "a linked data folder", prepare: func(s *site) {
		s.must(os.Symlink(s.folder("elsewhere"), s.data))
	}},
	{name: "a data folder below a link", prepare: func(s *site) {
		s.must(os.Symlink(s.folder("elsewhere"), filepath.Join(s.root, "link")))
		s.data = filepath.Join(s.root, "link", "data")
	}},
	{name: "a link that leads nowhere", refuses: `data folder .*data cannot be used: it is a link to .*gone, which does not exist.*--data`, prepare: func(s *site) {
		s.must(os.Symlink(filepath.Join(s.root, "gone"), s.data))
	}},
	{name: "a file in place of the folder", refuses: `data folder .*data cannot be used.*not a directory.*--data`, prepare: func(s *site) {
		s.must(os.WriteFile(s.data, nil, 0o600))
	}},
	{name: "the home's own folder", prepare: func(s *site) { s.data = "" }, look: func(s *site) {
		s.exists(filepath.Join(s.env["HOME"], ".local", "state", "floe", "temporal.db"))
	}},
	{name: "a home with other letters", prepare: func(s *site) { s.data, s.env["HOME"] = "", s.folder("Übungsraum Çağla") }},
	{name: "a home that is read-only, and a data folder elsewhere", root: true, prepare: func(s *site) { s.as(nobodyKnown); s.lock("home") }},
	{name: "a home that is read-only", root: true, refuses: `data folder .*home/\.local.*permission denied.*--data`, prepare: func(s *site) {
		s.as(nobodyKnown)
		s.data = ""
		s.lock("home")
	}},
	{name: "a home that does not exist", root: true, refuses: `data folder .*nonexistent.*permission denied.*--data`, prepare: func(s *site) {
		s.as(nobodyKnown)
		s.data, s.env["HOME"] = "", "/nonexistent"
	}},
	{name: "no HOME", prepare: func(s *site) { delete(s.env, "HOME") }},
	{name: "no HOME, but a folder for state", prepare: func(s *site) {
		delete(s.env, "HOME")
		s.data, s.env["XDG_STATE_HOME"] = "", filepath.Join(s.root, "my state")
	}, look: func(s *site) { s.exists(filepath.Join(s.root, "my state", "floe", "temporal.db")) }},
	{name: "no HOME and no data folder", refuses: `HOME.*--data`, prepare: func(s *site) { delete(s.env, "HOME"); s.data = "" }},
	{name: "HOME is empty", prepare: func(s *site) { s.env["HOME"] = "" }},
	{name: "a folder for state that is relative", prepare: func(s *site) { s.data, s.env["XDG_STATE_HOME"] = "", "state" }, look: func(s *site) {
		s.exists(filepath.Join(s.env["HOME"], ".local", "state", "floe", "temporal.db")) // as XDG says
	}},
	{name: "a folder for state that is a file", refuses: `data folder .*state/floe.*not a directory`, prepare: func(s *site) {
		s.data, s.env["XDG_STATE_HOME"] = "", filepath.Join(s.root, "state")
		s.must(os.WriteFile(s.env["XDG_STATE_HOME"], nil, 0o600))
	}},
	{name: "other folders of XDG that are odd", prepare: func(s *site) {
		s.env["XDG_RUNTIME_DIR"], s.env["XDG_CONFIG_HOME"], s.env["XDG_CACHE_HOME"] = "/nonexistent", "relative", ""
	}},
	{name: "umask 000", prepare: func(s *site) { s.mask = "000" }, look: func(s *site) { s.private() }},
	{name: "umask 000 and a folder that everybody can write to", prepare: func(s *site) {
		s.mask, s.data = "000", s.folder("open")
		s.must(os.Chmod(s.data, 0o777))
	}, look: func(s *site) { s.private() }},
	{name: "umask 077", prepare: func(s *site) { s.mask = "077" }},
	{name: "umask 777", prepare: func(s *site) { s.mask = "777" }, root: true},
	{name: "no TMPDIR", prepare: func(s *site) { delete(s.env, "TMPDIR") }},
	{name: "a TMPDIR that does not exist", prepare: func(s *site) { s.env["TMPDIR"] = filepath.Join(s.root, "no", "tmp") }},
	{name: "a TMPDIR that is read-only", root: true, prepare: func(s *site) { s.as(nobodyKnown); s.env["TMPDIR"] = s.lock("tmp") }},
	{name: "a Turkish locale", prepare: func(s *site) { s.env["LANG"], s.env["LC_ALL"] = "tr_TR.UTF-8", "tr_TR.UTF-8" }},
	{name: "a locale that does not exist", prepare: func(s *site) {
		s.env["LANG"], s.env["LC_ALL"], s.env["LC_NUMERIC"] = "xx_YY.latin1", "no such", "de_DE"
	}},
	{name: "no PATH", prepare: func(s *site) { delete(s.env, "PATH") }},
	{name: "a clock that is put forward meanwhile", prepare: func(s *site) { s.env["TZ"] = s.zone(0, 3600) }},
	{name: "a clock that is put back meanwhile", prepare: func(s *site) { s.env["TZ"] = s.zone(3600, 0) }},
	{name: "a time zone that does not exist", prepare: func(s *site) { s.env["TZ"] = "Mars/Olympus" }},
	{name: "a time zone far from Greenwich", prepare: func(s *site) { s.env["TZ"] = "Pacific/Kiritimati" }},
	{name: "a user without an entry", root: true, prepare: func(s *site) { s.as(nobodyKnown); s.env["HOME"] = "/" }},
	{name: "a data folder of another user", root: true, refuses: `data folder .*permission denied`, prepare: func(s *site) {
		s.as(nobodyKnown)
		s.data = s.folder("theirs")
		s.must(os.Chmod(s.data, 0o700))
		s.must(os.Chown(s.data, another, another))
	}},
	{name: "a data folder that may only be read", root: true, refuses: `data folder .*permission denied`, prepare: func(s *site) {
		s.as(nobodyKnown)
		s.data = s.lock("theirs")
	}},
	{name: "a current folder that is gone", prepare: func(s *site) { s.last = `mkdir gone && cd gone && rmdir "$PWD"` }},
}

func TestTheDemoEndsWithTheSameFiguresInAnyHome(t *testing.T) {
	if os.Getenv(switchOn) == "" {
		t.Skip("set " + switchOn + ", as make test-homes does")
	}
	usual := newSite(t)
	want := usual.figures(usual.demo())
	for _, h := range homes {
		t.Run(h.name, func(t *testing.T) {
			if h.root && os.Getuid() != 0 {
				t.Skip("needs the superuser")
			}
			s := newSite(t)
			h.prepare(s)
			r := s.demo()
			if h.refuses != "" {
				s.refused(r, h.refuses)
				return
			}
			if got := s.figures(r); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
			if h.look != nil {
				h.look(s)
			}
		})
	}
}

// refused wants a reason in one sentence, and that nothing was left running.
func (s *site) refused(r ran, says string) {
	s.Helper()
	if r.code != 2 || !regexp.MustCompile("(?s)"+says).MatchString(r.said) || strings.Contains(r.said, "goroutine ") || strings.Count(r.said, "\n") > 4 {
		s.Errorf("exit code %d; want a refusal in a few lines that says %q\n%s", r.code, says, r.said)
	}
}

func (s *site) exists(file string) {
	s.Helper()
	if _, err := os.Stat(file); err != nil {
		s.Error(err)
	}
}

// as runs the demo as another user, who owns the root folder.
func (s *site) as(uid int) {
	s.uid = uid
	s.must(os.Chown(s.root, uid, uid))
}

// lock is a folder that nobody but the superuser can write to.
func (s *site) lock(name string) string {
	dir := s.folder(name)
	s.must(os.Chmod(dir, 0o555))
	return dir
}

// private wants no file that others can write to, and no secret that they can read.
func (s *site) private() {
	s.Helper()
	s.must(filepath.WalkDir(s.data, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) || err == nil && (path == s.data || d.Type() == fs.ModeSymlink) {
			return nil
		}
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o022 != 0 {
			s.Errorf("%s has mode %v; want none that others can write to", path, info.Mode())
		}
		if filepath.Base(path) == "credentials" && info.Mode().Perm() != 0o600 {
			s.Errorf("%s has mode %v; want 0600", path, info.Mode())
		}
		return nil
	}))
}
