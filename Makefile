# Every verb of the project. `make` alone lists them.

.PHONY: help demo build test check lint deny bench
.DEFAULT_GOAL := help

help: ## list the verbs
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /  make \1\t/' | expand -t 16

demo: build ## the order example on a broker and tables of its own: nothing to install (ARGS="--rate 20")
	target/release/lookaside demo $(ARGS)

build: ## build the release binary, target/release/lookaside
	cargo build --release

test: check ## everything: format, lints, licences, and all tests against a real broker and database
	tests/stack/stack.sh run cargo test --no-fail-fast

check: lint deny ## what needs no server

lint: ## rustfmt and clippy, warnings are errors
	cargo fmt --check
	cargo clippy --all-targets --quiet -- -D warnings

deny: ## licences, sources and bans of the dependencies
	@command -v cargo-deny >/dev/null 2>&1 || cargo install cargo-deny --locked --quiet
	cargo deny --log-level error check bans licenses sources

bench: ## the workload against a bare copy loop (FLINK=1: and Flink); results in benches/RESULTS.md
	cargo bench --bench workload --no-run
	tests/stack/stack.sh run cargo bench --bench workload
