"""Sources that are HTTP APIs: ``adapter`` sends the requests of a ``binding``.

``bound_parser`` reads responses by status and content type, ``faults`` failures that are disguised as data, and
``transport_errors`` words those of connections.
"""
