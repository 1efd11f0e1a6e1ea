# Everything a developer or CI does. `make demo` and `make test` work on a fresh clone with
# Python 3.11, Node 20 and make. PORT and SERVE apply to `demo`, WORKERS to `pytest`,
# PEER to `bench-*`, BENCH_UI and MILLION to `bench-ui*`, SEED to `trend-cases`, `trend-healthy` and `all-clears`,
# BASE to `findings-diff`.

PYTHON   ?= python3.11
PORT     ?= 6006
SERVE    ?= 1
PEER     ?= /tmp/peer
BENCH_UI ?= build/bench-ui
MILLION  ?= 0
SEED     ?= 5
BASE     ?= HEAD
CHROMIUM ?= /usr/bin/chromium
WORKERS  ?= 2
TORCH     = torch==2.13.0
# NumPy 2 passes MindSpore's own check and ends its first real model.
MINDSPORE = mindspore==2.10.0 numpy<2
CORE = builder.diagnosis builder.diagnosis.policies.by_excess builder.diagnosis.policies.by_scores
MINDSPORE_VENV := .venv-mindspore
PORTS_VENV := .venv-ports
PARALLEL_VENV := .venv-parallel

VENV  := .venv
BIN   := $(VENV)/bin
STAMP := $(VENV)/.stamps
SUDO  := $(if $(filter 0,$(shell id -u)),,sudo)

# Python may keep what it compiled of the checkout: the tests start hundreds of processes, each of
# which would compile the packages anew.
unexport PYTHONDONTWRITEBYTECODE

FRONTEND_SOURCES := $(shell find tb_graph_ascend/frontend -type f 2>/dev/null) \
                    $(wildcard package.json package-lock.json webpack.config.js tsconfig*.json)

.DEFAULT_GOAL := help
.PHONY: help venv build demo test lint growth all-clears ruff types mypy imports eslint tsc pytest unit e2e \
        checks contract cluster mindspore docs rooms dist messages soak models situations sbom coverage lower-bounds versions screenshots zoo faultbench mcp-judge kernels-zoo ablation thresholds upstream findings-diff certainty agreement confirm-zoo models-zoo compile-faults compile-models parallel placements placements-packages ports ports-packages rollout trend-cases trend-healthy bench bench-build bench-merge bench-compare bench-dump bench-sketch bench-ports bench-server bench-acc-check bench-ui bench-ui-data bench-trends clean

help:  ## list the targets
	@grep -hE '^[a-z0-9-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

# --- what everything needs ---------------------------------------------------------------------

venv: $(STAMP)/installed  ## make .venv with the project installed editable, its bundle built

$(STAMP)/python:
	$(PYTHON) -m venv $(VENV)
	mkdir -p $(STAMP)
	touch $@

# torch first and pinned: the samples were written by this release. Most of its modules and its
# dependencies' are never imported: Python compiles those that are, when they are.
$(STAMP)/torch: | $(STAMP)/python
	$(BIN)/pip install --quiet --no-compile $(TORCH)
	touch $@

# The install wants the bundle: made before, it is made once, and while pip fetches torch.
$(STAMP)/installed: pyproject.toml | $(STAMP)/torch tb_graph_ascend/static/index.html
	$(BIN)/pip install --quiet --no-compile --editable '.[dump,dev]'
	touch $@

# npm writes this file last, so it tells whether the installed modules are those of the lock file.
node_modules/.package-lock.json: package-lock.json package.json
	npm ci --no-audit --no-fund
	touch $@

build: tb_graph_ascend/static/index.html  ## build the React bundle into tb_graph_ascend/static/

tb_graph_ascend/static/index.html: $(FRONTEND_SOURCES) node_modules/.package-lock.json | $(STAMP)/python
	$(BIN)/python build_backend/bundle.py
	touch $@

$(CHROMIUM):
	$(SUDO) apt-get update --quiet
	$(SUDO) apt-get install --quiet --yes --no-install-recommends chromium fonts-noto-cjk

# --- the demo -----------------------------------------------------------------------------------

