"""What the rules of ``toolfold catalog lint`` report."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Finding"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One violation of a rule. ``str()`` is ``file:line: rule: problem; advice``.

    A warning is about a tool whose texts may be generated, or are of others: it does not keep a catalog from being
    published.
    """

    file: str
    line: int
    rule: str
    problem: str
    advice: str
    is_warning: bool = False

    def __str__(self) -> str:
        warning = "warning: " if self.is_warning else ""
        return f"{self.file}:{self.line}: {warning}{self.rule}: {self.problem}; {self.advice}"
