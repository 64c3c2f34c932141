"""Skills: folders with a SKILL.md, whose text and files a call returns as data. Nothing in them is executed.

Imports nothing of ``execution``; listed in ``sources.registry``.
"""