demo: venv build  ## two runs of a small transformer, one wrong: compare, diagnose, show
	rm -rf demo_output graph_output/demo
	$(BIN)/python examples/small_transformer.py demo_output/benchmark
	$(BIN)/python examples/small_transformer.py demo_output/problem --fault
	$(BIN)/msprobe graph_visualize -tp demo_output/problem -gp demo_output/benchmark -o graph_output/demo
	$(BIN)/msprobe diagnose graph_output/demo/*.vis.db
	rm -rf graph_output/demo_trends
	$(BIN)/python examples/loss_spike.py graph_output/demo_trends/sound
	$(BIN)/python examples/loss_spike.py graph_output/demo_trends/spiked --fault
	@echo
ifneq ($(SERVE),0)
	@echo "Graphs: http://localhost:$(PORT)/#tb_graph_ascend"
	$(BIN)/tensorboard --logdir graph_output --port $(PORT)
else
	@echo "Result: $$(ls graph_output/demo/*.vis.db) (to look at it: $(BIN)/msprobe serve graph_output)"
endif

# --- tests ----------------------------------------------------------------------------------------

# What is installed and what takes one core goes side by side, each part's output in one piece. Where
# something fails, the parts run once more one by one, so that the last lines are about the failure.
test:  ## everything CI runs: lint types imports unit growth pytest e2e
	@$(MAKE) --no-print-directory --jobs=2 --output-sync=target checks \
	    || { $(MAKE) --no-print-directory checks; echo 'The checks failed side by side; see above.'; exit 1; }
	@$(MAKE) --no-print-directory pytest
	@$(MAKE) --no-print-directory e2e

checks: lint types imports unit growth venv build | $(CHROMIUM)  ## what needs no test server: linters, types, imports, front-end unit tests

lint: ruff eslint  ## both linters and the Python formatter

ruff: venv  ## Python style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

eslint: node_modules/.package-lock.json  ## TypeScript style
	npm run --silent lint

types: mypy tsc  ## both type checkers

mypy: venv  ## Python types
	$(BIN)/mypy

tsc: node_modules/.package-lock.json  ## TypeScript types
	npm run --silent typecheck

imports: venv  ## the one way that imports run
	$(BIN)/lint-imports

growth: venv  ## work that grows faster than its input, counted: no stage may do over 5 times as much on 4 times as much
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.growth

all-clears: venv  ## changes of one recorded number each, drawn by two seeds: no command may call any of them nothing
	OMP_NUM_THREADS=1 $(BIN)/python -m evaluation.all_clears --seed 1
	OMP_NUM_THREADS=1 $(BIN)/python -m evaluation.all_clears --seed $(or $(SEED),2)

# One thread a process: more of them wait for each other where every core has a worker. The order is
# that of tests/conftest.py, not by the number of tests: few tests may take long.
pytest: venv build  ## Python tests, packaging included
	OMP_NUM_THREADS=1 $(BIN)/pytest --quiet --numprocesses $(WORKERS) --dist loadfile \
	    --no-loadscope-reorder

unit: node_modules/.package-lock.json  ## front-end unit tests
	npm run --silent test

e2e: venv build | $(CHROMIUM)  ## the journeys of a person in a real browser
	CHROMIUM=$(CHROMIUM) npm run --silent e2e

contract: venv  ## SGLang, vLLM-Ascend, verl, transformers, Lightning (installs the last two); PEER=… for its readers
	$(BIN)/pip install --quiet --editable '.[dump,dev,integrations,parquet]'
	$(BIN)/pytest --quiet tests/evaluation/contract

cluster: venv  ## units over Ray, a bucket and the files for schedulers; installs 600 MB for that
	$(BIN)/pip install --quiet --editable '.[dump,dev,remote,ray]' s3fs 'moto[server]' kubernetes-validate
	$(BIN)/pytest --quiet tests/builder/run/units tests/builder/storage tests/docs/test_cluster_page.py \
	    tests/builder/run/test_ray_tasks.py

$(MINDSPORE_VENV)/installed: pyproject.toml | build
	$(PYTHON) -m venv $(MINDSPORE_VENV)
	$(MINDSPORE_VENV)/bin/pip install --quiet $(patsubst %,'%',$(MINDSPORE)) $(TORCH) pytest hypothesis isal
	$(MINDSPORE_VENV)/bin/pip install --quiet --editable .
	touch $@

CROSS := demo_output/cross

mindspore: venv $(MINDSPORE_VENV)/installed  ## MindSpore's dumper, and pairs of models compared with PyTorch; installs 3 GB of its own
	OMP_NUM_THREADS=1 $(MINDSPORE_VENV)/bin/pytest --quiet -W default tests/mindspore
	rm -rf $(CROSS) graph_output/cross
	$(BIN)/python -m evaluation.cross_framework.pytorch_runs $(CROSS)/pytorch
	$(MINDSPORE_VENV)/bin/python -m evaluation.cross_framework.mindspore_runs $(CROSS)/mindspore
	$(BIN)/torchrun --nproc_per_node=2 --master_port=29517 -m evaluation.cross_framework.pytorch_runs $(CROSS)/pytorch ranks
	PYTHONPATH=. PATH=$(abspath $(MINDSPORE_VENV)/bin):$$PATH msrun --worker_num=2 --local_worker_num=2 \
	    --master_port=8151 --join=True --log_dir=$(CROSS)/log evaluation/cross_framework/mindspore_runs.py $(CROSS)/mindspore ranks
	CROSS_FRAMEWORK=$(CROSS) OMP_NUM_THREADS=1 $(BIN)/pytest --quiet tests/evaluation/cross_framework
	$(BIN)/msprobe graph_visualize -tp $(CROSS)/mindspore/transformer-epsilon \
	    -gp $(CROSS)/pytorch/transformer -o graph_output/cross
	$(BIN)/msprobe diagnose graph_output/cross/*.vis.db

docs: venv  ## the documentation as a site, in build/site; warnings are errors
	$(BIN)/mkdocs build --strict --quiet

rooms: venv  ## the picture of docs/architecture.md: who imports whom
	$(BIN)/python docs/draw_rooms.py > docs/pictures/rooms.svg
	$(BIN)/python docs/draw_rooms.py $(CORE) > docs/pictures/core.svg

dist: venv build  ## what a release consists of, in dist/: the sdist, a wheel with the compiled kernel, one for any platform
	$(BIN)/python build_backend/release.py dist

messages: venv node_modules/.package-lock.json  ## the page's message types, from the OpenAPI document
	$(BIN)/python build_backend/page_messages.py

soak: venv build  ## load, faults and hostile input; writes the table of docs/internals/reliability-measured.md
	for part in hostile faults load; do \
	    $(BIN)/python -m benchmarks.soak docs/internals/reliability-measured.md $$part || exit 1; done

models: venv  ## twelve models recorded at four levels, checked; installs transformers
	$(BIN)/pip install --quiet --editable '.[dump,dev,integrations]'
	$(BIN)/python -m benchmarks.models docs/internals/reliability-measured.md

faultbench: venv  ## sixty faults that any localiser can be judged by: the self-test, then this tool; 30 minutes
	PYTHONPATH=evaluation $(BIN)/python -m faultbench run --gold --set quick --out build/faultbench-gold.jsonl
	PYTHONPATH=evaluation $(BIN)/python -m faultbench run --tool msprobe --out build/faultbench-msprobe.jsonl
	PYTHONPATH=evaluation $(BIN)/python -m faultbench table --layers build/faultbench-msprobe.jsonl

situations: venv  ## what torch can do, plain and recorded; writes the table of docs/internals/reliability-measured.md; installs optional packages
	$(BIN)/pip install --quiet --editable '.[dump,dev,integrations]' $(TORCH) peft torchao
	$(BIN)/python -m benchmarks.situations docs/internals/reliability-measured.md --workers $(WORKERS)

sbom: venv node_modules/.package-lock.json  ## what we ship, as CycloneDX JSON in build/sbom.cdx.json
	$(BIN)/python build_backend/bill_of_materials.py build/sbom.cdx.json

coverage: venv build  ## lines that the Python tests reach; 90 % at least in the packages that count
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest --quiet --numprocesses $(WORKERS) --dist loadfile
	$(BIN)/coverage combine --quiet
	for package in msprobe_core builder tb_graph_ascend/server; do \
	    echo "$$package"; \
	    $(BIN)/coverage report --include="$$package/*" --fail-under=90 || exit 1; done

lower-bounds: $(STAMP)/python  ## the tests of builder and server with the oldest dependencies allowed
	$(BIN)/python build_backend/lower_bounds.py build/lower-bounds

versions: $(STAMP)/python  ## the dumper's core tests under each Python, with the oldest, pinned and newest torch; says what is not to be had
	$(BIN)/python build_backend/versions.py build/versions

screenshots: venv build | $(CHROMIUM)  ## the page at three sizes, light and dark, in both languages: docs/screenshots, build/screenshots
	CHROMIUM=$(CHROMIUM) npm run --silent screenshots

parallel: venv  ## sound parallel layouts and seeded bugs in them against one process
	$(BIN)/python -m evaluation.parallel

placements: venv  ## small parallel programs, each sound and with one fault: what `check` says of them without a benchmark
	OMP_NUM_THREADS=1 $(BIN)/python -m evaluation.placements

placements-packages: $(PARALLEL_VENV)/installed  ## real wrappers and layers of torch, megatron-core and transformers on the CPU, by themselves and against their right twins
	OMP_NUM_THREADS=1 $(PARALLEL_VENV)/bin/python -W ignore -m evaluation.placements --third real
	OMP_NUM_THREADS=1 $(PARALLEL_VENV)/bin/python -W ignore -m evaluation.placements --third "real late"
	OMP_NUM_THREADS=1 $(PARALLEL_VENV)/bin/python -W ignore -m evaluation.placements --third real --precision float32 --against same
	OMP_NUM_THREADS=1 $(PARALLEL_VENV)/bin/python -W ignore -m evaluation.placements --third "real late" --precision float32 --against same

$(PARALLEL_VENV)/installed: evaluation/placements/requirements.txt
	$(PYTHON) -m venv $(PARALLEL_VENV)
	$(PARALLEL_VENV)/bin/pip install --quiet $(TORCH)
	$(PARALLEL_VENV)/bin/pip install --quiet --editable '.[dump]' transformers==5.24.0
	$(PARALLEL_VENV)/bin/pip install --quiet --no-deps --requirement evaluation/placements/requirements.txt
	touch $@

ports: venv  ## models written twice: sound ports must be silent, the fault of each other is to be named
	OMP_NUM_THREADS=1 $(BIN)/python -m evaluation.ports

rollout: venv  ## trainers against engines of the same tokens: sound ones silent, the faults of others named with their token
	OMP_NUM_THREADS=1 $(BIN)/python -m evaluation.rollout

ports-packages: $(PORTS_VENV)/installed  ## models of published packages held against one another (transformers, litgpt, timm, …)
	OMP_NUM_THREADS=1 $(PORTS_VENV)/bin/python -W ignore -m evaluation.ports --packages

$(PORTS_VENV)/installed: evaluation/ports/packages/requirements.txt
	$(PYTHON) -m venv $(PORTS_VENV)
	$(PORTS_VENV)/bin/pip install --quiet torch==2.13.0
	$(PORTS_VENV)/bin/pip install --quiet --editable '.[dump]' transformers==5.24.0
	$(PORTS_VENV)/bin/pip install --quiet --no-deps --requirement evaluation/ports/packages/requirements.txt
	touch $@

zoo: venv  ## seeded bugs: how often the diagnosis names the culprit
	$(BIN)/python -m evaluation.zoo

mcp-judge: venv  ## a fixed policy finds seeded bugs by the tools of `msprobe mcp` alone; fails below 18 of 20
	OMP_NUM_THREADS=1 $(BIN)/python -m tests.agents

kernels-zoo: venv  ## wrong kernels below the recorded calls, one and two at once, and other roundings
	$(BIN)/python -m evaluation.zoo --kernels --seed 1

ablation: venv  ## what each part of the diagnosis does: every suite with one part switched off at a time
	$(BIN)/python -m evaluation.ablation --seed 1 --kept build/ablation
	$(BIN)/python -m evaluation.ablation --seed 1 --kept build/ablation --scores

thresholds: venv  ## the same with each number of the diagnosis at half and at double
	$(BIN)/python -m evaluation.ablation.thresholds --seed 1
	$(BIN)/python -m evaluation.ablation.thresholds --kernels --seed 1
	$(BIN)/python -m evaluation.ablation.thresholds --scores --seed 1

upstream: venv  ## real bugs of released packages: two releases side by side; installs them
	$(BIN)/python -m evaluation.upstream

findings-diff: venv  ## what BASE and this tree say of every recorded pair; fails when a right answer is lost or a false one new
	$(BIN)/python -m evaluation.findings_diff $(BASE)

certainty: venv  ## how often findings of each word of certainty are right; fails below what docs/internals/diagnosis-measured.md promises
	$(BIN)/python -m evaluation.findings_diff.calibration

agreement: venv node_modules/.package-lock.json build  ## whether page, command, JSON, report and slides say the same of every recorded pair, in words and numbers
	OMP_NUM_THREADS=1 $(BIN)/python -W ignore -m evaluation.findings_diff.agreement

confirm-zoo: venv  ## ten findings proven by giving the problem run the benchmark's values, three not
	$(BIN)/python -m evaluation.zoo --confirm

models-zoo: venv  ## the same for eight models of transformers; installs them
	$(BIN)/pip install --quiet --editable '.[dump,dev,integrations]'
	$(BIN)/python -m evaluation.zoo --models --seed 1

trend-cases: venv  ## sound trainings, faults in them and pairs: what trends say; SEED=… for those nobody prepared
	$(BIN)/python -m evaluation.trend_cases --held
	$(BIN)/python -m evaluation.trend_cases.pairs
	$(BIN)/python -m evaluation.trend_cases.beside_noise
	$(BIN)/python -m evaluation.trend_cases.beside_noise --held
	$(BIN)/python -m evaluation.trend_cases.unseen --seed $(SEED)
	$(BIN)/python -m evaluation.trend_cases.unseen --seed $(SEED) --alerts

trend-healthy: venv  ## false alarms of twelve kinds of sound training, 20,400 steps; fails above 0.2 in 1,000; SEED=… for others
	$(BIN)/python -m evaluation.trend_cases.healthy --held --seed $(SEED)

compile-faults: venv  ## over forty faults seeded into compilers: the first wrong module and call are named
	$(BIN)/python -W ignore -m evaluation.compile_faults

compile-models: venv  ## twenty-four models of transformers, timm, diffusers and torch alone under inductor, recorded; installs them; goes on where it was ended
	$(BIN)/pip install --quiet --editable '.[dump,dev,integrations]' $(TORCH) timm diffusers
	$(BIN)/python -W ignore -m benchmarks.compiled docs/internals/graph-mode-measured.md

# --- measurements ----------------------------------------------------------------------------------

bench: bench-build bench-merge bench-compare bench-dump bench-sketch bench-ports bench-server bench-acc-check bench-ui  ## all measurements

bench-build: venv  ## comparing large dumps, against the peer in one run
	$(BIN)/python -m benchmarks.build --peer $(PEER)

bench-merge: venv  ## 8 ranks as one logical run beside rank by rank
	$(BIN)/python -m benchmarks.merge

bench-compare: venv  ## tables of 20,000 calls, against the peer in one run
	$(BIN)/python -m benchmarks.compare $(if $(wildcard $(PEER)/bin/msprobe),--peer $(PEER))

bench-sketch: venv  ## sizes and build time with sketches and without
	$(BIN)/python -m benchmarks.sketch

bench-ports: venv  ## two programs of one model beside two runs of one program, in alternation
	$(BIN)/python -m benchmarks.ports

bench-dump: venv  ## cost of dumping a training step, against the peer in one run
	$(BIN)/python benchmarks/dump.py $(if $(wildcard $(PEER)/bin/python),--peer $(PEER)/bin/python)

bench-server: venv  ## every reading route of the server
	$(BIN)/python -m benchmarks.server

bench-acc-check: venv  ## the pre-check of single operators, against the peer in one run
	$(BIN)/python -m benchmarks.acc_check --peer $(PEER)

bench-ui: venv build | $(CHROMIUM)  ## the interface in a browser, on large comparisons, beside the peer's in one run
	[ -d $(BENCH_UI)/deep ] || $(MAKE) bench-ui-data
	node benchmarks/ui.mjs $(BENCH_UI) $(if $(wildcard $(PEER)/bin/tensorboard),$(PEER))

bench-trends: venv build | $(CHROMIUM)  ## cost of following a training beside the peer's, the store of trends, their page
	$(BIN)/python -m benchmarks.trend_cost $(if $(wildcard $(PEER)/bin/python),--peer $(PEER)/bin/python)
	mkdir -p $(BENCH_UI)/store
	$(BIN)/python -m benchmarks.trend_store 10000 2000 $(BENCH_UI)/store --keep
	node benchmarks/trends_page.mjs $(BENCH_UI)/store

bench-ui-data: venv  ## what bench-ui opens, in BENCH_UI; MILLION=1 adds a million nodes a side (6 GB of memory)
	rm -rf $(addprefix $(BENCH_UI)/,deep wide million peer dumps) && mkdir -p $(BENCH_UI)/peer
	$(BIN)/python -m benchmarks.generate $(BENCH_UI)/dumps/deep --entries 100000
	$(BIN)/python -m benchmarks.generate $(BENCH_UI)/dumps/wide --entries 20000 --wide --steps 2
ifneq ($(MILLION),0)
	$(BIN)/python -m benchmarks.generate $(BENCH_UI)/dumps/million --entries 1000000
endif
	for dumps in $(BENCH_UI)/dumps/*; do $(BIN)/msprobe graph_visualize -tp $$dumps/problem \
	    -gp $$dumps/benchmark -o $(BENCH_UI)/$${dumps##*/} || exit 1; done
ifneq ($(wildcard $(PEER)/bin/msprobe),)
	for shape in deep wide; do $(PEER)/bin/msprobe graph_visualize -tp $(BENCH_UI)/dumps/$$shape/problem \
	    -gp $(BENCH_UI)/dumps/$$shape/benchmark -o $(BENCH_UI)/peer/$$shape || exit 1; done
endif
	rm -rf $(BENCH_UI)/dumps

clean:  ## remove what the targets made
	rm -rf $(VENV) $(MINDSPORE_VENV) node_modules build dist *.egg-info tb_graph_ascend/static \
	       graph_output demo_output test-results .mypy_cache .ruff_cache .pytest_cache .hypothesis
