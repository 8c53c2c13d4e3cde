# Every target does all of its own set-up: it wants Python 3.11 or newer, make, and the package
# registries. What is set up lives in .venv and .tools of this folder, and nowhere else.

PYTHON ?= python3
VENV := .venv/bin
UNIT_TESTS := tests/unit
# What `make test` runs, without LIVE_TESTS; a part of it: make test TESTS=tests/contract/hub
TESTS ?= tests/unit tests/model tests/simulation tests/contract tests/packaging
# Consumers as processes, killed and cut off: mostly waiting for leases to end.
LIVE_TESTS := tests/contract/group tests/contract/handlers tests/contract/exactness \
	tests/contract/local tests/contract/service
# Those of them that have a bound in seconds: nothing else runs beside them.
TIMED_TESTS := tests/contract/group tests/contract/handlers tests/contract/local
# What is done to the cluster itself: mostly waiting for it to come back.
CLUSTER_FAULTS := tests/cluster/test_operator_faults.py
# Sizes that follow the lag: minutes of waiting for loads to last.
CLUSTER_SCALING := tests/cluster/test_operator_scaling.py tests/cluster/test_cosmos.py \
	tests/cluster/test_cosmos_leases.py tests/cluster/test_embedded_hub.py
# The version before this one, whose images are built from its commit.
CLUSTER_UPGRADE := $(addprefix tests/cluster/test_upgrade,.py _spark.py)
# One fault after another, with waits for leases to end: of pods, ledger and control plane, and of
# the ways to hub and storage.
CLUSTER_CHAOS := $(addprefix tests/cluster/test_chaos_,pods.py hands.py control.py)
CLUSTER_CHAOS_WAYS := $(addprefix tests/cluster/test_chaos_,storage.py hub.py)
# Storage that hangs, many rollouts, and handlers that compute: bounds in seconds, and minutes each.
CLUSTER_STALLS := tests/cluster/test_operator_stalls.py tests/cluster/test_operator_absent.py \
	tests/cluster/test_rollouts.py tests/cluster/test_cpu_bound.py
# What wants NetworkPolicies enforced.
CLUSTER_POLICIES := tests/cluster/test_policies.py
# What wants the image of Spark: minutes to build, minutes of sessions to start.
CLUSTER_SPARK := $(addprefix tests/cluster/test_spark,.py _bad_input.py _cosmos.py)
# Conformance of every engine and source: minutes each.
CLUSTER_CONFORMANCE := $(addprefix tests/cluster/test_conformance_,kinds.py own.py)
CLUSTER_APART := $(CLUSTER_CHAOS) $(CLUSTER_CHAOS_WAYS) $(CLUSTER_CONFORMANCE) $(CLUSTER_FAULTS) \
	$(CLUSTER_POLICIES) $(CLUSTER_SCALING) $(CLUSTER_SPARK) $(CLUSTER_STALLS) $(CLUSTER_UPGRADE)
# Drivers whose executors come and go, or are killed: minutes each.
LONG_SPARK := tests/spark/test_driver_kills.py tests/spark/test_driver_members.py \
	tests/spark/test_up_on_cosmos.py
# Much of the time of the tests is waiting, so that there is work for more than two cores.
WORKERS ?= 4
# More arguments for pytest: make test ARGS='-k checkpoint -x'
ARGS ?=
# Inputs for each fuzzed parser.
RUNS ?= 1000000
# Worlds of the simulator.
SEEDS ?= 10000

export PATH := $(CURDIR)/.tools/bin:$(PATH)
# Some containers set it. Without compiled modules every process of the tests compiles them anew,
# and every worker of pytest rewrites all tests: minutes in all.
unexport PYTHONDONTWRITEBYTECODE
# Empty where they are not said: each program has its own idea of how long or of which seed.
export CONFORMANCE MINUTES FINAL IMAGE SPARK_IMAGE QUICK UPGRADE DEMO_SECONDS DEMO_KILLS HOMES SEED ENGINE PAGE_PORT CONSOLE_PORT
# Which cluster, and of how many nodes.
CLUSTER ?= tidegate
NODES ?= 2
# SPARK=1: with the image of Spark on it. POLICIES=1: with NetworkPolicies enforced.
SPARK ?=
POLICIES ?=

