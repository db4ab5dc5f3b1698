# Everything runs in a local .venv that the first target needing it sets up; nothing else on the machine is touched.
# The stamp's name carries a checksum of what the installation depends on: only a change there installs again.

VENV  := .venv
BIN   := $(VENV)/bin
KEY   := $(shell { cat pyproject.toml constraints.txt; pwd; } | cksum | cut -d' ' -f1)
STAMP := $(VENV)/.installed-$(KEY)
READY := $(VENV)/.ready-$(KEY)

# The first of these that runs and is new enough makes the .venv; `make PYTHON=/path/to/python` names one.
PYTHONS := $(or $(PYTHON),python3 python3.13 python3.12 python3.11)
IS_NEW_ENOUGH := import sys; sys.exit(sys.version_info < (3, 11))

# Passed on: `make test ARGS="tests/api -k quantity"`, `make up ARGS="-d --starter"`.
ARGS ?=
# Processes that share the tests. Tests wait for processes and sockets a quarter of their time, so that one process more
# than there are cores keeps them busy. A part is quicker in one, because every process collects all tests again.
CORES    = $(shell nproc 2>/dev/null || getconf _NPROCESSORS_ONLN)
WORKERS ?= $(if $(ARGS),0,$(shell expr $(CORES) + 1))

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# Tests start hundreds of processes. Where the environment forbids to keep bytecode, each would compile all of Kohort again.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help demo up venv test flaky test-faults test-oracle test-placements test-kinds test-peers test-operators fuzz cluster-binaries cluster-up operators lint format bench docs clean

help:  ## show this list
	@sed -nE 's/^([a-z-]+):.*## (.*)/\1|\2/p' $(MAKEFILE_LIST) | while IFS='|' read -r name text; do \
	  printf '  make %-16s %s\n' "$$name" "$$text"; done

demo: $(READY)  ## show how two teams share quota, on a cluster of its own that is removed at the end
	@$(BIN)/kohort demo

up: $(READY)  ## run a cluster with queues on this machine; ARGS="-d --starter" goes to kohort up
	@$(BIN)/kohort up $(ARGS)

venv: $(STAMP)  ## set up .venv with Kohort and its tools (the other targets do it by themselves)

test: $(STAMP)  ## run every test that needs only Python, in random order; ARGS="…" goes to pytest
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

# How often; N has another meaning and default elsewhere.
flaky: RUNS = $(if $(filter command line,$(origin N)),$(N),10)
flaky: $(STAMP)  ## run the tests N=10 times in a row while all cores are busy, and count what failed
	$(BIN)/python tests/flaky.py --runs $(RUNS) --busy $(CORES) -- \
	  $(MAKE) --no-print-directory test WORKERS=$(WORKERS) ARGS="--junitxml={report} $(ARGS)"

# How many random scenarios both engines get, and from where they start.
N    ?= 2000
SEED ?= 1
JOBS ?= 2

test-oracle: $(STAMP)  ## compare decisions with Kueue's on N=2000 random scenarios from SEED=1; needs Go
	PYTHONPATH=tests $(BIN)/python -m oracle.golden
	PYTHONPATH=tests $(BIN)/python -m oracle.compare --number $(N) --seed $(SEED) --jobs $(JOBS) --save

test-placements: $(STAMP)  ## the same with N=2000 random topology scenarios: nodes, placements, preemption, node failures; needs Go
	PYTHONPATH=tests $(BIN)/python -m oracle.compare --about topology --number $(N) --seed $(SEED) --jobs $(JOBS) --save

# How many objects of each kind both managers get.
test-kinds: OBJECTS = $(if $(filter command line,$(origin N)),$(N),30)
test-kinds: cluster-binaries  ## compare the Workloads of N=30 random objects of each kind with Kueue's, from SEED=1; needs Go; ARGS="--kinds RayJob"
	PYTHONPATH=tests $(BIN)/python -m job_comparison.compare --number $(OBJECTS) --seed $(SEED) $(ARGS)

# Scenarios in a run of all comparisons: two minutes of the oracle on two cores.
PEER_SCENARIOS ?= 500
PEER_TOPOLOGY_SCENARIOS ?= 300
PEER_OBJECTS ?= 4

# Processes that share the tests on a real Kubernetes, each with a cluster of its own. They wait much: two leave a third of
# two cores idle. On a machine with other work a third one starves the control planes.
PEER_WORKERS ?= $(if $(ARGS),0,3)

# Operators in a run of all comparisons; each takes minutes to build with an empty cache. `make test-operators` runs all.
PEER_OPERATORS ?= jobset

WITH_KUBECTL := tests/docs/pages_with_kubectl.py tests/docs/from_a_clone.py tests/examples/examples_with_kubectl.py

