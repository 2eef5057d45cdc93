# Two commands for a newcomer: `make run` and `make test`. Both install what they need, or say
# what to install.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.PHONY: help setup build run test lint docs reference fetch-model python-runner javascript-runner release cuda install wheel test-wheel test-python dist bench fuzz coverage error-rates test-references test-kernels test-s3 test-registry peers test-engines parity

# On Linux, optimised builds of gage-model load their kernels from folders beside it.
TARGET := $(or $(CARGO_TARGET_DIR),target)
ifneq ($(filter Linux-x86_64 Linux-aarch64,$(shell uname -s)-$(shell uname -m)),)
MODEL_FEATURES := --features gage-llama/dynamic-backends
STAGE_MODEL_PROGRAM = tools/model-program.sh "$(TARGET)/release" "$(TARGET)/release"
endif
# The build script of llama-cpp-sys-2 leaves links to libraries in a target folder, and fails if it finds those of an earlier run.
REMOVE_LINKS = rm -f "$(1)"/{,deps/,examples/}lib{ggml,ggml-base,llama,llama-common,mtmd}.so

help: ## Show this list
	@grep -E '^[a-z-]+:.*## ' Makefile | sed -E 's/^([a-z-]+):.*## /\1\t/' | expand -t 17

setup: ## Install what building needs (Debian packages when root, otherwise it says which)
	@tools/setup.sh

build: setup ## Build the programs into target/debug
	cargo build --package gage-host --package gage-llama --locked

run: build ## Evaluate the model that ships with the project, on the suite that ships with it
	target/debug/gage-host run config/custom/tiny.yaml

test: setup ## Run all tests (installs Chromium for those of reports, where it can)
	@tools/chromium.sh
	tools/test.sh

lint: setup ## Check the format, the spelling, the dependencies, and every warning of the compiler and of clippy
	tools/lint-dependencies.sh
	cargo fmt --all --check
	cargo fmt --manifest-path plugins/Cargo.toml --all --check
	cargo clippy --workspace --all-targets --locked -- --deny warnings
	@# As other programs embed it: without Parquet and OpenTelemetry.
	cargo clippy --package gage-data --package gage-export --package gage-observe --locked -- --deny warnings
	cargo clippy --manifest-path plugins/Cargo.toml --workspace --all-targets --locked --target-dir target/plugins-native -- --deny warnings
	RUSTDOCFLAGS="--deny warnings" cargo doc --workspace --no-deps --locked

docs: ## Build the documentation site into target/site, and check its links
	tools/docs.sh

reference: setup ## Write the generated pages of the documentation again
	tools/reference.sh

python-runner: ## Build the metric python_tests, which runs programs of models, beside the programs of `make release` (fetches componentize-py)
	tools/python-runner/build.sh "$(TARGET)/release/plugins"

javascript-runner: ## Build the metric javascript_tests in the same way (fetches componentize-js, and needs Node)
	tools/javascript-runner/build.sh "$(TARGET)/release/plugins"

release: setup ## Build the programs as they are meant to be used, into target/release
	@$(call REMOVE_LINKS,$(TARGET)/release)
	cargo build --release --package gage-host --package gage-llama $(MODEL_FEATURES) --locked
	$(STAGE_MODEL_PROGRAM)

cuda: ## Build the kernels for NVIDIA GPUs (fetches the toolkit if there is none): CUDA_ARCHITECTURES=90-real for one kind of GPU
	CUDA_ARCHITECTURES="$(CUDA_ARCHITECTURES)" CUDA_LIBRARIES="$(CUDA_LIBRARIES)" tools/cuda.sh

install: release ## Install the program, python_tests if it is built, man pages and completions below PREFIX (default ~/.local)
	tools/install.sh "$(or $(PREFIX),$(HOME)/.local)"

wheel: release python-runner ## Build a wheel of the program into dist, for Linux on x86-64 with glibc 2.34 or newer
	tools/wheel.sh

