"""Every error a caller of toolfold can meet, as one tree.

::

    ToolfoldError
    ├── CallError                 becomes an answer of TOOL_CALL: code, message, suggestion
    │   ├── ToolNotFound          TOOL_NOT_FOUND       no tool of that name in the catalog
    │   ├── InvalidArguments      INVALID_ARGUMENTS    arguments that cannot work, found before or by the upstream
    │   ├── AuthRequired          AUTH_REQUIRED        no API key at hand; nothing was sent
    │   ├── AuthRejected          AUTH_REJECTED        the upstream does not accept the key
    │   ├── RateLimited           RATE_LIMITED         too many calls; says how long to wait when that is known
    │   ├── PremiumOnly           PREMIUM_ONLY         the key's plan does not include this
    │   ├── NoData                NO_DATA              a valid call with nothing to return
    │   ├── UpstreamError         UPSTREAM_ERROR       the upstream is down, or its answer is no answer
    │   ├── UpstreamTimeout       UPSTREAM_TIMEOUT     the upstream took too long
    │   ├── CatalogUnavailable    CATALOG_UNAVAILABLE  the catalog is missing, unreadable or not what its hash says
    │   └── InternalError         INTERNAL_ERROR       a defect of toolfold; details are in its log only
    ├── SettingsError             an environment variable or option that makes no sense
    └── SourceError               a mistake in the YAML of a source, with file and line

Codes are stable: clients may branch on them. ``message`` is one sentence, ``suggestion`` the next step. Neither may
ever carry an API key, a path of the server or a traceback.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

TRY_AGAIN = "Try again in a moment; if it keeps failing, tell the user that the service is down."
"""The next step after an answer of the upstream's that is none."""


class ToolfoldError(Exception):
    """Base of every error that toolfold raises on purpose."""


class CallError(ToolfoldError):
    """A call that ends in an error the model can read.

    ``details`` are further JSON values for the answer, e.g. ``{"retry_after_s": 60}``; they come after code, message
    and suggestion in :meth:`as_dict`.
    """

    code: ClassVar[str]

    def __init__(self, message: str, suggestion: str, **details: Any) -> None:
        super().__init__(message)
        self.message = message
        self.suggestion = suggestion
        self.details: Mapping[str, Any] = details

    def as_dict(self) -> dict[str, Any]:
        """The ``error`` object of an answer: ``{"code", "message", "suggestion", …details}``."""
        return {"code": self.code, "message": self.message, "suggestion": self.suggestion, **self.details}


class ToolNotFound(CallError):
    code = "TOOL_NOT_FOUND"


class InvalidArguments(CallError):
    code = "INVALID_ARGUMENTS"


class AuthRequired(CallError):
    code = "AUTH_REQUIRED"


class AuthRejected(CallError):
    code = "AUTH_REJECTED"


class RateLimited(CallError):
    code = "RATE_LIMITED"


class PremiumOnly(CallError):
    code = "PREMIUM_ONLY"


class NoData(CallError):
    code = "NO_DATA"


class UpstreamError(CallError):
    code = "UPSTREAM_ERROR"


class UpstreamTimeout(CallError):
    code = "UPSTREAM_TIMEOUT"


class CatalogUnavailable(CallError):
    code = "CATALOG_UNAVAILABLE"


class InternalError(CallError):
    code = "INTERNAL_ERROR"


CALL_ERRORS: Mapping[str, type[CallError]] = {
    error.code: error
    for error in (
        ToolNotFound,
        InvalidArguments,
        AuthRequired,
        AuthRejected,
        RateLimited,
        PremiumOnly,
        NoData,
        UpstreamError,
        UpstreamTimeout,
        CatalogUnavailable,
        InternalError,
    )
}
"""Code → class, for tables that name codes (the faults of a source)."""


class SettingsError(ToolfoldError):
    """An environment variable or command line option that makes no sense."""


class SourceError(ToolfoldError):
    """A mistake in a source's YAML. ``str()`` is ``file:line: what is wrong``, one line per mistake."""

    def __init__(self, problems: list[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems
