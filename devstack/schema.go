package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.temporal.io/server/schema"
	sqliteschema "go.temporal.io/server/schema/sqlite"
)

// Temporal neither checks nor upgrades a SQLite schema: a newer server on an
// older database fails somewhere, some day. So the database carries a stamp of
// ours, one row per part of the schema. It is a table and not a file beside the
// database, because only a table changes in the same transaction as the rest: a
// crash leaves the old schema with the old stamp or the new with the new.
//
// A database from an older server is copied and then brought up to date with
// the steps Temporal publishes. One from a newer server, or one for which there
// are no steps, is refused and left alone.

const (
	schemaAssets = "sqlite/v3"
	stampTable   = "devstack_schema"
)

// schemaPart is one of the two schemas that share the database.
type schemaPart struct {
	name    string // its folder among Temporal's assets
	version string
}

// wantedSchema is what the server in this binary expects.
var wantedSchema = []schemaPart{
	{"temporal", sqliteschema.Version},
	{"visibility", sqliteschema.VisibilityVersion},
}

// prepareSchema leaves the database with the schema this server wants, or an
// error and the database as it was.
func prepareSchema(ctx context.Context, file string, out *console) (err error) {
	db, err := openDatabase(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()

	found, err := readStamp(ctx, db)
	if err != nil {
		return fmt.Errorf("database %s: %w", file, err)
	}
	if len(found) == 0 {
		if err := inTransaction(ctx, db, layDownSchema); err != nil {
			return fmt.Errorf("database %s: new schema: %w", file, err)
		}
		return nil
	}
	steps, err := upgradeSteps(schema.Assets(), found, wantedSchema)
	if err != nil {
		return fmt.Errorf("database %s: %w; run the devstack that made it, or choose another folder with --data", file, err)
	}
	if len(steps) == 0 {
		return nil
	}
	return upgrade(ctx, db, file, found, steps, out)
}

func openDatabase(file string) (*sql.DB, error) {
	query := url.Values{"mode": {sqliteAttributes["mode"]}}
	for _, pragma := range []string{"journal_mode", "synchronous", "busy_timeout"} {
		query.Add("_pragma", pragma+"="+sqliteAttributes[pragma])
	}
	db, err := sql.Open("sqlite", "file:"+escapedPath(file)+"?"+query.Encode())
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", file, err)
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// readStamp returns nothing for an empty database.
func readStamp(ctx context.Context, db *sql.DB) (parts []schemaPart, err error) {
	tables, stamped := 0, 0
	err = db.QueryRowContext(ctx, `SELECT count(*), count(CASE WHEN name = ? THEN 1 END) FROM sqlite_master WHERE type = 'table'`, stampTable).
		Scan(&tables, &stamped)
	if err != nil || tables == 0 {
		return nil, err
	}
	if stamped == 0 {
		return nil, errors.New("has tables but no schema stamp: devstack did not make it; choose another folder with --data")
	}
	rows, err := db.QueryContext(ctx, "SELECT part, version FROM "+stampTable+" ORDER BY part")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var p schemaPart
		if err := rows.Scan(&p.name, &p.version); err != nil {
			return nil, err
		}
		parts = append(parts, p)
	}
	return parts, rows.Err()
}

func layDownSchema(ctx context.Context, tx *sql.Tx) error {
	for _, part := range wantedSchema {
		text, err := fs.ReadFile(schema.Assets(), path.Join(schemaAssets, part.name, "schema.sql"))
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, string(text)); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return stamp(ctx, tx)
}

func stamp(ctx context.Context, tx *sql.Tx) error {
	if _, err := tx.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS "+stampTable+" (part TEXT PRIMARY KEY, version TEXT NOT NULL)"); err != nil {
		return err
	}
	for _, part := range wantedSchema {
		_, err := tx.ExecContext(ctx, "REPLACE INTO "+stampTable+" (part, version) VALUES (?, ?)", part.name, part.version)
		if err != nil {
			return err
		}
	}
	return nil
}

