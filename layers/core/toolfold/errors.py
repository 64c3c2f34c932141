"""The errors that toolfold raises, as one tree.

::

    ToolfoldError
    ├── CallError               returned as the result of a meta-tool: code, message, suggestion
    │   ├── ToolNotFound        TOOL_NOT_FOUND       the catalog has no tool of that name
    │   ├── ToolNotExposed      TOOL_NOT_EXPOSED     the tool is described here, and its calls are switched off
    │   ├── ContextMismatch     CONTEXT_MISMATCH     the tool belongs to another context than the connection
    │   ├── WriteNotAllowed     WRITE_NOT_ALLOWED    TOOL_CALL only reads; TOOL_CALL_WRITE changes data
    │   ├── InvalidArguments    INVALID_ARGUMENTS    the arguments cannot work; found by toolfold or by the upstream
    │   ├── AuthRequired        AUTH_REQUIRED        there is no API key; nothing was sent
    │   ├── AuthRejected        AUTH_REJECTED        the upstream does not accept the API key
    │   ├── InsufficientScope   INSUFFICIENT_SCOPE   the caller's access token does not allow this; nothing was sent
    │   ├── ApprovalRequired    APPROVAL_REQUIRED    the call needs approval; has the token to repeat it with
    │   ├── ApprovalPending     APPROVAL_PENDING     a person has not approved the call yet
    │   ├── ApprovalDenied      APPROVAL_DENIED      a person, or the server, does not allow the call
    │   ├── ApprovalUnavailable APPROVAL_UNAVAILABLE approvals cannot be recorded or checked; nothing was sent
    │   ├── RateLimited         RATE_LIMITED         too many calls; says how long to wait when that is known
    │   ├── ClientLimit         CLIENT_LIMIT         the caller has used up what this deployment allows it
    │   ├── PremiumOnly         PREMIUM_ONLY         the plan of the API key does not include this
    │   ├── NoData              NO_DATA              the call is valid, but there is no data for it
    │   ├── UpstreamError       UPSTREAM_ERROR       the upstream failed, or its response cannot be parsed
    │   ├── UpstreamTimeout     UPSTREAM_TIMEOUT     the upstream took too long
    │   ├── SourceChanged       SOURCE_CHANGED       the source has changed the tool since it was described
    │   ├── CallCancelled       CANCELLED            the client has cancelled the call
    │   ├── AnswerTooLarge      ANSWER_TOO_LARGE     the answer is over a limit of size, time or memory
    │   ├── ReferenceNotFound   REFERENCE_NOT_FOUND  a step of a pipe refers to what an earlier one does not have
    │   ├── ScriptSyntax        SCRIPT_SYNTAX        a script cannot be parsed; says in which line
    │   ├── ScriptError         SCRIPT_ERROR         a script ended with an exception; says in which line
    │   ├── ScriptLimit         SCRIPT_LIMIT         a script was stopped at a limit; says at which
    │   ├── ScriptsUnavailable  SCRIPTS_UNAVAILABLE  the package that runs scripts is missing here
    │   ├── CatalogUnavailable  CATALOG_UNAVAILABLE  the catalog is missing, unreadable, or does not match its hash
    │   └── InternalError       INTERNAL_ERROR       a bug in toolfold; only the log has details
    ├── PublishError            the catalog of a deployment was not changed; for commands and the publisher
    │   ├── CatalogRejected     CATALOG_REJECTED     the catalog fails the checks before publication
    │   ├── CatalogDamaged      CATALOG_DAMAGED      an object in the bucket does not match its name
    │   ├── PublishConflict     PUBLISH_CONFLICT     another publisher was faster
    │   ├── VersionNotFound     VERSION_NOT_FOUND    the bucket has no such version, or no version at all
    │   └── BucketUnavailable   BUCKET_UNAVAILABLE   AWS refuses, or cannot be reached
    ├── ProfileNotFound         PROFILE_NOT_FOUND    the path names no profile; over HTTP 404
    ├── NotCached               a call that may be answered from memory alone is not in it; never shown
    ├── IssuerUnavailable       ISSUER_UNAVAILABLE   the issuer of access tokens cannot be reached; over HTTP 503
    ├── SettingsError           an environment variable or option that is not valid
    └── SourceError             a mistake in the YAML of a source, with file and line

Codes are stable: clients may branch on them. The texts of a ``CallError`` are data, which ``toolfold.wording`` words
for a model or a person. None may contain an API key, a path of the server or a traceback.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Self

if TYPE_CHECKING:
    from toolfold.wording import Text

KEY_UNREADABLE = "KEY_UNREADABLE"
KEY_REJECTED = "KEY_REJECTED"
CACHE_UNAVAILABLE = "CACHE_UNAVAILABLE"
ANSWER_NOT_SAVED = "ANSWER_NOT_SAVED"
CATALOG_NOT_REFRESHED = "CATALOG_NOT_REFRESHED"
LIMITS_UNAVAILABLE = "LIMITS_UNAVAILABLE"
"""Codes of failures that fail no call of themselves: an operator has to act, although calls continue."""


class ToolfoldError(Exception):
    """Base of every error that toolfold raises on purpose."""


class CallError(ToolfoldError):
    """A failed call: a code with fields, which is worded where it leaves. Immutable.

    Args:
        problem: what is wrong, in one sentence.
        next_step: what to do now.
        details: further JSON values for the result, e.g. ``retry_after_s=60``.

    Both texts are a :class:`toolfold.wording.Text`, or a string that is the same for a model and for a person.
    """

    code: ClassVar[str]
    problem: str | Text
    next_step: str | Text
    details: Mapping[str, Any]

    def __init__(self, problem: str | Text, next_step: str | Text, **details: Any) -> None:
        super().__init__(problem)
        vars(self).update(problem=problem, next_step=next_step, details=MappingProxyType(details))

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("__"):  # Python sets the traceback and the cause
            raise AttributeError(f"{name}: an error does not change; use changed()")
        super().__setattr__(name, value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CallError) and vars(self) == vars(other) and self.code == other.code

    def __hash__(self) -> int:
        return hash((self.code, self.message))

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

    def as_dict(self) -> dict[str, Any]:
        """Return the ``error`` object of a result, for a model: ``{"code", "message", "suggestion", …details}``."""
        return {"code": self.code, "message": self.message, "suggestion": self.suggestion, **self.details}


class ToolNotFound(CallError):
    """The catalog has no tool of that name."""

    code = "TOOL_NOT_FOUND"


class ToolNotExposed(CallError):
    """The tool is described here, and its calls are switched off."""

    code = "TOOL_NOT_EXPOSED"


class ContextMismatch(CallError):
    """The tool belongs to another context. ``context`` and ``profiles`` in the details say to which."""

    code = "CONTEXT_MISMATCH"


class WriteNotAllowed(CallError):
    """A call that may only read named a tool that changes data."""

    code = "WRITE_NOT_ALLOWED"


class InvalidArguments(CallError):
    """The arguments cannot work."""

    code = "INVALID_ARGUMENTS"


class InvalidSelect(InvalidArguments):
    """The ``select`` of a call cannot be read, or does not fit the answer.

    Args:
        reason: what is wrong with it, without a full stop.
        next_step: what to do now.
        forms: whole selects that may be meant, best first.
        facts: what suggestions are made from: ``unknown`` is a wrong name, ``function`` a wrong function.
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