.DEFAULT_GOAL := help
.PHONY: audit bench bench-operator check clean cluster cluster-down conformance demo demo-cluster demo-exact docs docs-pictures fuzz help lint lock release sbom simulate soak test test-cluster test-cluster-chaos test-cluster-chaos-ways test-cluster-faults test-cluster-policies test-cluster-scaling test-cluster-spark test-cluster-stalls test-conformance test-go test-java test-live test-pages test-rust test-secrets test-spark test-spark-long test-timed test-upgrade
.SUFFIXES:

help: ## say what each target does
	@echo 'Usage: make TARGET'
	@sed -n 's/^\([a-z][a-zA-Z%-]*\):[^#]*## \(.*\)/  \1\t\2/p' Makefile | sed 's/bench-%/bench-NAME/' | expand -t 18

demo: ## the scenario with both pages, until Ctrl-C; see docs/demo.md
	@$(PYTHON) scripts/prepare.py core azurite
	@$(VENV)/python scripts/demo.py

demo-cluster: ## the same on a cluster of kind, which is made, or on that of KUBECONFIG
	@$(PYTHON) scripts/prepare.py dev azurite
	@CLUSTER=$(CLUSTER) $(VENV)/python scripts/demo.py --cluster

demo-exact: ## the demo with members killed for a minute, and all totals compared
	@$(PYTHON) scripts/prepare.py core azurite
	@DEMO_KILLS=$${DEMO_KILLS:-60} $(VENV)/python scripts/demo.py

test: ## lint, then what wants no root and no Docker, without test-live (13 minutes)
	@$(PYTHON) scripts/prepare.py dev azurite js
	@$(MAKE) --no-print-directory lint
	$(VENV)/python -m pytest -n $(WORKERS) --dist worksteal --durations 10 $(addprefix --ignore=,$(LIVE_TESTS)) $(TESTS) $(ARGS)

cluster: ## a Kubernetes cluster with the project's images on it; see docs/cluster.md
	@$(PYTHON) scripts/prepare.py dev azurite
	@$(PYTHON) cluster/manage.py up --name $(CLUSTER) --nodes $(NODES) $(if $(SPARK),--spark) $(if $(POLICIES),--policies)

cluster-down: ## remove it, and all that was started for it
	@$(PYTHON) cluster/manage.py down --name $(CLUSTER)

test-cluster: ## the tests on a cluster: the one of KUBECONFIG, else one of kind
	@$(PYTHON) scripts/prepare.py dev azurite
	@echo 'without what has targets of its own; `make` names them'
	@$(PYTHON) cluster/manage.py test --name $(CLUSTER) --nodes $(NODES) \
		$(addprefix --ignore=,$(CLUSTER_APART)) tests/cluster $(ARGS)

test-cluster-faults: ## API server, node and operator taken away (5 minutes)
	@$(PYTHON) scripts/prepare.py dev azurite
	@$(PYTHON) cluster/manage.py test --name $(CLUSTER) --nodes $(NODES) $(CLUSTER_FAULTS) $(ARGS)

test-cluster-chaos: ## faults of pods, ledger and operator: docs/chaos.md (9 minutes)
	@$(PYTHON) scripts/prepare.py dev azurite
	@$(PYTHON) cluster/manage.py test --name $(CLUSTER) --nodes $(NODES) $(CLUSTER_CHAOS) $(ARGS)

test-cluster-chaos-ways: ## and of hub, storage and the ways to them (8 minutes)
	@$(PYTHON) scripts/prepare.py dev azurite
	@$(PYTHON) cluster/manage.py test --name $(CLUSTER) --nodes $(NODES) $(CLUSTER_CHAOS_WAYS) $(ARGS)

