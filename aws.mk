# Build, check, run and deploy on AWS. Included by the Makefile. The tools have virtual environments of their own, because
# the SAM CLI pins exact versions of dozens of packages.

export SAM_CLI_TELEMETRY := 0

venv_sam := .venv-sam/bin
# First on PATH, because SAM needs a python3.13 with pip there, and the Makefiles of the layers use uv and python3.13.
with_sam := PATH="$(CURDIR)/$(venv_sam):$$PATH"
# `sam build` and `sam validate` require a region without using it. `sam deploy` uses the one of the AWS configuration.
any_region := AWS_DEFAULT_REGION="$${AWS_DEFAULT_REGION:-us-east-1}"

e2e_build := .aws-sam/e2e

.venv-sam/.installed: requirements/uv.txt requirements/sam.txt scripts/find-python
	python="$$(scripts/find-python 3.13)" && "$$python" -m venv --clear .venv-sam
	$(venv_sam)/python -m pip install --quiet --require-hashes -r requirements/uv.txt
	$(venv_sam)/uv pip install --quiet --python $(venv_sam)/python --require-hashes -r requirements/sam.txt
	touch $@

# The packages of the managed runtime, and nothing else.
.venv-lambda/.installed: .venv-sam/.installed requirements/runtime.txt
	$(venv_sam)/uv venv --quiet --clear --python $(venv_sam)/python .venv-lambda
	$(venv_sam)/uv pip install --quiet --python .venv-lambda/bin/python --require-hashes -r requirements/runtime.txt
	touch $@

.PHONY: build validate e2e deploy publish local lock-aws

build: .venv-sam/.installed ui-with-npm ## build the deployment package for Lambda (arm64)
	$(with_sam) $(any_region) sam build

# The same build with the packages of this machine, so that it can run here.
.PHONY: build-e2e
build-e2e: .venv-sam/.installed ui
	$(with_sam) $(any_region) TOOLFOLD_PLATFORM=host sam build --build-dir $(e2e_build)

validate: .venv-sam/.installed ## lint the template, as written and as CloudFormation will see it
	$(with_sam) $(any_region) sam validate --lint
	mkdir -p .aws-sam
	$(venv_sam)/python -m tests.support.sam_template template.yaml > .aws-sam/translated.json
	$(venv_sam)/cfn-lint .aws-sam/translated.json $(wildcard deploy/*.yaml)
	$(MAKE) --no-print-directory scan

# checkov has an environment of its own: its pins collide with those of the SAM CLI. It needs no network.
.venv-scan/.installed: .venv-sam/.installed requirements/scanners.txt
	$(venv_sam)/uv venv --quiet --clear --python $(venv_sam)/python .venv-scan
	$(venv_sam)/uv pip install --quiet --python .venv-scan/bin/python --require-hashes -r requirements/scanners.txt
	touch $@

.PHONY: scan
scan: .venv-sam/.installed .venv-scan/.installed ## scan the templates for insecure settings; part of `validate`
	mkdir -p .aws-sam
	$(venv_sam)/python -m tests.support.sam_template template.yaml > .aws-sam/translated.json
	$(venv_sam)/python -m tests.support.combinations > .aws-sam/all.json
	.venv-scan/bin/python -m scripts.scan_template .aws-sam/translated.json .aws-sam/all.json $(wildcard deploy/*.yaml)

e2e: .venv/.dev build build-e2e .venv-lambda/.installed ## run the built package in the Lambda runtime client
	RUN_E2E=1 .venv/bin/python -m pytest -m e2e tests/integration tests/support $(ARGS)

# A stage of samconfig.toml, and the stack that it names; STACK overrides it, for stacks deployed with --stack-name.
STAGE ?= default
stack_of_stage = --stage "$(STAGE)" $(if $(STACK),--stack "$(STACK)")

# The stamp makes CloudFormation publish a version; see GatewayVersion in the template. Old versions may stay if they
# cannot be deleted: the deployment has succeeded by then.
deploy: export DEPLOY_OPTIONS = $(STAGE) $(ARGS)
deploy: build ## deploy to AWS: the first time with ARGS=--guided; STAGE=prod for a stage of samconfig.toml
	$(venv_sam)/python -m scripts.stamp_template .aws-sam/build/template.yaml --also samconfig.toml --options "$$DEPLOY_OPTIONS"
	$(with_sam) sam deploy --config-env "$(STAGE)" $(ARGS)
	-@$(venv_sam)/python -m scripts.lambda_versions prune $(stack_of_stage) --keep 5

.PHONY: versions rollback
versions: .venv-sam/.installed ## list the published versions of the function: make versions STAGE=prod
	@$(venv_sam)/python -m scripts.lambda_versions list $(stack_of_stage)

rollback: .venv-sam/.installed ## serve the version before the current one, or make rollback VERSION=7
	@$(venv_sam)/python -m scripts.lambda_versions rollback $(stack_of_stage) $(if $(VERSION),--version "$(VERSION)")

.PHONY: smoke
smoke: ## check a deployment over HTTP: make smoke ENDPOINT=https://…/mcp (SMOKE_KEY and SMOKE_TOKEN are used if set)
	@test -n "$(ENDPOINT)" || { echo "make smoke ENDPOINT=https://…/mcp; the stack prints it as Endpoint." >&2; exit 2; }
	@$(PYTHON) -m scripts.smoke "$(ENDPOINT)"

publish: .venv/.dev ## make the compiled catalog the current one: make publish TO=s3://BUCKET/catalog
	@test -n "$(TO)" || { echo "make publish TO=s3://BUCKET/catalog; the stack prints BUCKET as CatalogBucketName." >&2; exit 2; }
	@.venv/bin/toolfold catalog publish "$(TO)" $(ARGS)

local: build ## serve the built package on http://127.0.0.1:3000 (needs Docker)
	$(with_sam) $(any_region) sam local start-api $(ARGS)

# What the dependencies layer has is left out of the other layers.
in_dependencies := cffi cryptography idna pycparser typing-extensions

lock-aws: .venv/bin/uv ## pin the packages of the layers and of the AWS tools again
	cd requirements && export UV_CUSTOM_COMPILE_COMMAND="make lock-aws" && \
	compile="../.venv/bin/uv pip compile --quiet --upgrade --generate-hashes --python-version 3.13" && \
	$$compile --python-platform aarch64-manylinux_2_34 --only-binary :all: \
		--no-emit-package botocore --no-emit-package python-dateutil --no-emit-package six lambda.in -o lambda.txt && \
	extra="$$compile --python-platform aarch64-manylinux_2_34 --only-binary :all: -c lambda.txt -c dev.txt \
		$(in_dependencies:%=--no-emit-package %)" && \
	$$extra extras-sources.in -o extras-sources.txt && \
	$$extra extras-scripts.in -o extras-scripts.txt && \
	$$extra -c extras-sources.txt publisher.in -o publisher.txt && \
	$$compile --universal -c uv.txt sam.in -o sam.txt && \
	$$compile --universal -c uv.txt scanners.in -o scanners.txt && \
	$$compile --universal runtime.in -o runtime.txt
