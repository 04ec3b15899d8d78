package connect

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"floe/internal/artifact/s3"
)

// provenFor is how long a proof is believed: servers are upgraded and put behind proxies.
const provenFor = 30 * 24 * time.Hour

// proof is the note that a store was proven, in the user's cache folder.
type proof struct {
	Store  string    `json:"store"`
	Proven time.Time `json:"proven"`
}

// Prove tries everything that floe relies on the store for, unless that was done not
// long ago with the same settings: it puts an object over 16 MiB. What costs comfort
// only is logged. The development stack's own store needs no proof.
func (s Settings) Prove(ctx context.Context, store *s3.Store, log *slog.Logger) error {
	if s.Stack != nil && s.S3.Endpoint == s.Stack.S3 {
		return nil
	}
	file := proofFile(store)
	if proven(file, store) {
		return nil
	}
	findings := store.Prove(ctx, func(f s3.Finding) {
		if !f.OK && f.Minor {
			log.Warn("the artifact store lacks something", "rule", f.Rule, "why", f.Why, "help", f.Help)
		}
	})
	if err := store.Unusable(findings); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := note(file, store); err != nil {
		log.Warn("the artifact store was proven, and will be again at the next start", "error", err)
	}
	return nil
}

// proofFile is empty where a user has no cache folder.
func proofFile(store *s3.Store) string {
	dir, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	sum := sha256.Sum256([]byte(store.Identity()))
	return filepath.Join(dir, "floe", "stores", fmt.Sprintf("%x.json", sum[:12]))
}

func proven(file string, store *s3.Store) bool {
	body, err := os.ReadFile(file) //nolint:gosec // of the user's own cache
	if err != nil {
		return false
	}
	var p proof
	return json.Unmarshal(body, &p) == nil && p.Store == store.Identity() && time.Since(p.Proven) < provenFor
}

func note(file string, store *s3.Store) error {
	if file == "" {
		return fmt.Errorf("no cache folder; set XDG_CACHE_HOME")
	}
	body, err := json.Marshal(proof{store.Identity(), time.Now().UTC()})
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	return os.WriteFile(file, append(body, '\n'), 0o600)
}
