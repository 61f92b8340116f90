# `make` alone lists the verbs. CI calls these and nothing else.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
MAKEFLAGS += --no-builtin-rules
.SUFFIXES:
.NOTPARALLEL:
.DEFAULT_GOAL := help

VENV := .venv
PY := $(VENV)/bin/python
PIP = $(PY) -m pip install --quiet --disable-pip-version-check
STAMPS := $(VENV)/.stamps
# In CI a Cargo.lock that does not fit is a fault; at a desk it is being edited.
LOCKED := $(if $(CI),--locked)
MSRV = $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
# How long the fuzz targets search, in all: `make fuzz FUZZ_SECONDS=3600 ARGS="v2 lz4"` takes some of them; and the cases of each property test.
FUZZ_SECONDS ?= 600
FUZZ_CASES ?= 20000
# How many of each clean file: `make mutations MUTATIONS=100000`.
MUTATIONS ?= 10000
# How long histories are simulated: `make simulate SECONDS=3600 SEED=1`; without SEED they begin at the time.
SECONDS ?= 600
# The extension and the jar for tests: optimised, in the directory of the Rust tests. A release is also linked as a whole.
OPTIMISED = --config tools/optimised.toml
# `make wheel-check WHEEL_OPTIONS="--config tools/optimised.toml"`: the wheel of what tests run.
WHEEL_OPTIONS ?= --release
# Rust tests for many cases: as optimised as a release, with the checks of a debug build.
LONG_TEST = cargo test --config profile.dev.package.logsegment.opt-level=3 $(LOCKED) --features values
# `make cross-wheel TARGET=x86_64-unknown-linux-musl COMPATIBILITY=musllinux_1_2`; and what `make cross-check` compiles for.
TARGET ?= aarch64-unknown-linux-gnu
COMPATIBILITY ?= manylinux_2_28
# `make portable-jar JAR_TARGET=x86_64-unknown-linux-musl PYTHON=python3`: the Rust target, and after a dot the version of glibc.
JAR_TARGET ?= $(shell uname -m)-unknown-linux-gnu.2.28
JAR_TRIPLE = $(firstword $(subst ., ,$(JAR_TARGET)))
PYTHON ?= $(PY)
CROSS_CHECKED := aarch64-apple-darwin x86_64-pc-windows-gnu aarch64-pc-windows-gnullvm
# `make test-python ARGS="-k spark"`, `make bench ARGS="--sections headers"`, `make demo ARGS=...`.
ARGS ?=
# Of `make interop` and `make test-nightly`: the older versions of PySpark under which both readers run.
PYSPARK_VERSIONS ?= 3.5.9 4.0.5 4.1.4 4.2.1
# Of `make soak`: how often the queries are ended, and how many seconds they run before that.
STREAM_KILLS ?= 10
STREAM_SECONDS ?= 8
# Processes that run tests: half of the time they wait for Spark, brokers and browsers.
WORKERS ?= 4
# A file is run by one of them, the files that take longest first (tests/conftest.py, tests/support/scheduling.py).
PARALLEL = --numprocesses $(WORKERS) --dist loadfile --no-loadscope-reorder
# Of the Rust tests; those of the extension are in pyproject.toml.
RUST_FEATURES = io,jvm,stores,values

# maturin and pyo3 must see this environment and no other that happens to be active.
export VIRTUAL_ENV := $(CURDIR)/$(VENV)
export PYO3_PYTHON := $(CURDIR)/$(PY)
unexport CONDA_PREFIX PYTHONHOME PYTHONPATH
# Tests start Python a thousand times: what it compiles, it keeps.
unexport PYTHONDONTWRITEBYTECODE
# The data source's worker processes must run the same Python as the driver.
export PYSPARK_PYTHON := $(CURDIR)/$(PY)
export PYSPARK_DRIVER_PYTHON := $(CURDIR)/$(PY)
# Spark asks for this machine's name and address otherwise: the name may not resolve, and is nobody's business in a log.
export SPARK_LOCAL_HOSTNAME ?= localhost
export SPARK_LOCAL_IP ?= 127.0.0.1

