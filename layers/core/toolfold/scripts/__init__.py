"""Run scripts in a Python subset, in a process of their own: the interpreter of ``pydantic-monty``, and its limits.

Has no tools: ``meta_tools.tool_script`` answers the calls of a script. Imports ``errors`` only.
"""