class AuthRequired(CallError):
    """There is no API key for the source."""

    code = "AUTH_REQUIRED"


class AuthRejected(CallError):
    """The upstream does not accept the API key."""

    code = "AUTH_REJECTED"


class InsufficientScope(CallError):
    """The access token of the caller does not allow this. ``scope`` in the details is what it lacks."""

    code = "INSUFFICIENT_SCOPE"


class ApprovalRequired(CallError):
    """The call needs approval. Details: ``prompt``, ``approval_token`` and ``expires_at``."""

    code = "APPROVAL_REQUIRED"


class ApprovalPending(CallError):
    """A person has not approved the call yet. ``expires_at`` in the details says until when it can be approved."""

    code = "APPROVAL_PENDING"


class ApprovalDenied(CallError):
    """A person has denied the call, or the server allows no such call."""

    code = "APPROVAL_DENIED"


class ApprovalUnavailable(CallError):
    """Approvals cannot be recorded or checked, so the call is refused."""

    code = "APPROVAL_UNAVAILABLE"


class RateLimited(CallError):
    """Too many calls were made with the API key."""

    code = "RATE_LIMITED"


class ClientLimit(CallError):
    """The caller has made as many calls as this deployment allows. ``resets_at`` in the details is when it may go on.

    Not a :class:`RateLimited`: the upstream and its API key have nothing to do with it.
    """

    code = "CLIENT_LIMIT"


class PremiumOnly(CallError):
    """The plan of the API key does not include this."""

    code = "PREMIUM_ONLY"


class NoData(CallError):
    """The call is valid, but there is no data for it."""

    code = "NO_DATA"


class UpstreamError(CallError):
    """The upstream failed, or its response cannot be parsed."""

    code = "UPSTREAM_ERROR"


class UpstreamTimeout(CallError):
    """The upstream took too long."""

    code = "UPSTREAM_TIMEOUT"


class SourceChanged(CallError):
    """The source has changed the tool since its description was read, so a call could mean something else."""

    code = "SOURCE_CHANGED"


