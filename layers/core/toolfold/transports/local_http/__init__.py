"""``toolfold serve``: HTTP on this machine, answered as on Lambda. Not in the gateway's layer.

``server`` is uvicorn with its settings and its log, ``connection`` what is accepted as HTTP, and runs the handler.
"""
