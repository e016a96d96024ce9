# netvm. `make help` says what there is. Prerequisites: a Rust toolchain (rustup), a C compiler, make.
.DEFAULT_GOAL := help
.PHONY: help demo check test lint bench fuzz tsan live soak compare-live conformance conformance-p4 conformance-tutorials conformance-filters compare-print portability vpp-headers vpp-forms machines docs build install dist clean

PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
SECONDS ?= 60
# What is built and installed: release, or demo (quicker to build; what `make demo` has built).
PROFILE ?= release
# The demo is built without what it does not show; so is what is installed of it.
FEATURES = $(if $(filter demo,$(PROFILE)),--no-default-features)
export CARGO_TARGET_DIR ?= $(CURDIR)/target
BUILT = $(CARGO_TARGET_DIR)/$(PROFILE)
NETVM = $(CARGO_TARGET_DIR)/release/netvm

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

demo: ## build netvm, make a small realistic capture, filter it, show what came of it
	@scripts/demo

check: ## what to run while you work: format, lints, and the quick tests (under two minutes once built)
	cargo fmt --all --check
	cargo clippy --workspace --quiet -- -D warnings
	cargo test --quiet -p netil -p netvm-compiler -p netvm-runtime --lib
	cargo test --quiet -p netvm-cli --lib --bins --test cli
	cargo test --quiet -p netvm-tests --test tidy

test: ## everything that must pass: format, lints, tests, documentation
	@scripts/packages libpcap-dev tcpdump zstd iproute2 ethtool pkg-config fish zsh udhcpc
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	scripts/check-musl
	cargo test --workspace --quiet
	scripts/models
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --quiet
	@echo 'All tests passed.'

lint: ## format and lints only
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	cargo clippy -p netvm-cli --no-default-features -- -D warnings

bench: ## measure against libpcap, tcpdump, the kernel and hand-written C (ARGS='--help' for sections and records; BMV2=DIR: BMv2's programs for ARGS=p4; CLICK=DIR: Click beside it, ARGS=click)
	@scripts/packages libpcap-dev tcpdump clang
	@cargo build --release --quiet -p netvm-cli
	@cargo run --release --quiet -p netvm-bench -- --netvm $(NETVM) $(if $(BMV2),--bmv2 $(BMV2)) $(if $(CLICK),--click $(CLICK)) $(ARGS)

fuzz: ## run every fuzz target for SECONDS each (default 60), or TARGETS='asm_text …'
	@scripts/fuzz $(SECONDS) $(TARGETS)

tsan: ## tests of what threads share, under the thread sanitizer (a nightly toolchain with rust-src; NAMES='rings runtime netvm' for some)
	@scripts/tsan $(NAMES)

live: ## ping, curl and iperf3 through router and NAT between virtual interfaces, by dev: and xdp: (root; under a minute)
	@scripts/packages iproute2 iperf3 iputils-ping curl python3
	@cargo build --release --quiet -p netvm-cli
	@NETVM=$(NETVM) scripts/live programs

soak: ## the NAT between virtual interfaces for SECONDS (default 600) with iperf3 at both ends: memory stays, nothing stops (root)
	@scripts/packages iproute2 iperf3 iputils-ping
	@cargo build --release --quiet -p netvm-cli
	@NETVM=$(NETVM) scripts/live soak $(if $(filter file,$(origin SECONDS)),600,$(SECONDS))

compare-live: ## TCP and UDP through the kernel's NAT and netvm's, by both kinds of device, in one run (root)
	@scripts/packages iproute2 iperf3 iputils-ping nftables ethtool
	@cargo build --release --quiet -p netvm-cli
	@NETVM=$(NETVM) scripts/live compare

conformance: ## run the tests of Click's sources in CLICK=DIR (NAMES='IPFilter Queue' for some): which pass, fail (conformance.txt of xtask has the reasons), need what is not there
	@cargo build --release --quiet -p netvm-cli
	@cargo run --quiet -p xtask -- conformance $(NETVM) $(CLICK) $(NAMES)

