"""The errors that toolfold raises.

A :class:`CallError` is returned as the result of a meta-tool, a :class:`PublishError` concerns the catalog of a
deployment, and the others end a command or a request.

Codes are stable: clients may branch on them. The texts of a ``CallError`` are data, which ``toolfold.wording`` words
for a model or a person. None may contain an API key, a path of the server or a traceback.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, ClassVar, Self

from toolfold.wording import MODEL, Reader, Text, worded

KEY_UNREADABLE = "KEY_UNREADABLE"
KEY_REJECTED = "KEY_REJECTED"
CACHE_UNAVAILABLE = "CACHE_UNAVAILABLE"
ANSWER_NOT_SAVED = "ANSWER_NOT_SAVED"
CATALOG_NOT_REFRESHED = "CATALOG_NOT_REFRESHED"
LIMITS_UNAVAILABLE = "LIMITS_UNAVAILABLE"
"""Codes of failures that fail no call of themselves: an operator has to act, although calls continue."""


class ToolfoldError(Exception):
    """Base of every error that toolfold raises on purpose. ``code`` is that of the class, where it has one."""

    code: ClassVar[str]

    def __init_subclass__(cls, code: str = "") -> None:
        if code:
            cls.code = code


CALL_ERRORS: dict[str, type[CallError]] = {}
"""Code → class, for the tables of a source that name codes."""


class CallError(ToolfoldError):
    """A failed call: a code with fields, which is worded where it leaves. Immutable.

    Args:
        problem: what is wrong, in one sentence.
        next_step: what to do now.
        details: further JSON values for the result, e.g. ``retry_after_s=60``.

    Both texts are a :class:`toolfold.wording.Text`, or a string that is the same for a model and for a person.
    """

    problem: str | Text
    next_step: str | Text
    details: Mapping[str, Any]

    def __init_subclass__(cls, code: str = "") -> None:
        super().__init_subclass__(code)
        if code:
            CALL_ERRORS[code] = cls

    def __init__(self, problem: str | Text, next_step: str | Text, **details: Any) -> None:
        super().__init__(problem)
        vars(self).update(problem=problem, next_step=next_step, details=MappingProxyType(details))

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("__"):  # Python sets the traceback and the cause
            raise AttributeError(f"{name}: an error does not change; use changed()")
        super().__setattr__(name, value)

    def __reduce__(self) -> tuple[Any, ...]:  # for another process, as pools of workers and test runners send it
        texts = {"problem": self.message, "next_step": self.suggestion}
        return type(self).__new__, (type(self), self.message), {**vars(self), **texts, "details": dict(self.details)}

    def __setstate__(self, state: Any) -> None:
        vars(self).update({**state, "details": MappingProxyType(state["details"])})

    @property
    def message(self) -> str:
        """What is wrong, for a model."""
        return str(self.problem)

    @property
    def suggestion(self) -> str:
        """The next step, for a model."""
        return str(self.next_step)

    def changed(
        self, *, problem: str | Text | None = None, next_step: str | Text | None = None, **details: Any
    ) -> Self:
        """Return a copy with other texts and further details; None removes a detail. The cause is the same."""
        copy = type(self).__new__(type(self))
        changed = {name: value for name, value in {**self.details, **details}.items() if value is not None}
        vars(copy).update(vars(self), details=MappingProxyType(changed))
        vars(copy).update({} if problem is None else {"problem": problem})
        vars(copy).update({} if next_step is None else {"next_step": next_step})
        Exception.__setattr__(copy, "args", (copy.problem,))
        copy.__cause__, copy.__suppress_context__ = self.__cause__, self.__suppress_context__
        return copy

    def as_dict(self, reader: Reader | None = None) -> dict[str, Any]:
        """Return the ``error`` object of a result: ``{"code", "message", "suggestion", …details}``.

        ``reader``: the model that reads it; None: one whose client lists the meta-tools.
        """
        reader = reader or MODEL
        texts = {"message": worded(self.problem, reader), "suggestion": worded(self.next_step, reader)}
        details = dict(self.details)
        if "next_call" in details:
            ((tool, arguments),) = details["next_call"].items()
            if (call := reader.proposed(tool, arguments)) is None:
                del details["next_call"]
            else:
                details["next_call"] = dict([call])
        return {"code": self.code, **texts, **details}


class ToolNotFound(CallError, code="TOOL_NOT_FOUND"):
    """The catalog has no tool of that name."""


class ToolNotExposed(CallError, code="TOOL_NOT_EXPOSED"):
    """The tool is described here, and its calls are switched off."""


class ContextMismatch(CallError, code="CONTEXT_MISMATCH"):
    """The tool belongs to another context. ``context`` and ``profiles`` in the details say to which."""


class WriteNotAllowed(CallError, code="WRITE_NOT_ALLOWED"):
    """A call that may only read named a tool that changes data."""


class InvalidArguments(CallError, code="INVALID_ARGUMENTS"):
    """The arguments cannot work."""


class InvalidSelect(InvalidArguments):
    """The ``select`` of a call cannot be read, or does not fit the answer.

    Args:
        reason: what is wrong with it, without a full stop.
        next_step: what to do now.
        forms: whole selects that may be meant, best first.
        facts: what suggestions are made from: ``unknown`` is a wrong name, ``replaces`` expressions and other texts.
        details: further JSON values for the result.
    """

    reason: str
    forms: tuple[str, ...]
    facts: Mapping[str, Any]

    def __init__(
        self,
        reason: str,
        next_step: str | Text,
        forms: tuple[str, ...] = (),
        facts: Mapping[str, Any] = MappingProxyType({}),
        **details: Any,
    ) -> None:
        super().__init__(f"select: {reason}.", next_step, **details)
        vars(self).update(reason=reason, forms=forms, facts=facts)


class AuthRequired(CallError, code="AUTH_REQUIRED"):
    """There is no API key for the source."""


class AuthorizationRequired(CallError, code="AUTHORIZATION_REQUIRED"):
    """The user has to sign in at the source. ``authorization_url`` in the details is the page, where there is one."""


class AuthRejected(CallError, code="AUTH_REJECTED"):
    """The upstream does not accept the API key."""


class InsufficientScope(CallError, code="INSUFFICIENT_SCOPE"):
    """The access token of the caller does not allow this. ``scope`` in the details is what it lacks."""


class ApprovalRequired(CallError, code="APPROVAL_REQUIRED"):
    """The call needs approval. Details: ``prompt``, ``approval_token`` and ``expires_at``."""


class ApprovalPending(CallError, code="APPROVAL_PENDING"):
    """A person has not approved the call yet. ``expires_at`` in the details says until when it can be approved."""


class ApprovalDenied(CallError, code="APPROVAL_DENIED"):
    """A person has denied the call, or the server allows no such call."""


class ApprovalUnavailable(CallError, code="APPROVAL_UNAVAILABLE"):
    """Approvals cannot be recorded or checked, so the call is refused."""


class RateLimited(CallError, code="RATE_LIMITED"):
    """Too many calls were made with the API key."""


class ClientLimit(CallError, code="CLIENT_LIMIT"):
    """The caller has made as many calls as this deployment allows. ``resets_at`` in the details is when it may go on.

    Not a :class:`RateLimited`: the upstream and its API key have nothing to do with it.
    """


class PremiumOnly(CallError, code="PREMIUM_ONLY"):
    """The plan of the API key does not include this."""


class NoData(CallError, code="NO_DATA"):
    """The call is valid, but there is no data for it."""


class UpstreamError(CallError, code="UPSTREAM_ERROR"):
    """The upstream failed, or its response cannot be parsed."""


class UpstreamTimeout(CallError, code="UPSTREAM_TIMEOUT"):
    """The upstream took too long."""


class SourceChanged(CallError, code="SOURCE_CHANGED"):
    """The source has changed the tool since its description was read, so a call could mean something else."""


class CallCancelled(CallError, code="CANCELLED"):
    """The client has cancelled the call. It is logged; no client waits for it."""


class AnswerTooLarge(CallError, code="ANSWER_TOO_LARGE"):
    """The answer is over a limit of size, time or memory."""


ASK_FOR_LESS = "Ask for less: a shorter period, fewer symbols, or a simpler select."
"""The next step where the source of the answer has no better one."""


class ReferenceNotFound(CallError, code="REFERENCE_NOT_FOUND"):
    """A step of a pipe refers to what there is not. ``keys`` in the details are those that there are."""


class ScriptSyntax(CallError, code="SCRIPT_SYNTAX"):
    """A script cannot be parsed. ``line`` in the details says where."""


class ScriptError(CallError, code="SCRIPT_ERROR"):
    """A script ended with an exception. ``line`` in the details says where."""


class ScriptLimit(CallError, code="SCRIPT_LIMIT"):
    """A script was stopped. ``limit`` in the details says at which limit."""


class ScriptsUnavailable(CallError, code="SCRIPTS_UNAVAILABLE"):
    """The package that runs scripts is not installed, or cannot be started."""


class CatalogUnavailable(CallError, code="CATALOG_UNAVAILABLE"):
    """The catalog cannot be read."""


class InternalError(CallError, code="INTERNAL_ERROR"):
    """A bug in toolfold."""


class PublishError(ToolfoldError):
    """The catalog of a deployment was not changed. ``str()`` is the message and the next step.

    Args:
        message: what is wrong, in one sentence.
        suggestion: the next step.
        detail: what a class says that it is; empty: not known.
    """

    def __init__(self, message: str, suggestion: str, detail: str = "") -> None:
        super().__init__(f"{message} {suggestion}".rstrip())
        self.message, self.suggestion, self.detail = message, suggestion, detail


class CatalogRejected(PublishError, code="CATALOG_REJECTED"):
    """The catalog fails the checks before publication."""


class CatalogDamaged(PublishError, code="CATALOG_DAMAGED"):
    """An object in the bucket does not match its name."""


class PublishConflict(PublishError, code="PUBLISH_CONFLICT"):
    """Another publisher was faster. ``detail`` is the SHA-256 of what it published, where that is known."""


class BucketUnavailable(PublishError, code="BUCKET_UNAVAILABLE"):
    """AWS refuses, or cannot be reached. ``detail`` is its error code."""


class ProfileNotFound(ToolfoldError, code="PROFILE_NOT_FOUND"):
    """A path or an option names a profile that the catalog does not have. Over HTTP it is a 404, no result.

    Args:
        message: what is wrong, in one sentence.
        suggestion: the profiles there are.
        closest: the profile that may be meant; empty: none resembles it.
    """

    def __init__(self, message: str, suggestion: str, closest: str = "") -> None:
        super().__init__(f"{message} {suggestion}")
        self.message, self.suggestion, self.closest = message, suggestion, closest


class NotCached(ToolfoldError):
    """The memory of this process has no answer to a call that may be answered from it alone. No client sees it."""


class IssuerUnavailable(ToolfoldError, code="ISSUER_UNAVAILABLE"):
    """The issuer of access tokens cannot be reached, so no caller can be checked. Over HTTP it is a 503, no result."""


class SettingsError(ToolfoldError):
    """An environment variable or a command line option that is not valid."""


class SourceError(ToolfoldError):
    """A mistake in a source's YAML. ``str()`` is ``file:line: what is wrong``, one line per mistake."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems
