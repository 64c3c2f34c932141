"""Skills: folders with a SKILL.md, in the format of https://agentskills.io/specification.

``importer`` reads and compiles them, ``files`` finds what belongs to them, ``refresh`` copies them again.
"""
