# Build, check, run and deploy on AWS. Included by the Makefile. The tools have virtual environments of their own, because
# the SAM CLI pins exact versions of dozens of packages.

export SAM_CLI_TELEMETRY := 0

venv_sam := .venv-sam/bin
# botocore and SAM read this one alone; other programs of AWS, and toolfold, read AWS_REGION first.
ifneq ($(AWS_REGION),)
export AWS_DEFAULT_REGION := $(AWS_REGION)
endif
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

.PHONY: image build build-e2e validate scan e2e deploy rollback versions logs store-key outputs publish smoke local verify-account lock-aws

# A stage of samconfig.toml, and the stack that it names; STACK is the name of another one.
STAGE ?= default
stage_and_stack = --stage "$(STAGE)" $(if $(STACK),--stack "$(STACK)")
# The settings are checked with the standard library and the core.
deployment = PYTHONPATH=layers/core $(venv_sam)/python -m scripts.deployment $(stage_and_stack)
of_stage = --config-env "$(STAGE)" $(if $(STACK),--stack-name "$(STACK)")

build: .venv-sam/.installed ui-with-npm ## build the package for Lambda, with the settings of STAGE
	$(with_sam) $(any_region) TOOLFOLD_STAGE="$(filter-out default,$(STAGE))" sam build

# The same build with the packages of this machine, so that it can run here.
build-e2e: .venv-sam/.installed ui
	$(with_sam) $(any_region) TOOLFOLD_PLATFORM=host sam build --build-dir $(e2e_build)

# W1020: SAM replaces the parameters in the descriptions of layers.
validate: .venv-sam/.installed ## lint the template, as written and as CloudFormation will see it
	$(with_sam) $(any_region) sam validate --lint
	mkdir -p .aws-sam
	$(venv_sam)/python -m tests.support.sam_template template.yaml > .aws-sam/translated.json
	$(venv_sam)/cfn-lint --ignore-checks W1020 -- .aws-sam/translated.json $(wildcard deploy/*.yaml)
	$(MAKE) --no-print-directory scan

# checkov has an environment of its own: its pins collide with those of the SAM CLI. It needs no network.
.venv-scan/.installed: .venv-sam/.installed requirements/scanners.txt
	$(venv_sam)/uv venv --quiet --clear --python $(venv_sam)/python .venv-scan
	$(venv_sam)/uv pip install --quiet --python .venv-scan/bin/python --require-hashes -r requirements/scanners.txt
	touch $@

scan: .venv-sam/.installed .venv-scan/.installed ## scan the templates for insecure settings; part of `validate`
	mkdir -p .aws-sam
	$(venv_sam)/python -m tests.support.sam_template template.yaml > .aws-sam/translated.json
	$(venv_sam)/python -m tests.support.sam_template template.yaml all > .aws-sam/all.json
	.venv-scan/bin/checkov --config-file scripts/checkov.yaml $(addprefix --file ,.aws-sam/translated.json .aws-sam/all.json \
		$(wildcard deploy/*.yaml) deploy/terraform/main.tf Dockerfile)
	.venv-scan/bin/hadolint --failure-threshold warning Dockerfile

PLATFORM ?=
image: ## build the container image from the wheel of `make release`: PLATFORM=linux/arm64 (needs Docker)
	docker build $(if $(PLATFORM),--platform $(PLATFORM)) --tag toolfold:$$(sed -n 's/.*= "\(.*\)"/\1/p' layers/core/toolfold/version.py) .

e2e: .venv/.dev build build-e2e build-publisher-e2e .venv-lambda/.installed ## run the built package in the Lambda runtime client
	RUN_E2E=1 .venv/bin/python -m pytest -m e2e tests/integration tests/support $(ARGS)

# SAM keeps the parameters that the stack has and this file does not name. --parameter-overrides replaces those of
# samconfig.toml: the file has them. Old versions may stay if they cannot be deleted: the deployment has succeeded by then.
deploy: .venv-sam/.installed ## deploy to AWS: make deploy [STAGE=prod] [ACCESS=iam|oauth|open] [ISSUER=URL] [KEYS=stored]
	@$(deployment) check --access "$(ACCESS)" --issuer "$(ISSUER)" --keys "$(KEYS)" --write .aws-sam/parameters.yaml
	@$(MAKE) --no-print-directory build
	$(with_sam) sam deploy $(of_stage) --parameter-overrides file://.aws-sam/parameters.yaml $(ARGS)
	-@$(deployment) prune --keep 5

versions: .venv-sam/.installed ## list the published versions of the function
	@$(deployment) versions

rollback: .venv-sam/.installed ## serve the version before, or VERSION=7; VERSION=newest before the next deployment
	@$(deployment) rollback --version "$(VERSION)"

store-key: .venv-sam/.installed ## store the key of a source in Parameter Store; SOURCE=alpha_vantage
	@$(deployment) store-key $(if $(SOURCE),--source "$(SOURCE)")

outputs: .venv-sam/.installed ## print the outputs of the stack
	@$(deployment) outputs

logs: .venv-sam/.installed ## follow the log of the function
	$(with_sam) sam logs $(of_stage) --name GatewayFunction --tail $(ARGS)

smoke: .venv/.dev ## check a deployment: make smoke [STAGE=prod], or ENDPOINT=https://…/mcp [SIGN=region]
	@.venv/bin/python -m scripts.smoke $(if $(ENDPOINT),"$(ENDPOINT)" $(if $(SIGN),--sign "$(SIGN)"),$(stage_and_stack))

# What a catalog may name is what the settings of the deployment allow; those about callers are not for a publication.
publish: .venv/.dev .venv-sam/.installed ## make the compiled catalog the current one
	@to="$(TO)"; [ -n "$$to" ] || to="s3://$$($(deployment) outputs CatalogBucketName)/catalog" && \
	TOOLFOLD_STAGE="$(filter-out default,$(STAGE))" TOOLFOLD_ACCESS=iam \
		.venv/bin/toolfold catalog publish "$$to" --settings settings.toml $(ARGS)

# The packages and the container have the architecture of this machine: another one needs an emulator, and minutes. SAM
# passes on what the template has as a variable, such as ALPHA_VANTAGE_API_KEY.
machine_here := $(shell uname -m | sed s/arm64/aarch64/)
EVENT ?= events/tool-call.json
local: .venv-sam/.installed ## send an event to the built package: make local EVENT=events/tool-call.json (needs Docker)
	$(with_sam) $(any_region) TOOLFOLD_PLATFORM=$(machine_here)-manylinux_2_34 sam build --build-dir .aws-sam/local
	sed -i.arm64 's/^\( *- \)arm64$$/\1$(subst aarch64,arm64,$(machine_here))/' .aws-sam/local/template.yaml
	$(with_sam) $(any_region) sam local invoke GatewayFunction --template .aws-sam/local/template.yaml \
		--event "$(EVENT)" $(ARGS)

verify-account: .venv/.dev .venv-sam/.installed ## deploy, check and delete a stack in your account: ARGS=--plan lists the steps
	@.venv/bin/python -m scripts.verify_account $(ARGS)

# What the dependencies layer has is left out of the other layers.
in_dependencies := cffi cryptography h11 idna pycparser typing-extensions

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
	$$compile --universal runtime.in -o runtime.txt && \
	$$compile --universal -c dev.txt -c lambda.txt -c extras-sources.txt -c runtime.txt container.in -o container.txt

# The stacks of deploy/.
include make/stacks.mk