class CallCancelled(CallError):
    """The client has cancelled the call. It is logged; no client waits for it."""

    code = "CANCELLED"


class AnswerTooLarge(CallError):
    """The answer is over a limit of size, time or memory."""

    code = "ANSWER_TOO_LARGE"


class ReferenceNotFound(CallError):
    """A step of a pipe refers to what there is not. ``keys`` in the details are those that there are."""

    code = "REFERENCE_NOT_FOUND"


class ScriptSyntax(CallError):
    """A script cannot be parsed. ``line`` in the details says where."""

    code = "SCRIPT_SYNTAX"


class ScriptError(CallError):
    """A script ended with an exception. ``line`` in the details says where."""

    code = "SCRIPT_ERROR"


class ScriptLimit(CallError):
    """A script was stopped. ``limit`` in the details says at which limit."""

    code = "SCRIPT_LIMIT"


class ScriptsUnavailable(CallError):
    """The package that runs scripts is not installed, or cannot be started."""

    code = "SCRIPTS_UNAVAILABLE"


class CatalogUnavailable(CallError):
    """The catalog cannot be read."""

    code = "CATALOG_UNAVAILABLE"


class InternalError(CallError):
    """A bug in toolfold."""

    code = "INTERNAL_ERROR"


CALL_ERRORS: Mapping[str, type[CallError]] = {
    error.code: error
    for error in (
        ToolNotFound,
        ToolNotExposed,
        ContextMismatch,
        WriteNotAllowed,
        InvalidArguments,
        AuthRequired,
        AuthRejected,
        InsufficientScope,
        ApprovalRequired,
        ApprovalPending,
        ApprovalDenied,
        ApprovalUnavailable,
        RateLimited,
        ClientLimit,
        PremiumOnly,
        NoData,
        UpstreamError,
        UpstreamTimeout,
        SourceChanged,
        CallCancelled,
        AnswerTooLarge,
        ReferenceNotFound,
        ScriptSyntax,
        ScriptError,
        ScriptLimit,
        ScriptsUnavailable,
        CatalogUnavailable,
        InternalError,
    )
}
"""Code → class, for the tables of a source that name codes."""


class PublishError(ToolfoldError):
    """The catalog of a deployment was not changed. ``str()`` is the message and the next step.

    Args:
        message: what is wrong, in one sentence.
        suggestion: the next step.
    """

    code: ClassVar[str]

    def __init__(self, message: str, suggestion: str) -> None:
        super().__init__(f"{message} {suggestion}".rstrip())
        self.message = message
        self.suggestion = suggestion


class CatalogRejected(PublishError):
    """The catalog fails the checks before publication."""

    code = "CATALOG_REJECTED"


class CatalogDamaged(PublishError):
    """An object in the bucket does not match its name."""

    code = "CATALOG_DAMAGED"


class PublishConflict(PublishError):
    """Another publisher was faster. ``current_sha256`` is what it published, where that is known."""

    code = "PUBLISH_CONFLICT"

    def __init__(self, message: str, suggestion: str, current_sha256: str = "") -> None:
        super().__init__(message, suggestion)
        self.current_sha256 = current_sha256


class VersionNotFound(PublishError):
    """The bucket has no such version of the catalog, or no version at all."""

    code = "VERSION_NOT_FOUND"


class BucketUnavailable(PublishError):
    """AWS refuses, or cannot be reached. ``aws_code`` is its error code."""

    code = "BUCKET_UNAVAILABLE"

    def __init__(self, message: str, suggestion: str, aws_code: str) -> None:
        super().__init__(message, suggestion)
        self.aws_code = aws_code


class ProfileNotFound(ToolfoldError):
    """A path or an option names a profile that the catalog does not have. Over HTTP it is a 404, no result.

    Args:
        message: what is wrong, in one sentence.
        suggestion: the profiles there are.
        closest: the profile that may be meant; empty: none resembles it.
    """

    code: ClassVar[str] = "PROFILE_NOT_FOUND"

    def __init__(self, message: str, suggestion: str, closest: str = "") -> None:
        super().__init__(f"{message} {suggestion}")
        self.message, self.suggestion, self.closest = message, suggestion, closest


class NotCached(ToolfoldError):
    """The memory of this process has no answer to a call that may be answered from it alone. No client sees it."""


class IssuerUnavailable(ToolfoldError):
    """The issuer of access tokens cannot be reached, so no caller can be checked. Over HTTP it is a 503, no result."""

    code: ClassVar[str] = "ISSUER_UNAVAILABLE"


class SettingsError(ToolfoldError):
    """An environment variable or a command line option that is not valid."""


class SourceError(ToolfoldError):
    """A mistake in a source's YAML. ``str()`` is ``file:line: what is wrong``, one line per mistake."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems
