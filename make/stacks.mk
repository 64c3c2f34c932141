# The stacks beside that of the gateway, each in a template of deploy/. Included by make/aws.mk. A parameter with the name of an
# output or parameter of the gateway's stack gets its value; others are NAME=VALUE in ARGS.

other_stacks = PYTHONPATH=layers/core $(venv_sam)/python -m scripts.other_stacks --stage "$(STAGE)"

publisher_build = $(with_sam) $(any_region) TOOLFOLD_STAGE="$(filter-out default,$(STAGE))" \
	sam build --template deploy/publisher.yaml --build-dir

.PHONY: monitoring publisher build-publisher-e2e domain waf cognito

monitoring: .venv-sam/.installed ## create alarms, dashboards and queries: make monitoring PAGE=arn:aws:sns:… [NOTICE=arn:…]
	$(other_stacks) monitoring $(if $(PAGE),"PageTopicArn=$(PAGE)") $(if $(NOTICE),"NoticeTopicArn=$(NOTICE)") $(ARGS)

publisher: .venv-sam/.installed ## publish the catalog on a schedule: make publisher SCHEDULE="rate(1 day)"
	$(publisher_build) .aws-sam/publisher
	$(other_stacks) publisher $(if $(SCHEDULE),"PublishSchedule=$(SCHEDULE)") $(ARGS)

# The same build with the packages of this machine, so that it can run here.
build-publisher-e2e: .venv-sam/.installed
	TOOLFOLD_PLATFORM=host $(publisher_build) .aws-sam/publisher-e2e

domain: .venv-sam/.installed ## connect a domain: make domain DOMAIN=mcp.example.com CERTIFICATE=arn:aws:acm:… ZONE=Z…
	$(other_stacks) domain $(if $(DOMAIN),"DomainName=$(DOMAIN)") $(if $(CERTIFICATE),"CertificateArn=$(CERTIFICATE)") \
		$(if $(ZONE),"HostedZoneId=$(ZONE)") $(ARGS)

waf: .venv-sam/.installed ## put a firewall in front of the endpoint (CloudFront and AWS WAF)
	$(other_stacks) waf $(ARGS)

cognito: .venv-sam/.installed ## create an issuer of access tokens: make cognito CALLBACKS=https://claude.ai/api/mcp/auth_callback
	$(other_stacks) cognito $(if $(CALLBACKS),"CallbackUrls=$(CALLBACKS)") $(ARGS)
