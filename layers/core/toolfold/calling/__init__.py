"""One call, from the arguments a model sent to an answer or an error it can read.

``validate`` checks arguments against a tool's schema, ``keys`` finds the API key, ``faults`` reads the upstream's
failures, ``caller`` joins them. May import ``catalog.model``, ``backends`` and ``results``; the type that flows
through is :class:`toolfold.calling.caller.Outcome`.
"""
