"""Skills: folders with a SKILL.md, in the format of https://agentskills.io/specification.

``importer`` compiles them, ``front_matter`` and ``files`` read them, ``refresh`` copies them again.
"""

__all__ = ["files", "front_matter", "importer", "media_types", "refresh"]
