# Every verb of the project. `make` alone lists them.

.PHONY: help demo packages build test check lint deny docs bench
.DEFAULT_GOAL := help

help: ## list the verbs
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 16

demo: build ## the order example on a broker and tables of its own: nothing to install (ARGS="--rate 20")
	target/release/lookaside demo $(ARGS)

packages: ## install what compiling needs beyond Rust: C and C++ compilers, CMake, pkg-config, OpenSSL's headers
	@tests/stack/packages.sh

build: packages ## build the release binary, target/release/lookaside
	cargo build --release

test: check ## everything: format, lints, licences, and all tests against a real broker, database and browser
	tests/stack/browser.sh
	tests/stack/stack.sh run cargo test --no-fail-fast

check: lint deny ## what needs no server

lint: packages ## rustfmt and clippy, warnings are errors
	cargo fmt --check
	cargo clippy --all-targets --quiet -- -D warnings

deny: ## licences, sources and bans of the dependencies
	@command -v cargo-deny >/dev/null 2>&1 || cargo install cargo-deny --locked --quiet
	cargo deny --log-level error check bans licenses sources

docs: packages ## write what is made from the source: docs/metrics.md, cli.md, definition.md, the table and schema in helm/
	UPDATE_EXPECTED=1 cargo test --quiet --test it -- \
	  the_document_is_the_list the_definition_reference_is the_command_reference_is it_is_as_it_says_of_itself it_takes_what_the_program_takes

bench: ## the workload against a bare copy loop (FLINK=1: and Flink), and hashed against unhashed lookups
	cargo bench --bench hashed_lookups
	cargo bench --bench workload --no-run
	tests/stack/stack.sh run cargo bench --bench workload
