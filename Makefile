# floe: `make demo` shows it, `make check` tests it.

GO      ?= go
PYTHON  ?= python3
BIN     := bin
VERSION := $(shell git describe --tags --always 2>/dev/null || echo dev)
COMMIT  := $(shell git rev-parse HEAD 2>/dev/null)
DIRTY   := $(shell test -z "$$(git status --porcelain 2>/dev/null)" && echo false || echo true)
STAMP   := -X floe/internal/version.version=$(VERSION) -X floe/internal/version.commit=$(COMMIT) -X floe/internal/version.dirty=$(DIRTY)
SPEC    ?= examples/demo.yaml

.DEFAULT_GOAL := help
.PHONY: help build demo dev check test test-devstack test-model test-trainer test-trainer-fast test-loop nightly test-slurm test-ray test-kubernetes test-serve test-homes lint-trainer proof race lint workflowcheck vet tidy fuzz bench schema histories cover sweep-scale chaos clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## build bin/starter, bin/worker and bin/devstack (the first time takes minutes: it compiles a Temporal server)
	@mkdir -p $(BIN)
	@test -x $(BIN)/devstack || echo "building the development stack; the first time this compiles a Temporal server and takes some minutes"
	@$(GO) build -C devstack -tags osusergo -ldflags "-s -w -X main.version=$(VERSION)" -o ../$(BIN)/devstack .
	@$(GO) build -ldflags "-s -w $(STAMP)" -o $(BIN)/ ./worker ./starter

demo: build ## run a whole experiment on this machine (ARGS=--keep leaves the services running)
	@$(BIN)/starter demo $(ARGS)

dev: build ## run Temporal, its UI, an S3 store and a worker until Ctrl-C
	@$(BIN)/starter dev $(ARGS)

check: build lint workflowcheck lint-trainer test-trainer-fast race test-devstack ## all checks: what CI runs

test: ## the main module's tests that start no servers: under a minute
	$(GO) test -short -timeout 10m ./...

race: ## all of the main module's tests, under the race detector
	$(GO) test -race -timeout 30m ./...

test-devstack: ## the development stack's tests
	$(GO) test -C devstack -timeout 30m ./...

test-model: ## have a small real language model design, in every context (opt-in: builds llama.cpp, takes an hour or so)
	@scripts/test-model