test-peers: cluster-binaries  ## compare with the real Kueue, and test on a real Kubernetes; needs Go; ARGS="…" goes to pytest
	$(MAKE) --no-print-directory test-oracle N=$(PEER_SCENARIOS)
	$(MAKE) --no-print-directory test-placements N=$(PEER_TOPOLOGY_SCENARIOS)
	@PYTHONPATH=tests $(BIN)/python -c 'from oracle.kueue import build_manager; print("the real Kueue:", build_manager())'
	$(MAKE) --no-print-directory test-kinds N=$(PEER_OBJECTS) ARGS=
	$(BIN)/python -m pytest -n $(PEER_WORKERS) --dist loadfile tests/cluster tests/conformance tests/workloads $(WITH_KUBECTL) $(ARGS)
	$(MAKE) --no-print-directory test-operators OPERATORS="$(PEER_OPERATORS)" ARGS=

# All of them, or those named: make test-operators OPERATORS="jobset ray".
OPERATORS ?=
OF_OPERATORS = $(if $(OPERATORS),-k "$(shell echo $(OPERATORS) | sed 's/  */ or /g')")

test-operators: cluster-binaries  ## test each kind of jobs beside its real operator; OPERATORS="jobset ray" picks some; needs Go
	@PYTHONPATH=tests $(BIN)/python -m real_operators.binaries $(OPERATORS)
	$(BIN)/python -m pytest tests/real_operators $(OF_OPERATORS) $(ARGS)

test-faults: $(STAMP)  ## fail, cut off and kill the manager at every one of its requests: hours of CPU; ARGS="-k …" picks some
	$(BIN)/python -m pytest -n auto tests/e2e/exhaustive_faults.py tests/manager/exhaustive_failover.py \
	  tests/jobs/exhaustive_topology_faults.py $(ARGS)

fuzz: $(STAMP)  ## let the fuzzers of tests/fuzz search longer; ARGS="…" goes to pytest
	KOHORT_FUZZ_SECONDS=$${KOHORT_FUZZ_SECONDS:-20} \
	  $(BIN)/python -m pytest -n $(WORKERS) --hypothesis-profile=thorough tests/fuzz $(ARGS)

cluster-binaries: $(STAMP)  ## build etcd, Kubernetes' control plane and kubectl into .cache, once; needs Go
	@PYTHONPATH=tests $(BIN)/python -m cluster.binaries

operators: $(STAMP)  ## build the operators of job frameworks into .cache, once; ARGS="jobset ray" picks some; needs Go
	@PYTHONPATH=tests $(BIN)/python -m real_operators.binaries $(ARGS)

cluster-up: cluster-binaries  ## start that control plane with simulated nodes, until Ctrl-C
	@PYTHONPATH=tests $(BIN)/python -m cluster.up

lint: $(STAMP)  ## check format, style, types (mypy strict), import layering, names and help texts
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m ruff check .
	$(BIN)/python -m mypy
	$(BIN)/python $(BIN)/lint-imports --no-logo
	PYTHONPATH=tests $(BIN)/python -m lint

format: $(STAMP)  ## format the code
	$(BIN)/python -m ruff check --fix .
	$(BIN)/python -m ruff format .

bench: $(STAMP)  ## measure, as ratios against a peer in the same run
	$(BIN)/python -m benchmarks

docs: $(STAMP)  ## write docs/reference from the structs, commands and job frameworks, and check that the CRDs can be written
	$(BIN)/python -m kohort.api.reference docs/reference
	$(BIN)/python -m kohort.cli.reference docs/reference/commands.md
	$(BIN)/python -m kohort.jobs.reference docs/reference/frameworks.md
	$(BIN)/kohort crds >/dev/null

clean:  ## remove .venv and every cache
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .benchmarks .cache build dist
	find src tests benchmarks -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

# What pip prints is shown only if it fails, followed by the one line that says what to do.
INSTALL = $(BIN)/python -m pip install --progress-bar off -c constraints.txt -e $(1) >$(VENV)/install.log 2>&1 || { \
	  cat $(VENV)/install.log >&2; \
	  echo "make: pip could not install the packages: see that this machine reaches a package index (PIP_INDEX_URL names one), and run make again" >&2; \
	  exit 1; }

$(STAMP): $(BIN)/python
	@echo "installing Kohort and the tools of its tests into $(VENV), once; this takes a minute"
	@rm -f $(VENV)/.installed-*
	@$(call INSTALL,'.[dev]')
	@touch $@ $(READY)

# Enough to run Kohort, without the tools of those who change it.
$(READY): $(BIN)/python
	@echo "installing Kohort into $(VENV), once; this takes half a minute"
	@rm -f $(VENV)/.ready-*
	@$(call INSTALL,'.[up]')
	@touch $@

$(BIN)/python:
	@for python in $(PYTHONS); do \
	  "$$python" -c '$(IS_NEW_ENOUGH)' 2>/dev/null || continue; \
	  "$$python" -c 'import ensurepip, venv' 2>/dev/null || \
	    { echo "make: $$python can't make virtual environments; on Debian and Ubuntu: apt-get install python3-venv" >&2; exit 1; }; \
	  echo "making a virtual environment in $(VENV) with $$python"; exec "$$python" -m venv --clear $(VENV); \
	done; \
	echo "make: Kohort needs Python 3.11 or newer and found none among: $(PYTHONS); name one with PYTHON=…" >&2; exit 1
