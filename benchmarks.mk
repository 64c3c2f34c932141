# Benchmarks that a person starts. Included by the Makefile; the figures they write are in docs/.

.PHONY: bench-retrieval

# FastMCP, one of the searches compared, lives with the other clients (conformance.mk).
bench-retrieval: .venv/.dev .venv-clients/.installed ## how well words find tools: docs/retrieval.md; ARGS=--write writes its tables
	$(bin)/python -m tests.benchmarks.retrieval $(ARGS)
