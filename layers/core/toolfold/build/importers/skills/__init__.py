"""Skills: folders with a SKILL.md, in the format of https://agentskills.io/specification.

``importer`` compiles them, ``front_matter`` and ``files`` read them, ``refresh`` copies them again.
"""

from __future__ import annotations

__all__: list[str] = []