test-wheel: ## Test the wheel in dist, in new environments of this machine and (as root) of a Debian without compilers
	tools/test-wheel.sh

test-python: build ## Test the Python package with data frames and a notebook, and check its types (PYTHON=python3.12: with this Python)
	GAGE_HOST="$(TARGET)/debug/gage-host" PYTHON="$(or $(PYTHON),python3)" tools/test-python.sh

dist: release python-runner ## Build an archive of the programs, man pages, completions and licences into dist
	tools/dist.sh

bench: setup ## Measure the program and print tables: BENCH="requests storm" measures only these, QUICK=1 less exactly
	@$(call REMOVE_LINKS,$(TARGET)/release)
	cargo build --release --locked --package gage-host --package gage-llama --package gage-benchmarks $(MODEL_FEATURES)
	$(STAGE_MODEL_PROGRAM)
	$(if $(filter sandbox,$(or $(BENCH),sandbox)),cargo build --release --locked --package gage-native-costs --manifest-path plugins/Cargo.toml --target-dir "$${CARGO_TARGET_DIR:-target}/plugins-native")
	"$${CARGO_TARGET_DIR:-target}/release/gage-benchmarks" $(if $(QUICK),--quick) $(BENCH)

fuzz: setup ## Try new inputs of each fuzz target for MINUTES of processor time (TARGETS="suites rows": only of these)
	cargo run --locked --package gage-fuzz --example fuzz -- $(or $(MINUTES),1) $(TARGETS)

coverage: ## Simulate how often the intervals of figures contain the truth, and print the table
	cargo run --release --locked --package gage-figures --features test-records --example coverage

error-rates: ## Simulate how often gates err, and print the table
	cargo run --release --locked --package gage-compare --features simulation --example error_rates

test-references: build ## Compare figures with those of other programs, which it installs from PyPI, and print the tables
	python3 tests/figures/run.py --program "$${CARGO_TARGET_DIR:-target}/debug/gage-host"

parity: build ## Compare the ready suites with lm-evaluation-harness, which it installs from PyPI, and with keys of answers
	tools/python-runner/build.sh "$(TARGET)/parity-plugins"
	python3 tests/parity/run.py --program "$(TARGET)/debug/gage-host" --plugin-dir "$(TARGET)/parity-plugins"
	python3 tests/parity/run.py --program "$(TARGET)/debug/gage-host" --plugin-dir "$(TARGET)/parity-plugins" --answers

test-engines: build ## Run a suite in shards on Slurm and Ray, and check manifests for Kubernetes (ENGINES="slurm ray": only these)
	GAGE_HOST="$(TARGET)/debug/gage-host" tools/test-engines.sh $(ENGINES)

test-kernels: setup ## Run the tests of loadable kernels, which build llama.cpp once more
	cargo build --locked --workspace --bins
	@$(call REMOVE_LINKS,$(TARGET)/modules/debug)
	cargo build --locked --package gage-llama --features gage-llama/dynamic-backends --target-dir "$(TARGET)/modules"
	tools/model-program.sh "$(TARGET)/modules/debug" "$(TARGET)/modules/stage"
	GAGE_TEST_MODEL_FOLDER="$(abspath $(TARGET))/modules/stage" cargo test --locked --workspace --test models kernel_modules:: -- --ignored

test-s3: build ## Test shards in object storage with moto, an S3 server from PyPI
	GAGE_HOST="$${CARGO_TARGET_DIR:-target}/debug/gage-host" tools/test-s3.sh

test-registry: build ## Test plugins in a registry with docker-registry, oras and cosign from Debian, and a verifier from npm
	GAGE_HOST="$${CARGO_TARGET_DIR:-target}/debug/gage-host" tools/test-registry.sh

peers: release ## Measure models beside other programs that run llama.cpp (fetches them, and a model)
	tools/peers.sh

fetch-model: ## Fetch a real model of 270 million parameters into the cache folder
	tools/fetch-model.sh gemma3-270m
