"""One call, from the arguments that a model sent to data or an error that it can read.

``pipeline`` has the steps of a call: it validates the arguments, finds the key, caches and joins calls; ``upstream``
sends them within the ``limits`` and a circuit breaker, and again where that may help. Only ``executor`` and
``credentials`` are imported before the first call.
"""
