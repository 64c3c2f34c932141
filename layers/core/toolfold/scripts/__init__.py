"""Run scripts in a Python subset, in processes of their own: ``meta_tools.tool_script`` answers their calls."""
