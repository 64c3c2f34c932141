"""``toolfold serve``: HTTP on this machine, answered by the Lambda handler. Not in the gateway's layer.

``server`` is uvicorn with its settings, ``protocol`` and ``limits`` what a connection may use, ``connection`` what is
accepted as HTTP, ``asgi`` requests as events of API Gateway, ``log`` its log. May import what ``transports`` may.
"""

__all__ = ["asgi", "connection", "limits", "log", "protocol", "server"]
