# The verbs of the project. Each one works on a fresh checkout.

.PHONY: bench

# The workload on a real broker and database: the copy loop, Lookaside and, with FLINK=1, Flink.
# Results: benches/RESULTS.md and target/bench/results.json. More settings: benches/workload/settings.rs.
bench:
	cargo bench --bench workload --no-run
	tests/stack/stack.sh run cargo bench --bench workload