RUST_SOURCES := $(wildcard Cargo.toml Cargo.lock rust-toolchain.toml tools/optimised.toml) $(shell find src -name '*.rs')
LICENCE_FILES := LICENSE NOTICE LICENSE-binary $(wildcard licenses/*)
JAVA_SOURCES := $(shell find jvm -type f)
JAR := python/logsegment/spark/jvm/logsegment-spark.jar
# What tests and wheels take along: nothing where there is no JDK.
BUILT_JAR := $(if $(shell command -v javac),$(JAR))
# Spark's classes as a JVM keeps them: tests start Spark forty times, each time in half of the time.
SPARK_ARCHIVE := target/jvm/spark.jsa
BUILT_ARCHIVE := $(if $(shell command -v java),$(SPARK_ARCHIVE))
# The packages of `make demo`, which are those of the build and of Spark; and of everything else.
DEMO := $(STAMPS)/demo
SETUP := $(STAMPS)/setup
BUILD := $(STAMPS)/build
# The stamp outlives the module when the tree is cleaned: then it counts for nothing.
ifeq ($(wildcard python/logsegment/_core*.so),)
$(shell rm -f $(BUILD))
endif

.PHONY: help
help:
	@echo "make VERB"
	@awk 'BEGIN { FS = ":.*## " } \
		/^##@ / { printf "\n%s\n", substr($$0, 5) } \
		/^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

##@ Work

.PHONY: setup
setup: check-setup $(SETUP) ## say what is missing (Rust, Python, Java); make .venv with the development tools

.PHONY: check-setup
check-setup:
	@sh tools/check_setup.sh

$(PY):
	@sh tools/check_setup.sh >/dev/null
	"$$(sh tools/find_python.sh)" -m venv $(VENV)

$(DEMO): pyproject.toml | $(PY)
	@echo "packages of the build and of Spark, into $(VENV): about a minute"
	@$(PIP) 'pip>=25.1'
	@$(PIP) --group demo
	@mkdir -p $(STAMPS) && touch $@

$(SETUP): $(DEMO)
	@echo "tools of tests, checks and pages, into $(VENV): about a minute"
	@$(PIP) --group dev
	@touch $@

.PHONY: build
build: $(BUILD) ## compile the extension, optimised, into .venv; nothing to do if no Rust source changed

$(BUILD): $(DEMO) $(RUST_SOURCES)
	@echo "the extension: 5 to 15 minutes the first time (target/build.log)"
	@# maturin is not quiet when it is told to be: what it says is shown only if it fails.
	@mkdir -p target
	@PIP_QUIET=1 $(VENV)/bin/maturin develop --quiet $(LOCKED) $(OPTIMISED) >target/build.log 2>&1 || { cat target/build.log >&2; exit 1; }
	@mkdir -p $(STAMPS) && touch $@

.PHONY: jar
jar: $(JAR) ## compile the columnar reader for Spark and its library into a jar (JDK); docs/how-to/faster-in-spark.md

JVM_LIBRARY = rustc --quiet $(LOCKED) --lib --crate-type cdylib --features jvm
# Cargo has one name for the library of every set of features, and takes the file of another set for its own.
LIBRARIES = target/$(if $(filter --release,$(OPTIMISED)),release,debug)
FORGET_LIBRARY = rm -f $(foreach suffix,so dylib,$(LIBRARIES)/liblogsegment.$(suffix) $(LIBRARIES)/deps/liblogsegment.$(suffix))
$(JAR): $(DEMO) tools/spark_jar.py $(JAVA_SOURCES) $(RUST_SOURCES)
	@$(FORGET_LIBRARY)
	cargo $(JVM_LIBRARY) $(OPTIMISED)
	$(PY) tools/spark_jar.py $(LIBRARIES)
	@$(FORGET_LIBRARY)

# PYTHON has PySpark, and for zig the group `cross`. A library of musl needs the C library of the JVM that loads it.
.PHONY: portable-jar
portable-jar: ## the jar with a library built by zig for JAR_TARGET, an older or another C library than this machine's (JDK)
	rustup target add $(JAR_TRIPLE)
	RUSTFLAGS="$(if $(findstring musl,$(JAR_TARGET)),-C target-feature=-crt-static)" PATH="$(dir $(abspath $(PYTHON))):$$PATH" \
		cargo-zigbuild $(JVM_LIBRARY) --release --target-dir target/jvm --target $(JAR_TARGET)
	$(PYTHON) tools/spark_jar.py target/jvm/$(JAR_TRIPLE)/release

.PHONY: demo
demo: $(BUILD) ## a tour on a real segment: install what it needs, build, run examples/demo.py
	@# What Java and Spark say while they start is shown only if the demo fails.
	@$(PY) examples/demo.py $(ARGS) 2>target/demo.log || { cat target/demo.log >&2; exit 1; }

##@ Checks

.PHONY: test
test: setup build test-rust test-python ## set up, build and run every test

.PHONY: check
# It waits for nothing, and each process collects all tests once more.
check: WORKERS = 3
check: $(SETUP) $(BUILD) ## the loop at the desk: Rust and Python tests without Spark, brokers, the site and what is slow; fewer random cases
	cargo test --quiet $(LOCKED) --features $(RUST_FEATURES)
	PROPERTY_EXAMPLES=$(or $(PROPERTY_EXAMPLES),50) $(PY) -m pytest --quiet $(PARALLEL) -m "not spark and not interop and not slow and not nightly" \
		--ignore tests/python/test_docs.py --ignore tests/python/test_site.py tests/python $(ARGS)

.PHONY: test-rust
test-rust: ## test the core with columns, values, files, stores and the JVM reader; `make lint` compiles it without features
	cargo test $(LOCKED) --features $(RUST_FEATURES)

.PHONY: test-python
test-python: $(SETUP) $(BUILD) $(BUILT_JAR) $(BUILT_ARCHIVE) ## pytest in WORKERS processes (4); ARGS="-k name" selects
	$(PY) -m pytest $(PARALLEL) -m "not soak and not nightly" --durations 20 $(ARGS)

.PHONY: test-nightly
test-nightly: $(SETUP) $(BUILD) $(BUILT_JAR) $(BUILT_ARCHIVE) ## the proofs that take minutes: clusters, Connect, other versions of Spark and Kafka (Java, Maven)
	REQUIRE_INTEROP=1 PYSPARK_VERSIONS="$(PYSPARK_VERSIONS)" $(PY) -m pytest $(PARALLEL) -m "nightly and not soak" --durations 20 $(ARGS)

$(SPARK_ARCHIVE): $(SETUP) tests/support/spark_archive.py | $(BUILD) $(BUILT_JAR)
	$(PY) tests/support/spark_archive.py

.PHONY: lint
lint: lint-rust lint-python lint-pages licenses-check ## formats, clippy three times, ruff, layers, mypy, stub, workflows, language, links, licences

.PHONY: lint-rust
lint-rust: ## of that: the format, and clippy without features (tests too), with `arrow`, with all (tests and benches too)
	cargo fmt --check
	cargo clippy $(LOCKED) --all-targets -- -D warnings
	cargo clippy $(LOCKED) --lib --features arrow -- -D warnings
	cargo clippy $(LOCKED) --all-targets --all-features -- -D warnings

.PHONY: lint-python
lint-python: $(SETUP) $(BUILD) ## of that: ruff, layers, mypy, the stub against the module
	$(VENV)/bin/ruff check
	$(VENV)/bin/ruff format --check
	$(VENV)/bin/lint-imports
	$(VENV)/bin/mypy
	$(PY) -m mypy.stubtest logsegment._core --ignore-disjoint-bases

.PHONY: lint-pages
lint-pages: $(SETUP) $(BUILD) ## of that: workflows, issue forms, sizes, the language of texts, links, the plot
	$(VENV)/bin/zizmor --offline --quiet --strict-collection .github
	$(VENV)/bin/check-jsonschema --builtin-schema vendor.github-issue-forms $(filter-out %/config.yml,$(wildcard .github/ISSUE_TEMPLATE/*.yml))
	$(VENV)/bin/check-jsonschema --builtin-schema vendor.github-issue-config .github/ISSUE_TEMPLATE/config.yml
	$(PY) tools/check_structure.py
	$(PY) tools/check_language.py
	$(PY) tools/check_docs.py
	$(PY) tools/speed_plot.py check

.PHONY: fmt
fmt: $(SETUP) ## rewrite Rust and Python sources in the house format
	cargo fmt
	$(VENV)/bin/ruff check --fix
	$(VENV)/bin/ruff format

.PHONY: deny
deny: ## dependencies: licences, bans, sources (installs cargo-deny into target/tools once)
	@tools/cargo_deny.sh $(CHECKS)

.PHONY: msrv
msrv: ## compile with the oldest Rust that Cargo.toml promises (rustup installs it)
	rustup run --install $(MSRV) cargo check $(LOCKED)
	rustup run --install $(MSRV) cargo check $(LOCKED) --all-features

.PHONY: fuzz
fuzz: ## the coverage-guided targets of fuzz/ for FUZZ_SECONDS in all, under AddressSanitizer (nightly Rust, x86-64 Linux); docs/project/fuzzing.md
	python3 tools/fuzz.py $(FUZZ_SECONDS) $(ARGS)

.PHONY: fuzz-build
fuzz-build: ## compile the targets of fuzz/, and no more
	python3 tools/fuzz.py --build

.PHONY: properties
properties: ## every Rust test named after properties with FUZZ_CASES cases each, overflow checks on
	@$(LONG_TEST) propert -- --list 2>/dev/null | grep -q ': test$$' || { echo "properties: no test has 'propert' in its name" >&2; exit 1; }
	PROPTEST_CASES=$(FUZZ_CASES) $(LONG_TEST) propert

.PHONY: interop
interop: $(SETUP) $(BUILD) $(BUILT_JAR) ## run every writer against every reader, record and print the table of docs/reference/compatibility.md (Java, Maven)
	status=0; REQUIRE_INTEROP=1 INTEROP_RECORD=1 BROKER_HISTORIES=200 STORE_FAULTS=2000 PYSPARK_VERSIONS="$(PYSPARK_VERSIONS)" $(PY) -m pytest $(PARALLEL) -m "interop and not soak" $(ARGS) || status=$$?; \
		$(PY) tests/interop/record.py || status=$$?; exit $$status

.PHONY: mutations
mutations: ## MUTATIONS of every clean file of the corpus, optimised, overflow checks on: nothing panics, no record changes (docs/project/mutations.md)
	MUTATIONS=$(MUTATIONS) $(LONG_TEST) --test rust -- --nocapture no_mutation

.PHONY: simulate
simulate: $(SETUP) $(BUILD) ## histories of simulated logs, with every law checked through the APIs, for SECONDS from SEED on (docs/project/simulation.md)
	$(PY) -m tests.simulation --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(ARGS)

.PHONY: simulate-spark
simulate-spark: $(SETUP) $(BUILD) $(BUILT_JAR) ## HISTORIES simulated logs (500), read in a Spark session by both readers (Java)
	$(PY) -m tests.simulation.in_spark --histories $(or $(HISTORIES),500) $(ARGS)

.PHONY: soak
soak: $(SETUP) $(BUILD) $(BUILT_JAR) ## streaming queries over a working broker, killed or stopped STREAM_KILLS times (10; Java, Maven)
	REQUIRE_INTEROP=1 STREAM_KILLS=$(STREAM_KILLS) STREAM_SECONDS=$(STREAM_SECONDS) $(PY) -m pytest -s -m soak tests/interop $(ARGS)

.PHONY: miri
miri: ## the rooms with unsafe code of our own under Miri (nightly Rust with miri); what calls C is for `make asan`
	@# Property tests take few cases: Miri is some hundred times slower.
	PROPTEST_CASES=8 MIRIFLAGS=-Zmiri-disable-isolation cargo +nightly miri test $(LOCKED) --lib -- wire:: codec::snappy

.PHONY: asan
asan: ## the Rust tests under AddressSanitizer (nightly Rust, x86-64 Linux)
	@# A test asks for more memory than there is, and must be told no instead of being killed.
	ASAN_OPTIONS=allocator_may_return_null=1 RUSTFLAGS=-Zsanitizer=address cargo +nightly test $(LOCKED) --features io,values --lib --tests \
		--target x86_64-unknown-linux-gnu --target-dir target/asan

##@ Figures

.PHONY: bench
bench: $(SETUP) ## measure everything on a quiet machine (more than two hours); writes docs/explanation/benchmarks.md
	rm -f $(BUILD) $(JAR)
	$(MAKE) $(BUILD) $(BUILT_JAR) OPTIMISED=--release
	$(PY) -m benches.run $(ARGS)

.PHONY: bench-check
bench-check: $(SETUP) ## compare the recorded figures with every threshold
	$(PY) -m benches.check

##@ Pages and packages

.PHONY: docs
docs: $(SETUP) $(BUILD) ## build the site into target/site/html and the Rust documentation; warnings, broken links and anchors are errors
	$(PY) tools/check_docs.py
	$(PY) tools/build_site.py
	RUSTDOCFLAGS="-D warnings" cargo doc $(LOCKED) --no-deps --features arrow,io

.PHONY: site
site: $(SETUP) $(BUILD)
	$(PY) tools/build_site.py

.PHONY: plot
plot: $(SETUP) ## draw the plot of the README from its table of figures
	$(PY) tools/speed_plot.py make

.PHONY: licenses
licenses: $(SETUP) ## write licenses/ and LICENSE-binary from the bundled crates' own texts
	$(PY) tools/licenses.py make

.PHONY: licenses-check
licenses-check: $(SETUP) ## fail if licenses/ or LICENSE-binary is not what `make licenses` would write
	$(PY) tools/licenses.py check

.PHONY: man
man: $(SETUP) $(BUILD) ## write the manual page from the help of the command line
	$(PY) tools/man_page.py make

# The times in a wheel are that of the commit, and maturin leaves out a random number (docs/project/release.md).
wheel cross-wheel: export SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct)

.PHONY: wheel
wheel: $(SETUP) $(LICENCE_FILES) $(BUILT_JAR) ## build the stripped wheel for this Python into target/wheels
	rm -rf target/wheels
	$(VENV)/bin/maturin build $(WHEEL_OPTIONS) --quiet $(LOCKED) --interpreter $(PY) --out target/wheels

.PHONY: wheel-check
wheel-check: wheel ## build the wheel; at most 24 MiB, complete with licences and (where a JDK is) the jar, and works alone
	$(PY) tools/wheel_check.py $(if $(BUILT_JAR),--jar) target/wheels/*.whl

.PHONY: wheel-attempts
wheel-attempts: wheel ## build the wheel; it works with each extra of docs/tutorial/first-attempts.md, which pip installs alone
	$(PY) tools/wheel_check.py --attempts target/wheels/*.whl

.PHONY: cross-tools
cross-tools: $(SETUP)
	$(PIP) --group cross

.PHONY: cross-wheel
cross-wheel: cross-tools ## build the wheel for TARGET with zig into target/cross (docs/project/platforms.md says how to try it)
	rustup target add $(TARGET)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" maturin build --release --quiet $(LOCKED) --zig --target $(TARGET) --compatibility $(COMPATIBILITY) \
		--interpreter python3.11 --out target/cross

.PHONY: cross-check
cross-check: cross-tools ## compile for macOS and Windows on Linux, C code by zig, as far as it goes without linking
	rustup target add $(CROSS_CHECKED)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" cargo-zigbuild check $(LOCKED) --features python $(addprefix --target ,$(CROSS_CHECKED))

.PHONY: crate
crate: ## pack the crate for crates.io into target/package and compile what was packed
	cargo package $(LOCKED) --features arrow,io
