"""The meta-tools of a command: those of this machine, or with ``--endpoint`` those of an endpoint."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from toolfold.app import App, build_app
from toolfold.cache.sqlite import check_cache_file
from toolfold.catalog.start_check import check_catalog
from toolfold.cli.application import Options, secret_of
from toolfold.cli.error_text import WHOLE_TOKENS
from toolfold.client.client import Client, to_error
from toolfold.errors import CallError
from toolfold.execution.audit import check_audit_setting
from toolfold.local_defaults import with_local_defaults
from toolfold.meta_tools.dispatcher import MetaTools
from toolfold.meta_tools.result import Result, error_result
from toolfold.settings import Settings


def make_app() -> App:
    """Return the App with the settings of the environment and the defaults of a user's machine."""
    settings = Settings.from_environment()
    check_cache_file(settings)
    check_audit_setting(settings)
    # The ceiling of tokens keeps a model's context small; a person chooses.
    app = build_app(with_local_defaults(settings).replaced(max_tokens_ceiling=sys.maxsize), exposes_all=True)
    check_catalog(settings, app.catalog_store)
    return app


def meta_tools(options: Options) -> MetaTools | RemoteTools:
    """Return the meta-tools of the endpoint that ``options`` name, else those of :func:`make_app`."""
    return RemoteTools(options) if options.endpoint else make_app().server.tools


class RemoteTools:
    """The meta-tools of an endpoint, as commands use them."""

    def __init__(self, options: Options) -> None:
        token, key = secret_of(options.token_env), secret_of(options.key_env)
        self._client = Client(options.endpoint, token=token, api_key=key, sign=options.sign or "")

    def call(self, name: str, arguments: Mapping[str, Any], *, whole: bool = False) -> Result:
        """Call a meta-tool; an error of the call is a result. TOOL_CALL runs every tool, as on this machine."""
        name = "TOOL_CALL_WRITE" if name == "TOOL_CALL" else name
        given = {"max_tokens": WHOLE_TOKENS, **arguments} if whole else arguments
        try:
            answer = self._client.call_meta_tool(name, given)
        except CallError as error:
            return error_result(error)
        errors = [to_error(entry["error"]) for entry in (*answer.tools, *answer.results) if "error" in entry]
        return Result(answer.structured, answer.text, blocks=answer.blocks, errors=errors)