func inTransaction(ctx context.Context, db *sql.DB, do func(context.Context, *sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(ctx, tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// upgrade copies the database and applies the steps, all or none of them.
func upgrade(ctx context.Context, db *sql.DB, file string, found []schemaPart, steps []upgradeStep, out *console) error {
	backup := fmt.Sprintf("%s.schema-%s.bak", file, describe(found))
	// A copy left by an attempt that did not finish may itself be unfinished.
	if err := os.Remove(backup); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := db.ExecContext(ctx, "VACUUM INTO ?", backup); err != nil {
		return fmt.Errorf("database %s: copy to %s: %w", file, backup, err)
	}
	err := inTransaction(ctx, db, func(ctx context.Context, tx *sql.Tx) error {
		for _, step := range steps {
			if _, err := tx.ExecContext(ctx, step.sql); err != nil {
				return fmt.Errorf("%s: %w", step.name, err)
			}
		}
		return stamp(ctx, tx)
	})
	if err != nil {
		return fmt.Errorf("database %s: upgrade from schema %s to %s: %w; it is unchanged", file, describe(found), describe(wantedSchema), err)
	}
	out.warn("database upgraded from schema %s to %s; the old one is %s", describe(found), describe(wantedSchema), backup)
	return nil
}

// describe writes parts so that they fit a file name: temporal-0.11-visibility-0.1.
func describe(parts []schemaPart) string {
	var words []string
	for _, p := range parts {
		words = append(words, p.name, p.version)
	}
	return strings.Join(words, "-")
}

// upgradeStep is one published change of a schema.
type upgradeStep struct {
	name string
	sql  string
}

// upgradeSteps finds the way from one schema to another among Temporal's
// assets. No steps means that nothing has to be done.
func upgradeSteps(assets fs.FS, from, to []schemaPart) ([]upgradeStep, error) {
	var steps []upgradeStep
	for _, want := range to {
		i := slices.IndexFunc(from, func(p schemaPart) bool { return p.name == want.name })
		if i < 0 {
			return nil, fmt.Errorf("its stamp does not mention the %s schema", want.name)
		}
		more, err := partSteps(assets, from[i], want)
		if err != nil {
			return nil, err
		}
		steps = append(steps, more...)
	}
	return steps, nil
}

func partSteps(assets fs.FS, from, to schemaPart) ([]upgradeStep, error) {
	switch order := compareVersions(from.version, to.version); {
	case order == 0:
		return nil, nil
	case order > 0:
		return nil, fmt.Errorf("its %s schema is %s, newer than the %s of this program", to.name, from.version, to.version)
	}
	folder := path.Join(schemaAssets, to.name, "versioned")
	names, err := fs.Glob(assets, path.Join(folder, "v*"))
	if err != nil {
		return nil, err
	}
	slices.SortFunc(names, func(a, b string) int { return compareVersions(path.Base(a), path.Base(b)) })

	var steps []upgradeStep
	reached := from.version
	for _, name := range names {
		v := path.Base(name)
		if compareVersions(v, from.version) <= 0 || compareVersions(v, to.version) > 0 {
			continue
		}
		step, err := readStep(assets, name)
		if err != nil {
			return nil, err
		}
		steps = append(steps, step)
		reached = v
	}
	if compareVersions(reached, to.version) != 0 {
		return nil, fmt.Errorf("its %s schema is %s, this program wants %s, and no migration leads from one to the other", to.name, from.version, to.version)
	}
	return steps, nil
}

func readStep(assets fs.FS, folder string) (upgradeStep, error) {
	step := upgradeStep{name: strings.TrimPrefix(folder, schemaAssets+"/")}
	text, err := fs.ReadFile(assets, path.Join(folder, "manifest.json"))
	if err != nil {
		return step, err
	}
	var manifest struct{ SchemaUpdateCqlFiles []string }
	if err := json.Unmarshal(text, &manifest); err != nil {
		return step, fmt.Errorf("%s: %w", folder, err)
	}
	for _, file := range manifest.SchemaUpdateCqlFiles {
		text, err := fs.ReadFile(assets, path.Join(folder, file))
		if err != nil {
			return step, err
		}
		step.sql += string(text) + "\n"
	}
	return step, nil
}

// compareVersions orders "0.9" before "v0.10".
func compareVersions(a, b string) int {
	return slices.Compare(versionNumbers(a), versionNumbers(b))
}

func versionNumbers(v string) []int {
	var numbers []int
	for word := range strings.SplitSeq(strings.TrimPrefix(v, "v"), ".") {
		n, err := strconv.Atoi(word)
		if err != nil {
			n = -1 // not a version of ours: older than all
		}
		numbers = append(numbers, n)
	}
	return numbers
}
