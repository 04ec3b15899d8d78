package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/gofiber/fiber/v3"
	"github.com/versity/versitygw/auth"
	"github.com/versity/versitygw/backend/meta"
	"github.com/versity/versitygw/backend/posix"
	"github.com/versity/versitygw/embedgw"
	"github.com/versity/versitygw/s3api"
	"github.com/versity/versitygw/s3api/utils"
	"github.com/versity/versitygw/s3err"
)

const (
	// s3ChildCommand is the hidden subcommand under which the parent starts its
	// own binary. It is of no use by hand.
	s3ChildCommand = "s3-child"
	// s3ReadyFD is where the child answers once: s3Ready, or what went wrong.
	s3ReadyFD = 3
	s3Ready   = "ready"
	s3Region  = "us-east-1"
	// s3DrainTime is how long requests in flight may take after a stop. What is
	// cut off was not acknowledged, so it is as if it had not been sent.
	s3DrainTime = 3 * time.Second
)

// s3Config is what the parent tells the child, as one line of JSON on its
// standard input: keys do not belong on a command line.
type s3Config struct {
	Address string `json:"address"`
	Root    string `json:"root"`
	Access  string `json:"access"`
	Secret  string `json:"secret"`
}

// runS3Child serves S3 until ctx ends or standard input closes, which is how
// the child learns that its parent is gone or wants it gone.
func runS3Child(ctx context.Context, stdin io.Reader, ready *os.File) error {
	if ready == nil {
		return errors.New("s3-child is started by devstack itself; run devstack without arguments")
	}
	input := json.NewDecoder(stdin)
	var cfg s3Config
	if err := input.Decode(&cfg); err != nil {
		return fmt.Errorf("s3-child: settings: %w", err)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, stdin)
		cancel()
	}()
	go func() {
		<-ctx.Done()
		time.Sleep(s3DrainTime)
		os.Exit(exitOK)
	}()

	err := serveS3(ctx, cfg, func() {
		_, _ = io.WriteString(ready, s3Ready)
		_ = ready.Close()
	})
	if err != nil {
		_, _ = io.WriteString(ready, err.Error())
	}
	return err
}

// serveS3 runs versitygw on plain files below cfg.Root.
func serveS3(ctx context.Context, cfg s3Config, onListen func()) error {
	// The default threshold is 0, which refuses every copy.
	opts := posix.PosixOpts{CopyObjectThreshold: 5 << 30}
	opts.SetNewDirPerm(0o700)
	opts.SetNewFilePerm(0o600)
	// posix.New makes Root the working directory: nothing else in this process
	// may use a relative path.
	store, err := posix.New(cfg.Root, durableMeta{meta.XattrMeta{}}, opts)
	if err != nil {
		return fmt.Errorf("open %s: %w", cfg.Root, err)
	}
	root := auth.Account{Access: cfg.Access, Secret: cfg.Secret, Role: auth.RoleAdmin}
	return embedgw.RunVersityGW(ctx, durableBackend{store, cfg.Root}, &embedgw.Config{
		RootUserAccess:    cfg.Access,
		RootUserSecret:    cfg.Secret,
		Region:            s3Region,
		Ports:             []string{cfg.Address},
		MaxConnections:    4096,
		MaxRequests:       2048,
		MultipartMaxParts: 10000,
		KeepAlive:         true,
		Quiet:             true,
		IAMService:        oneUser{auth.NewIAMServiceSingle(root)},
		S3Options: []s3api.Option{
			s3api.WithMiddleware("/", refuseEncryption),
			s3api.WithOnListen(onListen),
		},
	})
}

// oneUser knows the root account only. The service it wraps says "not found"
// in a way that clients see as 404; a wrong key must look like one: 403.
type oneUser struct{ auth.IAMService }

func (u oneUser) GetUserAccount(access string) (auth.Account, error) {
	account, err := u.IAMService.GetUserAccount(access)
	if errors.Is(err, s3err.GetAPIError(s3err.ErrAdminUserNotFound)) {
		return auth.Account{}, auth.ErrNoSuchUser
	}
	return account, err
}

// refuseEncryption turns away requests for server-side encryption, which the
// server would otherwise accept and then store in plain text.
func refuseEncryption(c fiber.Ctx) error {
	for name := range c.Request().Header.All() {
		header := strings.ToLower(string(name))
		if !asksForEncryption(header) {
			continue
		}
		requestID, hostID := utils.EnsureRequestIDs(c)
		refusal := s3err.GetAPIError(s3err.ErrNotImplemented)
		refusal.Description = "This server does not encrypt: remove the header " + header + "."
		c.Set(fiber.HeaderContentType, fiber.MIMEApplicationXML)
		return c.Status(refusal.StatusCode()).Send(refusal.XMLBody(requestID, hostID))
	}
	return c.Next()
}

func asksForEncryption(header string) bool {
	return strings.HasPrefix(header, "x-amz-server-side-encryption") ||
		strings.HasPrefix(header, "x-amz-copy-source-server-side-encryption")
}
