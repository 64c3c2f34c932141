"""The arguments of TOOL_CALL in the documented form: those of the tool, and the options beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from toolfold.errors import InvalidArguments
from toolfold.execution.validation import validator_of
from toolfold.meta_tools.arguments import boolean, correction, invalid, is_blank, quote, whole_number
from toolfold.meta_tools.detail_levels import properties
from toolfold.results.output import MIN_TOKENS, OutputOptions
from toolfold.wording import Text

if TYPE_CHECKING:
    from toolfold.catalog.entries import Tool
    from toolfold.catalog.model import Catalog
    from toolfold.meta_tools.result import MetaRequest
    from toolfold.results.select.grammar import Selection

OPTIONS = ("select", "max_tokens", "fresh", "approval_token", "inspect")
"""Arguments of TOOL_CALL itself, beside the tool's name and its arguments."""


def split_arguments(tool: Tool, arguments: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the tool's arguments and :data:`OPTIONS`.

    Args:
        tool: the tool to call.
        arguments: those of TOOL_CALL in the documented form; ``call_forms`` brings others into it.

    Raises:
        InvalidArguments: ``max_tokens`` is not a whole number above 0, ``fresh`` or ``inspect`` neither true nor
            false, or ``approval_token`` no text.
    """
    options = {name: None if is_blank(arguments.get(name)) else arguments[name] for name in OPTIONS}
    most = options["max_tokens"]
    if most is not None and ((number := whole_number(most)) is None or number < 1):
        raise _invalid_option(arguments, "max_tokens", "a whole number above 0")
    for name in ("fresh", "inspect"):
        if boolean(options[name]) is None:
            raise _invalid_option(arguments, name, "true or false")
    if not isinstance(options["approval_token"], str | None):
        raise _invalid_option(arguments, "approval_token", "the token of APPROVAL_REQUIRED, a text")
    return dict(arguments.get("arguments") or {}), options


def _invalid_option(arguments: Mapping[str, Any], name: str, allowed: str) -> InvalidArguments:
    problem = Text(f"{{{name}}} must be {{allowed}}, not {{given}}")  # the name is a term of its reader
    return invalid(
        "TOOL_CALL",
        problem.filled(allowed=allowed, given=quote(arguments[name])),
        Text(f"Send {{{name}}} as {{allowed}}, or leave it out; nothing was sent.").filled(allowed=allowed),
        **correction("TOOL_CALL", arguments, name),
    )


def may_have_lists(arguments: Mapping[str, Any]) -> bool:
    """Return whether one of ``arguments`` may be several values; see :mod:`toolfold.meta_tools.value_lists`."""
    return any(isinstance(value, list) for value in arguments.values())


def is_raw(catalog: Catalog, tool: Tool, arguments: Mapping[str, Any], parameter: str) -> bool:
    """Return whether a call gives the format parameter of its source, under any name for it."""
    if arguments.get(parameter) is not None or not parameter:
        return bool(parameter)
    validator = validator_of(catalog, tool)
    if arguments.keys() <= validator.properties.keys():
        return False
    from toolfold.execution.argument_repair import rename  # only other names need it

    return rename(validator, arguments).arguments.get(parameter) is not None


def without_redundant_format(tool: Tool, arguments: Mapping[str, Any], parameter: str) -> Mapping[str, Any]:
    """Leave out the format where the tool has one format and no such parameter, and the call names that format."""
    requested = arguments.get(parameter)
    if requested is None or parameter in properties(tool.parameters):
        return arguments
    if str(requested).strip().lower() not in tool.formats:
        return arguments  # reported as an unknown argument
    return {name: value for name, value in arguments.items() if name != parameter}


def parse_select(value: Any) -> Selection | None:
    """Return what ``select`` selects; None: everything."""
    if value is None:
        return None
    from toolfold.results.select import grammar  # compiles its expressions when it is imported

    return grammar.parse_select(value)


def parse_max_tokens(value: Any, default: int) -> int:
    """Return ``max_tokens``, which :func:`split_arguments` has checked."""
    return whole_number(value) or default


def parse_fresh(value: Any) -> bool:
    """Return ``fresh``, which :func:`split_arguments` has checked."""
    return bool(boolean(value))


def output_options(
    request: MetaRequest, max_tokens: Any, select: Selection | None = None, raw_by: str = ""
) -> OutputOptions:
    """Return how an answer is wanted.

    Args:
        request: of the meta-tool.
        max_tokens: as it was given; None or 0: what the settings say.
        select: what is selected; None: everything.
        raw_by: the parameter by which the form of the service is requested; empty: it is not.
    """
    settings = request.executor.settings
    requested = parse_max_tokens(max_tokens, settings.max_tokens)
    most = max(MIN_TOKENS, min(requested, settings.max_tokens_ceiling))
    return OutputOptions(
        raw_by=raw_by,
        select=select,
        max_tokens=most,
        requested_tokens=requested if max_tokens and requested != most else 0,
        save_answer=request.executor.save_answer if settings.offload not in ("", "off") else None,
        whole=request.whole,
    )
