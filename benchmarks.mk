# Benchmarks that a person starts. Included by the Makefile; the figures they write are in docs/.

.PHONY: bench-calls bench-retrieval bench-scale bench-tokens fuzz

# Some ten minutes; ARGS=--quick, 200 calls, one.
bench-calls: .venv/.dev ## what a day of 2,000 calls costs: docs/measurements-calls.md; ARGS=--quick or ARGS=--write
	$(bin)/python -W ignore::DeprecationWarning -m tests.benchmarks.calls $(ARGS)

# FastMCP, one of the searches compared, lives with the other clients (conformance.mk).
bench-retrieval: .venv/.dev .venv-clients/.installed ## how well words find tools: docs/retrieval.md; ARGS=--write writes its tables
	$(bin)/python -m tests.benchmarks.retrieval $(ARGS)

# The environment takes some gigabytes, a run a quarter of an hour. One thread for numpy, as a small Lambda has.
.venv-rankers/.installed: .venv/bin/uv requirements/rankers.txt
	python="$$(scripts/find-python 3.11)" && $(bin)/uv venv --quiet --clear --python "$$python" .venv-rankers
	VIRTUAL_ENV=.venv-rankers $(bin)/uv pip install --quiet --require-hashes -r requirements/rankers.txt
	touch $@

bench-rankers: .venv-rankers/.installed ## what else could rank: docs/decisions/ranking.md; ARGS=--write writes its tables
	OPENBLAS_NUM_THREADS=1 PYTHONPATH=layers/core .venv-rankers/bin/python -m tests.benchmarks.retrieval.alternatives $(ARGS)

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
