package main

import (
	"context"
	"path/filepath"

	"floe/activities"
	"floe/internal/designer"
	designers "floe/internal/designer/all"
	"floe/internal/designer/replay"
	"floe/internal/endpoint"
	"floe/internal/experiment"
	jobs "floe/internal/job/backend/all"
	processes "floe/internal/job/backend/process"
	"floe/internal/serve"
	"floe/internal/serve/pool"
)

// ownModels makes designers of the models that an experiment trains, on this machine
// or wherever the experiment has them served.
type ownModels struct {
	acts      *activities.Activities
	models    *pool.Pool
	directory endpoint.Directory
	known     map[string]*activities.OwnDesigner // by kind
}

// ownModels uses the folder of the worker on this machine: what it serves already is
// asked there, and while it trains, its device is waited for.
func (a *app) ownModels(ctx context.Context, directory endpoint.Directory, folder string) (*ownModels, error) {
	steps, err := a.store(ctx)
	if err != nil {
		return nil, err
	}
	if folder == "" {
		if folder, err = a.settings.Beside("worker"); err != nil {
			return nil, err
		}
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return nil, err
	}
	worker, err := sibling("worker")
	if err != nil {
		worker = "worker" // what needs none goes on; what does says that it is not there
	}
	records, known := pool.Folders(folder)
	servers, err := processes.New(processes.Settings{Root: records, Supervisor: []string{worker, processes.Verb}})
	if err != nil {
		return nil, err
	}
	trainings, err := processes.New(processes.Settings{Root: jobs.ProcessRoot(folder), Supervisor: []string{worker, processes.Verb}})
	if err != nil {
		return nil, err
	}
	models := pool.New(pool.Settings{
		Local:     serve.Local{Jobs: servers, Root: known, Guard: []string{worker, serve.Verb}},
		Directory: directory, Guest: true,
	})
	return &ownModels{
		acts:   &activities.Activities{Steps: *steps, Models: models, Asker: designers.Served, Folder: folder, Device: trainings.Live},
		models: models, directory: directory, known: map[string]*activities.OwnDesigner{},
	}, nil
}

// close lets servers go. Those that nobody holds end after a while.
func (o *ownModels) close() { o.models.Close() }

// find finds the models of the cells that ask the experiment's own, and notes which
// they are.
func (o *ownModels) find(ctx context.Context, in activities.DesignInput, cells []replay.Cell) error {
	for i, c := range cells {
		if kind, _ := designer.KindOf(c.Spec.Kind); !kind.Serves {
			continue
		}
		prices, err := o.prices(in.Spec)
		if err != nil {
			return err
		}
		in.Spec.Designer = c.Spec
		d, err := activities.NewOwnDesigner(ctx, o.acts, in, prices)
		if err != nil {
			return err
		}
		cells[i].Model = d.Model
		o.known[c.Spec.Kind] = d
	}
	return nil
}

// prices are those of the server that others run; a server of ours costs nothing.
func (o *ownModels) prices(spec experiment.Spec) (*endpoint.Prices, error) {
	if spec.Serve.Kind != experiment.ServeExternal {
		return new(endpoint.Prices), nil
	}
	at, err := o.directory.Open(spec.Serve.Endpoint)
	return at.Prices, err
}

// maker makes designers of the experiment's own models, and others as before.
func (o *ownModels) maker(others designers.Maker) designers.Maker {
	return func(spec experiment.DesignerSpec) (designer.Designer, error) {
		if d := o.known[spec.Kind]; d != nil {
			return d, nil
		}
		return others(spec)
	}
}
