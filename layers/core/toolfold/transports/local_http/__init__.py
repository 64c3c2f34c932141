"""``toolfold serve``: HTTP on this machine, answered by the Lambda handler. Not in the gateway's layer.

``server`` is uvicorn with its settings and its log, ``protocol`` is what a connection may use and what is accepted as
HTTP, ``asgi`` requests as events of API Gateway.
"""
