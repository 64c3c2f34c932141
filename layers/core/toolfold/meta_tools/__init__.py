"""The three meta-tools TOOL_LIST, TOOL_GET and TOOL_CALL: functions of a catalog and an executor, without a protocol.

``dispatcher`` is the entry, ``definitions`` what clients see of the tools, ``tool_list``, ``tool_get`` and
``tool_call`` what they do. May import ``catalog`` (its read side), ``execution`` and ``results``.
"""

__all__ = [
    "arguments",
    "call_arguments",
    "catalog_stats",
    "definitions",
    "detail_levels",
    "dispatcher",
    "filters",
    "large_answers",
    "list_request",
    "packing",
    "result",
    "tool_call",
    "tool_get",
    "tool_list",
]