test-cluster-scaling: ## loads that grow and fall, and the sizes that follow (10 minutes)
	@$(PYTHON) scripts/prepare.py dev azurite
	@$(PYTHON) cluster/manage.py test --name $(CLUSTER) --nodes $(NODES) $(CLUSTER_SCALING) $(ARGS)

test-cluster-stalls: ## storage that hangs, rollouts, handlers that compute (15 minutes)
	@$(PYTHON) scripts/prepare.py dev azurite
	@$(PYTHON) cluster/manage.py test --name $(CLUSTER) --nodes $(NODES) $(CLUSTER_STALLS) $(ARGS)

test-cluster-policies: ## NetworkPolicies enforced: who must not get through (5 minutes)
	@$(PYTHON) scripts/prepare.py dev azurite
	@$(PYTHON) cluster/manage.py test --name $(CLUSTER) --nodes $(NODES) --spark --policies $(CLUSTER_POLICIES) $(ARGS)

test-cluster-spark: ## groups on Spark: drivers and executors (15 minutes)
	@$(PYTHON) scripts/prepare.py dev azurite
	@$(PYTHON) cluster/manage.py test --name $(CLUSTER) --nodes $(NODES) --spark $(CLUSTER_SPARK) $(ARGS)

conformance: ## P1 to P14 on the cluster, disturbed for 3 minutes; CONFORMANCE='--seed 7'
	@$(PYTHON) scripts/prepare.py dev azurite
	@CLUSTER=$(CLUSTER) $(VENV)/python scripts/conformance.py

test-conformance: ## conformance of every engine and source (40 minutes)
	@$(PYTHON) scripts/prepare.py dev azurite
	@$(PYTHON) cluster/manage.py test --name $(CLUSTER) --nodes $(NODES) --spark --policies $(CLUSTER_CONFORMANCE) $(ARGS)

test-upgrade: ## from the version before to this one and back, with events flowing (12 minutes)
	@$(PYTHON) scripts/prepare.py dev azurite
	@$(PYTHON) cluster/manage.py test --name $(CLUSTER) --nodes $(NODES) --spark --previous $(CLUSTER_UPGRADE) $(ARGS)

test-live: ## consumers as processes of their own, killed, paused and cut off (9 minutes)
	@$(PYTHON) scripts/prepare.py dev azurite
	$(VENV)/python -m pytest -n 4 --dist load --durations 10 -m 'not timed' $(LIVE_TESTS) $(ARGS)

test-timed: ## what has a bound in seconds: on a machine that does nothing else (18 minutes)
	@$(PYTHON) scripts/prepare.py dev azurite
	$(VENV)/python -m pytest --durations 10 -m timed $(TIMED_TESTS) $(ARGS)

test-java: ## the contracts by the official Java SDKs: wants Java 17 and Maven
	@$(PYTHON) scripts/prepare.py dev java
	$(VENV)/python -m pytest tests/java $(ARGS)

test-go: ## the hub's contract by the official Go SDK: wants Go (2 minutes)
	@$(PYTHON) scripts/prepare.py dev azurite go
	$(VENV)/python -m pytest tests/go $(ARGS)

test-rust: ## the hub's contract by the official Rust SDK: wants Rust, builds for minutes
	@$(PYTHON) scripts/prepare.py dev rust
	$(VENV)/python -m pytest tests/rust $(ARGS)

test-spark: ## the engine spark: wants Java 17, which is fetched on Debian
	@$(PYTHON) scripts/prepare.py dev azurite spark
	$(VENV)/python -m pytest -n 2 --dist loadscope --durations 10 \
		$(addprefix --ignore=,$(LONG_SPARK)) tests/spark tests/unit/spark $(ARGS)

test-spark-long: ## drivers of Spark, executors and workers that are killed, come and go (5 minutes)
	@$(PYTHON) scripts/prepare.py dev azurite spark
	$(VENV)/python -m pytest --durations 5 $(LONG_SPARK) $(ARGS)

test-secrets: ## planted keys, and a search of all that processes show for them (2 minutes)
	@$(PYTHON) scripts/prepare.py dev azurite
	$(VENV)/python -m pytest --durations 5 tests/planted $(ARGS)

