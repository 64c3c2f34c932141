"""``toolfold --endpoint …``: a command that calls the tools of an endpoint instead of those of this machine."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolfold import messages
from toolfold.cli.application import Options
from toolfold.client.answers import to_error
from toolfold.errors import CallError, ToolfoldError
from toolfold.meta_tools.result import Result, error_result

if TYPE_CHECKING:
    from toolfold.client.client import Client

WHOLE_TOKENS = 100_000
"""Limit of an answer for a person; the endpoint has a ceiling of its own."""

_STEPS = {
    "APPROVAL_REQUIRED": messages.ASK_USER,
    "APPROVAL_PENDING": messages.ASK_USER,
    "RATE_LIMITED": messages.WAIT,
    "CLIENT_LIMIT": messages.WAIT,
    "INTERNAL_ERROR": messages.REPORT,
}
"""Code → next step for a person. An endpoint sends its own in words for a model, which are passed on for others."""


class RemoteTools:
    """The meta-tools of an endpoint, as commands use them; a context manager closes the connections."""

    def __init__(self, options: Options) -> None:
        from toolfold.client.client import Client

        token, key = secret_of(options.token_env), secret_of(options.key_env)
        self._client: Client = Client(options.endpoint, token=token, api_key=key, sign=options.sign or "")

    def call(self, name: str, arguments: Mapping[str, Any], *, whole: bool = False) -> Result:
        """Call a meta-tool; an error of the call is a result. TOOL_CALL runs every tool, as on this machine."""
        name = "TOOL_CALL_WRITE" if name == "TOOL_CALL" else name
        given = {"max_tokens": WHOLE_TOKENS, **arguments} if whole else arguments
        try:
            answer = self._client.call_meta_tool(name, given)
        except CallError as error:
            step = _STEPS.get(error.code)
            error = error if step is None else error.changed(next_step=step)
            following = error.details.get("next_call")
            if whole and isinstance(following, Mapping):  # without the limit that was added to the call
                error = error.changed(
                    next_call={
                        name: {key: value for key, value in call.items() if key != "max_tokens"}
                        for name, call in following.items()
                        if isinstance(call, Mapping)
                    }
                )
            return error_result(error)
        errors = [to_error(entry["error"]) for entry in answer.tools if "error" in entry]
        return Result(answer.structured, answer.text, blocks=answer.blocks, errors=errors)

    def __enter__(self) -> RemoteTools:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()


def secret_of(name: str | None) -> str:
    """Return the value of an environment variable; empty for None."""
    if name is None:
        return ""
    value = os.environ.get(name, "").strip()
    if not value:
        raise ToolfoldError(f"The environment variable {name} is not set. Set it to the secret, and run this again.")
    return value
