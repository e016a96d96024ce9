# netvm. `make help` says what there is. Prerequisites: a Rust toolchain (rustup), a C compiler, make.
.DEFAULT_GOAL := help
.PHONY: help demo test lint bench fuzz conformance conformance-p4 docs install clean

PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
SECONDS ?= 60
export CARGO_TARGET_DIR ?= $(CURDIR)/target
NETVM = $(CARGO_TARGET_DIR)/release/netvm

help: ## this list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-11s %s\n", $$1, $$2 }' Makefile

demo: ## make a small realistic capture, filter it, show what came of it
	@scripts/demo

test: ## everything that must pass: format, lints, tests, documentation
	@scripts/packages libpcap-dev tcpdump zstd iproute2
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --quiet -- -D warnings
	cargo test --workspace --quiet
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --quiet
	@echo 'All tests passed.'

lint: ## format and lints only
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings

bench: ## measure against libpcap, tcpdump, the kernel and hand-written C (ARGS='--help' for sections and records)
	@scripts/packages libpcap-dev tcpdump clang
	@cargo build --release --quiet -p netvm-cli
	@cargo run --release --quiet -p netvm-bench -- --netvm $(NETVM) $(ARGS)

fuzz: ## run every fuzz target for SECONDS each (default 60), or TARGETS='asm_text …'
	@scripts/fuzz $(SECONDS) $(TARGETS)

conformance: ## run the tests of Click's sources in CLICK=DIR (NAMES='IPFilter Queue' for some): which pass, fail (conformance.txt of xtask has the reasons), need what is not there
	@cargo build --release --quiet -p netvm-cli
	@cargo run --quiet -p xtask -- conformance $(NETVM) $(CLICK) $(NAMES)

conformance-p4: ## run the STF tests of p4c's sources in P4C=DIR (NAMES='gauntlet' for some): which pass, fail, and fail as is known
	@cargo build --release --quiet -p netvm-cli
	@cargo run --quiet -p xtask -- conformance-p4 $(NETVM) $(P4C) $(NAMES)

docs: ## docs/netil.md, netvm.h, manual pages, completions, and the crates' documentation
	NETVM_BLESS=1 cargo test --quiet -p netil --test manual
	NETVM_BLESS=1 cargo test --quiet -p netvm-capi --test header
	cargo run --quiet -p xtask -- man $(CARGO_TARGET_DIR)/man
	cargo run --quiet -p xtask -- completions $(CARGO_TARGET_DIR)/completions
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps
	@echo 'docs/netil.md, $(CARGO_TARGET_DIR)/man, $(CARGO_TARGET_DIR)/completions, $(CARGO_TARGET_DIR)/doc/netvm/index.html'

install: ## netvm, its manual pages and completions, and the C library under PREFIX (default /usr/local)
	cargo build --release --quiet -p netvm-cli
	cargo rustc --release --quiet -p netvm-capi --lib --crate-type cdylib,staticlib
	cargo run --quiet -p xtask -- man $(CARGO_TARGET_DIR)/man
	cargo run --quiet -p xtask -- completions $(CARGO_TARGET_DIR)/completions
	install -D -m 755 $(NETVM) $(DESTDIR)$(PREFIX)/bin/netvm
	install -d $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 644 $(CARGO_TARGET_DIR)/man/*.1 $(DESTDIR)$(PREFIX)/share/man/man1
	install -D -m 644 $(CARGO_TARGET_DIR)/completions/netvm.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/netvm
	install -D -m 644 $(CARGO_TARGET_DIR)/completions/_netvm $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_netvm
	install -D -m 644 $(CARGO_TARGET_DIR)/completions/netvm.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/netvm.fish
	DESTDIR='$(DESTDIR)' LIBDIR='$(LIBDIR)' scripts/install-lib $(CARGO_TARGET_DIR)/release $(PREFIX)

clean: ## remove what was built
	cargo clean
