"""The three meta-tools TOOL_LIST, TOOL_GET and TOOL_CALL: functions of a catalog and an executor, without a protocol.

``dispatcher`` is the entry, ``definitions`` what clients see of the tools. ``reader`` reads the forms in which models
call them, ``tool_list``, ``tool_get`` and ``plan`` are what they do.
"""
