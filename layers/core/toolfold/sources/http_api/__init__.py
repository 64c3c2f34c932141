"""Sources that are HTTP APIs: ``adapter`` sends, ``faults`` reads responses, ``transport_errors`` words failures.

Two forms of tools: in ``request`` the simple one, a GET with a parameter that names the function; ``binding`` has
methods, paths, headers and bodies, and ``bound_adapter``, ``authentication`` and ``bound_parser`` belong to it.
"""