test-pages: ## the pages in Debian's Chromium, which is fetched; pictures go to build/pages
	@$(PYTHON) scripts/prepare.py dev azurite axe chromium
	$(VENV)/python -m pytest --durations 5 tests/page $(ARGS)

docs: ## the site of the documentation, into build/site; any warning is an error
	@$(PYTHON) scripts/prepare.py docs
	NO_MKDOCS_2_WARNING=1 $(VENV)/mkdocs build --strict --quiet
	@echo 'build/site/index.html; to read while you write: $(VENV)/mkdocs serve'

docs-pictures: ## its pictures, made anew from the running demo (2 minutes)
	@$(PYTHON) scripts/prepare.py dev azurite chromium
	$(VENV)/python tests/page/pictures.py

check: ## lint and the unit tests: under a minute once set up
	@$(PYTHON) scripts/prepare.py dev
	@$(MAKE) --no-print-directory lint
	$(VENV)/python -m pytest -n $(WORKERS) --dist worksteal -m 'not slow' $(UNIT_TESTS) $(ARGS)

lint: ## ruff, mypy --strict and the import layers
	@$(PYTHON) scripts/prepare.py dev
	$(VENV)/ruff check .
	$(VENV)/mypy
	$(VENV)/lint-imports

simulate: ## run SEEDS (10000) random worlds; a failure prints the command that replays it
	@$(PYTHON) scripts/prepare.py dev
	$(VENV)/python tests/simulation/run.py --seeds $(SEEDS)
	$(VENV)/python tests/simulation/container_run.py --seeds $(SEEDS)

fuzz: ## feed RUNS (1000000) random inputs to each parser
	@$(PYTHON) scripts/prepare.py dev fuzz spark
	$(VENV)/python tests/fuzz/run.py --runs $(RUNS)

bench: ## every benchmark beside its peer, into docs/comparison.md; ONLY=balance,consume
	@$(PYTHON) scripts/prepare.py dev
	@ONLY=$(ONLY) $(VENV)/python benchmarks/every.py

audit: ## known vulnerabilities in what is pinned, where their databases can be reached
	@$(PYTHON) scripts/prepare.py dev audit
	$(VENV)/python scripts/audit.py

sbom: ## what is inside, as CycloneDX, into build/sbom; IMAGE=NAME:TAG adds Debian's part
	@$(PYTHON) scripts/prepare.py dev audit
	$(VENV)/python scripts/sbom.py

# Its file cannot be called operator.py, which is a module of Python's own.
bench-operator: ## an operator of 500 groups: cost, and time to decide
	@$(PYTHON) scripts/prepare.py dev
	$(VENV)/python benchmarks/operated.py

bench-%: ## run benchmarks/NAME.py, ours beside the peer; QUICK=1 takes under 45 s
	@$(PYTHON) scripts/prepare.py dev azurite $(if $(filter consume,$*),kafka) $(if $(filter slices spark spark-%,$*),spark) $(if $(filter cosmos,$*),$(if $(shell command -v mvn),java))
	@test -f benchmarks/$(subst -,_,$*).py || { echo "There is no benchmarks/$(subst -,_,$*).py; there are:"; ls benchmarks/*.py; exit 2; }
	$(VENV)/python benchmarks/$(subst -,_,$*).py

soak: ## MINUTES (60) of rollouts and kills: does anything grow?
	@$(PYTHON) scripts/prepare.py dev azurite
	$(VENV)/python benchmarks/soak.py

lock: ## write the lock files again; UPGRADE=1 takes the newest versions
	@$(PYTHON) scripts/lock.py

release: ## wheel, sdist, chart, notes into dist/, checked; FINAL=1 refuses what is none yet
	@$(PYTHON) scripts/prepare.py dev
	@$(VENV)/python scripts/release.py build

clean: ## remove what was set up here: .venv, .tools and the caches
	rm -rf .venv .tools .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name node_modules -type d -prune -exec rm -rf {} +
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
