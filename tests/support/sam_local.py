"""Print the environment that ``sam local invoke`` gives to a function, as JSON. Runs in the environment of the SAM CLI.

::

    .venv-sam/bin/python -P tests/support/sam_local.py .aws-sam/e2e/template.yaml GatewayFunction

It is what SAM's own runner computes, with resources as their logical ids. -P, because a module beside this one has the
name of one of the standard library.
"""

# mypy: ignore-errors
# The SAM CLI is in an environment of its own.
import json
import sys
from unittest.mock import Mock

from samcli.commands.local.lib.local_lambda import LocalLambdaRunner
from samcli.lib.providers.sam_function_provider import SamFunctionProvider
from samcli.lib.providers.sam_stack_provider import SamLocalStackProvider

template, name = sys.argv[1:]
function = SamFunctionProvider(SamLocalStackProvider.get_stacks(template)[0]).get(name)
runner = LocalLambdaRunner(Mock(), Mock(), ".", None)
json.dump(runner._make_env_vars(function).resolve(), sys.stdout)
