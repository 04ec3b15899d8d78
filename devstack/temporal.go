package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"os"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/cluster"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	temporallog "go.temporal.io/server/common/log"
	"go.temporal.io/server/common/membership/static"
	"go.temporal.io/server/common/metrics"
	"go.temporal.io/server/common/persistence/sql/sqlplugin/sqlite"
	"go.temporal.io/server/common/primitives"
	sqliteschema "go.temporal.io/server/schema/sqlite"
	"go.temporal.io/server/temporal"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"google.golang.org/protobuf/types/known/durationpb"
)

const (
	namespaceName = "default"
	clusterName   = "active"
	// retention is how long a closed workflow can be looked at. Temporal's own
	// default of a day is over before the weekend is.
	retention = 90 * 24 * time.Hour

	temporalStartTimeout = 60 * time.Second
	temporalStopTimeout  = 6 * time.Second
)

// startTemporal lays down the database if there is none and returns when the
// namespace answers and has its search attributes.
func startTemporal(ctx context.Context, d dataDir, p ports, log *rollingLog, out *console) (temporal.Server, error) {
	if err := prepareSchema(ctx, d.database(), out); err != nil {
		return nil, err
	}
	cfg := temporalConfig(d, p)
	if err := createNamespace(cfg); err != nil {
		return nil, err
	}
	server, err := temporal.NewServer(
		temporal.WithConfig(cfg),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(staticHosts(p)),
		temporal.WithLogger(temporalLogger(log, out)),
		temporal.WithAuthorizer(authorization.NewNoopAuthorizer()),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper {
			return authorization.NewNoopClaimMapper()
		}),
		temporal.WithCustomMetricsHandler(metrics.NoopMetricsHandler),
		temporal.WithDynamicConfigClient(laptopSettings()),
	)
	if err != nil {
		return nil, err
	}
	if err := server.Start(); err != nil {
		return nil, err
	}
	if err := awaitTemporal(ctx, address(p.temporal)); err != nil {
		stopTemporal(server, out)
		return nil, err
	}
	return server, nil
}

// stopTemporal gives the server a few seconds to wind down. Left hanging it
// dies with the process, which the database does not mind.
func stopTemporal(server temporal.Server, out *console) {
	done := make(chan error, 1)
	go func() { done <- server.Stop() }()
	select {
	case err := <-done:
		if err != nil {
			out.warn("Temporal: stop: %v", err)
		}
	case <-time.After(temporalStopTimeout):
		out.warn("Temporal did not stop within %v; leaving it (nothing is lost)", temporalStopTimeout)
	}
}

// awaitTemporal returns when clients can use the namespace.
func awaitTemporal(ctx context.Context, addr string) error {
	ctx, cancel := context.WithTimeout(ctx, temporalStartTimeout)
	defer cancel()
	c, err := client.NewLazyClient(client.Options{
		HostPort:  addr,
		Namespace: namespaceName,
		Logger:    sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		return err
	}
	defer c.Close()
	err = poll(ctx, func() error {
		_, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespaceName})
		return err
	})
	if err != nil {
		return fmt.Errorf("namespace %s: %w", namespaceName, err)
	}
	return poll(ctx, func() error { return ensureSearchAttributes(ctx, c.OperatorService()) })
}

// createNamespace writes the namespace into the database before the server
// starts. It leaves one that exists as it is.
func createNamespace(cfg *config.Config) error {
	namespace, err := sqliteschema.NewNamespaceConfig(clusterName, namespaceName, false, searchAttributes)
	if err != nil {
		return fmt.Errorf("namespace %s: %w", namespaceName, err)
	}
	namespace.Detail.Config.Retention = durationpb.New(retention)
	sql := cfg.Persistence.DataStores[sqlite.PluginName].SQL
	if err := sqliteschema.CreateNamespaces(sql, namespace); err != nil {
		return fmt.Errorf("namespace %s: %w", namespaceName, err)
	}
	return nil
}

