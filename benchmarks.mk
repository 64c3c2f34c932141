# Benchmarks that a person starts. Included by the Makefile; the figures they write are in docs/.

.PHONY: bench-retrieval bench-scale bench-tokens fuzz

# FastMCP, one of the searches compared, lives with the other clients (conformance.mk).
bench-retrieval: .venv/.dev .venv-clients/.installed ## how well words find tools: docs/retrieval.md; ARGS=--write writes its tables
	$(bin)/python -m tests.benchmarks.retrieval $(ARGS)

# Python 3.11, which Lambda runs: what is imported there is timed here. The environment takes some gigabytes.
.venv-rankers/.installed: .venv/bin/uv requirements/rankers.txt
	python="$$(scripts/find-python 3.11)" && $(bin)/uv venv --quiet --clear --python "$$python" .venv-rankers
	VIRTUAL_ENV=.venv-rankers $(bin)/uv pip install --quiet --require-hashes -r requirements/rankers.txt
	touch $@

bench-rankers: .venv-rankers/.installed ## what else could rank: docs/decisions/ranking.md; ARGS=--write writes its tables
	PYTHONPATH=layers/core .venv-rankers/bin/python -m tests.benchmarks.retrieval.alternatives $(ARGS)

# A quarter of an hour; ARGS=--quick, up to 10,000 tools, a minute.
bench-scale: .venv/.dev ## time and memory at 129 to 100,000 tools: docs/scale.md; ARGS=--quick or ARGS=--write
	$(bin)/python -m tests.benchmarks.scale $(ARGS)

bench-tokens: .venv/.dev ## what a model reads, in tokens: the tables that `make measure` writes into docs/measurements.md
	@$(bin)/python -m scripts.measure_tokens $(ARGS)

# atheris follows the branches that an input takes. It has wheels for some versions of Python only: requirements/fuzz.in.
.venv-fuzz/.installed: .venv/bin/uv requirements/fuzz.txt
	python="$$(scripts/find-python 3.11)" && $(bin)/uv venv --quiet --clear --python "$$python" .venv-fuzz
	VIRTUAL_ENV=.venv-fuzz $(bin)/uv pip install --quiet --require-hashes -r requirements/fuzz.txt
	touch $@

fuzz: .venv-fuzz/.installed ## send damaged requests to the handler: make fuzz ARGS='--runs 1000000'
	PYTHONPATH=layers/core .venv-fuzz/bin/python scripts/fuzz_wire.py $(ARGS)
