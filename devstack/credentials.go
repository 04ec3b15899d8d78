package main

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"strings"
)

// credentials are the S3 server's only keys. They are never printed: the type
// has no method that shows the secret, and formatting it hides it.
type credentials struct {
	access string
	secret string
}

// String keeps a stray %v from leaking the secret.
func (c credentials) String() string { return c.access + ":(hidden)" }

// GoString does the same for %#v.
func (c credentials) GoString() string { return c.String() }

const (
	accessKeyName = "aws_access_key_id"
	secretKeyName = "aws_secret_access_key" // #nosec G101 -- a name, not a key
	profileName   = "default"
)

// loadCredentials reads the credentials file, or makes one with random keys if
// there is none yet.
func loadCredentials(path string, out *console) (credentials, error) {
	text, err := os.ReadFile(path) // #nosec G304 -- our own file
	if errors.Is(err, os.ErrNotExist) {
		return createCredentials(path)
	}
	if err != nil {
		return credentials{}, fmt.Errorf("credentials: %w", err)
	}
	if err := keepPrivate(path, out); err != nil {
		return credentials{}, err
	}
	creds, err := parseCredentials(text)
	if err != nil {
		return credentials{}, fmt.Errorf("credentials %s: %w; repair the file, or delete it to get new keys", path, err)
	}
	return creds, nil
}

func createCredentials(path string) (credentials, error) {
	secret := make([]byte, 30)
	if _, err := rand.Read(secret); err != nil {
		return credentials{}, fmt.Errorf("credentials: %w", err)
	}
	creds := credentials{
		access: "FLOE" + rand.Text()[:16],
		// URL-safe, so that the secret survives every tool it is pasted into.
		secret: base64.RawURLEncoding.EncodeToString(secret),
	}
	text := fmt.Sprintf("[%s]\n%s = %s\n%s = %s\n", profileName,
		accessKeyName, creds.access, secretKeyName, creds.secret)
	if err := writeFileAtomically(path, []byte(text), 0o600); err != nil {
		return credentials{}, fmt.Errorf("credentials: %w", err)
	}
	return creds, nil
}

// keepPrivate takes from others what a copy or a backup may have given them.
func keepPrivate(path string, out *console) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("credentials: %w", err)
	}
	if info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	out.warn("%s was readable by others (mode %04o); set to 0600", path, info.Mode().Perm())
	return os.Chmod(path, 0o600)
}

// parseCredentials reads the default profile of an AWS shared-credentials file.
func parseCredentials(text []byte) (credentials, error) {
	values := map[string]string{}
	section := ""
	lines := bufio.NewScanner(bytes.NewReader(text))
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]") {
			section = strings.TrimSpace(line[1 : len(line)-1])
			continue
		}
		if name, value, ok := strings.Cut(line, "="); ok && section == profileName {
			values[strings.TrimSpace(name)] = strings.TrimSpace(value)
		}
	}
	var errs []error
	for _, name := range []string{accessKeyName, secretKeyName} {
		if values[name] == "" {
			errs = append(errs, fmt.Errorf("no %s in profile [%s]", name, profileName))
		}
	}
	return credentials{values[accessKeyName], values[secretKeyName]}, errors.Join(append(errs, lines.Err())...)
}
