"""Sources that are HTTP APIs: ``adapter`` sends the requests of a ``binding``.

``response_parser`` separates data from failures, ``faults`` finds what a response says, and ``request`` sends a request
and words the failures of connections.
"""