conformance-p4: ## run the STF tests of p4c's sources in P4C=DIR (NAMES='gauntlet' for some): which pass, fail, and fail as is known; with BMV2=DIR (p4c-bm2-ss, p4c-bm2-psa) by BMv2's JSON, too
	@cargo build --release --quiet -p netvm-cli
	@cargo run --quiet -p xtask -- conformance-p4 $(NETVM) $(P4C) $(NAMES)
	@$(if $(BMV2),cargo run --quiet -p xtask -- conformance-p4-json $(NETVM) $(P4C) $(BMV2) $(NAMES))

conformance-tutorials: ## run our STF tests on the programs of p4lang/tutorials in TUTORIALS=DIR
	@cargo build --release --quiet -p netvm-cli
	@cargo run --quiet -p xtask -- conformance-tutorials $(NETVM) $(TUTORIALS) tests/p4/tutorials

conformance-filters: ## run libpcap's tests of filters, of its sources in LIBPCAP=DIR (NAMES='wlan' for some): which come out right, and which otherwise as is known
	@scripts/packages tcpdump
	@cargo build --release --quiet -p netvm-cli
	@cargo run --quiet -p xtask -- conformance-filters $(NETVM) $(LIBPCAP) $(NAMES)

compare-print: ## hold printed lines against tcpdump's on the captures under DIR, with ARGS=-v in full: the share that is the same, by protocol, and what differs
	@scripts/packages tcpdump
	@cargo build --release --quiet -p netvm-cli
	@cargo run --quiet -p xtask -- compare-print $(NETVM) $(DIR) $(ARGS)

machines: ## figures of papers about machines that are models, beside ours: writes docs/machines (20 minutes; SECONDS=0.05: one, with shorter runs than the papers')
	cargo run --quiet --workspace --bin netvm -- bench --machines --seconds $(or $(SECONDS),5) -o docs/machines

portability: ## one corpus on every engine and target: writes docs/portability.md (MORE=1: only what it has no `same` for)
	@scripts/packages gcc-aarch64-linux-gnu gcc-riscv64-linux-gnu gcc-mips64-linux-gnuabi64 qemu-user opencl-headers ocl-icd-opencl-dev pocl-opencl-icd
	NETVM_BLESS=$(if $(MORE),more,1) cargo test --quiet --workspace --test portability

vpp-headers: ## compile plugins for VPP against the headers of its sources in VPP=DIR
	NETVM_VPP=$(abspath $(VPP)) cargo test --quiet --workspace --test freestanding -- vpp::plugins_compile --nocapture

vpp-forms: ## nanoseconds a packet of a plugin for VPP in one node and in several, by packets at once and packet size
	@cargo build --release --quiet -p netvm-cli
	@scripts/vpp-forms $(NETVM)

docs: ## docs/netil.md, netvm.h, manual pages, and the crates' documentation
	NETVM_BLESS=1 cargo test --quiet -p netil --test manual
	NETVM_BLESS=1 cargo test --quiet -p netvm-capi --test header
	cargo run --quiet -p netvm-cli -- man $(CARGO_TARGET_DIR)/man
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps
	@echo 'docs/netil.md, $(CARGO_TARGET_DIR)/man, $(CARGO_TARGET_DIR)/doc/netvm/index.html'

build: ## the program and the C library (PROFILE=demo is quicker to build)
	cargo rustc --profile $(PROFILE) -p netvm-cli --bin netvm $(FEATURES) -- $(if $(filter release,$(PROFILE)),$$(scripts/link-flags))
	cargo rustc --profile $(PROFILE) -p netvm-capi $(FEATURES) --lib --crate-type cdylib,staticlib

install: build ## netvm, its manual pages, completions and applications, and the C library under PREFIX (default /usr/local); builds what is not built
	DESTDIR='$(DESTDIR)' LIBDIR='$(LIBDIR)' DEBUGDIR='$(DEBUGDIR)' scripts/install $(BUILT) $(PREFIX)

dist: ## Debian packages and a static program, each tried, in target/dist
	@PROFILE=$(PROFILE) scripts/dist

clean: ## remove what was built
	cargo clean