TRAINER        := trainer/.venv/bin
TRAINER_CHECKS := trainer/.venv-checks/bin
PYTHON_ENOUGH  := $(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit(f"the trainer wants Python 3.11 or later; found {sys.version.split()[0]}: make PYTHON=...")'

# The first time this fetches 2.5 GB of packages: on x86-64 PyTorch comes with CUDA only.
$(TRAINER)/floe-trainer-installed: trainer/requirements/cpu.txt
	@$(PYTHON_ENOUGH)
	$(PYTHON) -m venv trainer/.venv
	$(TRAINER)/python -m pip install --quiet --no-deps -r trainer/requirements/cpu.txt
	@touch $@

# Seconds, and 190 MB: no PyTorch.
$(TRAINER_CHECKS)/floe-trainer-installed: trainer/requirements/check.txt
	@$(PYTHON_ENOUGH)
	$(PYTHON) -m venv trainer/.venv-checks
	$(TRAINER_CHECKS)/python -m pip install --quiet --no-deps -r trainer/requirements/check.txt
	@touch $@

test-trainer: build $(TRAINER)/floe-trainer-installed ## the Python trainer: unit tests, and whole jobs with TRL on the CPU
	cd trainer && HF_HUB_OFFLINE=1 .venv/bin/python -m pytest $(ARGS)

test-trainer-fast: build $(TRAINER_CHECKS)/floe-trainer-installed ## those of its tests that need no PyTorch: a part of check
	cd trainer && .venv-checks/bin/python -m pytest -m 'not torch' $(ARGS)

lint-trainer: $(TRAINER_CHECKS)/floe-trainer-installed ## ruff and mypy on the Python trainer: a part of check
	cd trainer && .venv-checks/bin/ruff check . && .venv-checks/bin/ruff format --check . && .venv-checks/bin/mypy

test-slurm: ## the Slurm back end, against a one-node Slurm from Debian's packages (needs root)
	scripts/test-slurm $(ARGS)

test-ray: ## the Ray back end, against a local Ray (the first time this fetches 200 MB of packages)
	scripts/test-ray $(ARGS)

test-kubernetes: ## the Kubernetes back end, against a real control plane (the first time fetches 90 MB of modules and compiles them: ten minutes of a processor)
	scripts/test-kubernetes $(ARGS)

test-serve: $(TRAINER)/floe-trainer-installed ## serving, with a real vLLM on the CPU (the first time fetches 700 MB of packages)
	scripts/test-serve $(ARGS)

test-loop: build $(TRAINER)/floe-trainer-installed ## a whole experiment with the real trainer and a real model server on the CPU, while both are killed
	scripts/test-loop $(ARGS)

test-homes: ## the demo in some forty homes and data folders that people have, two minutes (with root also those of other users)
	FLOE_HOMES=1 $(GO) test ./internal/homes -count=1 -timeout 30m $(ARGS)

nightly: test-trainer test-serve test-loop test-slurm test-ray test-kubernetes test-homes ## what is too much for check: real trainers, servers and schedulers (3.5 GB of packages; test-slurm needs root)

lint: vet ## golangci-lint with the import rules, and gofmt
	$(GO) tool -modfile=tools/go.mod golangci-lint run ./...

vet:
	$(GO) vet ./...
	$(GO) vet -C devstack ./...

workflowcheck: ## look for clocks, maps and goroutines in workflows
	$(GO) tool -modfile=tools/go.mod workflowcheck ./workflows

tidy: ## tidy all modules
	$(GO) mod tidy
	cd devstack && $(GO) mod tidy
	cd tools && $(GO) mod tidy
	cd scripts/kubernetes && $(GO) mod tidy

bench: ## benchmarks of environment and trainer
	$(GO) test -run '^$$' -bench . -benchmem ./internal/... ./starter

fuzz: ## fuzz every parser for FUZZTIME each (default 30s)
	@scripts/fuzz $${FUZZTIME:-30s}

proof: ## compare the solver with a brute force on all 3x3 instances with two and three agents
	$(GO) test ./internal/env/lake -run AllInstances -count=1 -timeout 30m -v -args -proof

CELLS ?= 5000
sweep-scale: ## simulate a sweep of CELLS (default 5000) whose steps cost nothing: time, history sizes, memory
	FLOE_SCALE_CELLS=$(CELLS) $(GO) test ./workflows -run Thousands -v -count=1 -timeout 60m

SEED    ?= $$(od -An -N2 -tu2 /dev/urandom | tr -d ' ')
EVENTS  ?= 39
MINUTES ?= 30
chaos: ## break things while sweeps run: EVENTS (default 39) drawn by SEED (default: any), no new lap after MINUTES (default 30); see docs/chaos.md
	@rm -rf chaos
	FLOE_CHAOS_SEED=$(SEED) FLOE_CHAOS_EVENTS=$(EVENTS) FLOE_CHAOS_MINUTES=$(MINUTES) FLOE_CHAOS_OUT=$(CURDIR)/chaos \
		$(GO) test ./internal/chaos -run Chaos -v -count=1 -timeout 0

histories: build ## record the histories that the replay test replays (after a change of workflows that is meant)
	$(GO) test ./starter -run 'WholeExperiment|CancelStops|FailureWaits|PauseResume|ASweep|APersonDesigns|ALanguageModel|CancelEndsTheJob' -count=1 -record

schema: build ## write docs/experiment.schema.json anew
	$(BIN)/starter schema > docs/experiment.schema.json
	$(BIN)/starter schema --sweep > docs/sweep.schema.json

cover: ## coverage of the main module
	$(GO) test -coverprofile=coverage.txt ./... && $(GO) tool cover -func=coverage.txt | tail -1

clean: ## remove what was built
	rm -rf $(BIN) chaos coverage.txt