// temporalConfig is the smallest server that does everything: all services in
// this process, one shard (SQLite has one writer anyway), no archival, no
// metrics, no TLS.
func temporalConfig(d dataDir, p ports) *config.Config {
	frontend := address(p.temporal)
	cfg := &config.Config{
		Persistence: config.Persistence{
			DefaultStore:     sqlite.PluginName,
			VisibilityStore:  sqlite.PluginName,
			NumHistoryShards: 1,
			DataStores: map[string]config.DataStore{
				sqlite.PluginName: {SQL: &config.SQL{
					PluginName:        sqlite.PluginName,
					DatabaseName:      escapedPath(d.database()),
					ConnectAttributes: sqliteAttributes,
				}},
			},
		},
		ClusterMetadata: &cluster.Config{
			FailoverVersionIncrement: 10,
			MasterClusterName:        clusterName,
			CurrentClusterName:       clusterName,
			ClusterInformation: map[string]cluster.ClusterInformation{
				clusterName: {Enabled: true, InitialFailoverVersion: 1, RPCAddress: frontend},
			},
		},
		DCRedirectionPolicy: config.DCRedirectionPolicy{Policy: "noop"},
		PublicClient:        config.PublicClient{HostPort: frontend},
		Services: map[string]config.Service{
			string(primitives.FrontendService): service(p.temporal),
			string(primitives.HistoryService):  service(p.history),
			string(primitives.MatchingService): service(p.matching),
			string(primitives.WorkerService):   service(p.worker),
		},
	}
	cfg.Global.Membership = config.Membership{MaxJoinDuration: 10 * time.Second, BroadcastAddress: loopback}
	cfg.Archival.History.State = config.ArchivalDisabled
	cfg.Archival.Visibility.State = config.ArchivalDisabled
	cfg.NamespaceDefaults.Archival.History.State = config.ArchivalDisabled
	cfg.NamespaceDefaults.Archival.Visibility.State = config.ArchivalDisabled
	return cfg
}

// sqliteAttributes make every commit durable (2 is FULL). Without the
// write-ahead log the same promise costs ten times as much.
var sqliteAttributes = map[string]string{
	"mode":         "rwc",
	"journal_mode": "WAL",
	"synchronous":  "2",
	"busy_timeout": "10000",
}

// escapedPath makes a path fit the URI that the SQLite plugin builds of it.
func escapedPath(path string) string { return (&url.URL{Path: path}).EscapedPath() }

func service(port int) config.Service {
	return config.Service{RPC: config.RPC{GRPCPort: port, BindOnIP: loopback}}
}

// staticHosts says where the services are, so that none goes looking.
func staticHosts(p ports) map[primitives.ServiceName]static.Hosts {
	return map[primitives.ServiceName]static.Hosts{
		primitives.FrontendService: static.SingleLocalHost(address(p.temporal)),
		primitives.HistoryService:  static.SingleLocalHost(address(p.history)),
		primitives.MatchingService: static.SingleLocalHost(address(p.matching)),
		primitives.WorkerService:   static.SingleLocalHost(address(p.worker)),
	}
}

// laptopSettings differ from the server's defaults, which are for clusters.
// Updates, worker deployments and schedules are on by default.
func laptopSettings() dynamicconfig.StaticClient {
	return dynamicconfig.StaticClient{
		// One queue partition: with several, a task waits in one while its
		// poller waits at another, until the two are forwarded to each other.
		dynamicconfig.MatchingNumTaskqueueReadPartitions.Key():  1,
		dynamicconfig.MatchingNumTaskqueueWritePartitions.Key(): 1,
		// A command line and a page that list workflows pass 10 a second.
		dynamicconfig.FrontendMaxNamespaceVisibilityRPSPerInstance.Key(): 200,
		// Caches sized for a laptop: entries, not bytes.
		dynamicconfig.HistoryCacheHostLevelMaxSize.Key(): 4096,
		// A data folder that gets a new search attribute has it at once.
		dynamicconfig.ForceSearchAttributesCacheRefreshOnRead.Key(): true,
	}
}

// temporalLogger writes warnings and worse to log. The last words of a server
// that gives up are repeated on the terminal, since they end the process.
func temporalLogger(log *rollingLog, out *console) temporallog.Logger {
	encoder := zap.NewProductionEncoderConfig()
	encoder.EncodeTime = zapcore.ISO8601TimeEncoder
	core := zapcore.NewCore(zapcore.NewJSONEncoder(encoder), log, zap.WarnLevel)
	return temporallog.NewZapLogger(zap.New(core,
		zap.WithFatalHook(lastWords{log, out}),
		// The server may still talk when its log is closed: nobody wants to know.
		zap.ErrorOutput(zapcore.AddSync(io.Discard))))
}

type lastWords struct {
	log *rollingLog
	out *console
}

// OnWrite implements zapcore.CheckWriteHook.
func (w lastWords) OnWrite(entry *zapcore.CheckedEntry, _ []zapcore.Field) {
	w.out.warn("Temporal gave up: %s; its log is %s", entry.Message, w.log.path())
	os.Exit(exitFailure)
}
