# Benchmarks that a person starts. Included by the Makefile; the figures they write are in docs/.

.PHONY: bench-retrieval fuzz

# FastMCP, one of the searches compared, lives with the other clients (conformance.mk).
bench-retrieval: .venv/.dev .venv-clients/.installed ## how well words find tools: docs/retrieval.md; ARGS=--write writes its tables
	$(bin)/python -m tests.benchmarks.retrieval $(ARGS)

# atheris follows the branches that an input takes. It has wheels for some versions of Python only: requirements/fuzz.in.
.venv-fuzz/.installed: .venv/bin/uv requirements/fuzz.txt
	python="$$(scripts/find-python 3.11)" && $(bin)/uv venv --quiet --clear --python "$$python" .venv-fuzz
	VIRTUAL_ENV=.venv-fuzz $(bin)/uv pip install --quiet --require-hashes -r requirements/fuzz.txt
	touch $@

fuzz: .venv-fuzz/.installed ## send damaged requests to the handler: make fuzz ARGS='--runs 1000000'
	PYTHONPATH=layers/core .venv-fuzz/bin/python scripts/fuzz_wire.py $(ARGS)
