"""What the three meta-tools mean: pure functions over a catalog and a caller, no protocol and no I/O of their own.

``definitions`` is what a client sees of them, ``tool_list``, ``tool_get`` and ``tool_call`` are what they do,
``dispatch`` joins both. May import ``catalog`` (read side) and ``calling``; the type that flows out is
:class:`toolfold.meta_tools.result.Result`.
"""
