"""``toolfold serve``: HTTP on this machine, answered as on Lambda. Not in the gateway's layer.

``server`` is uvicorn with its settings and its log, ``protocol`` what is accepted as HTTP; ``asgi`` runs the handler.
"""
