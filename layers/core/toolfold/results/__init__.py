"""Making an answer fit: from the text an upstream sent to what a model reads. Imports no other room.

``values`` types cells, ``shape`` finds tables, ``render`` writes them, ``select`` and ``evaluate`` (with ``cells``,
``functions``, ``paths``) take a part, ``preview`` fits what is too long, ``offload`` keeps the whole of it, ``present`` joins them. The type that flows
through is :class:`toolfold.results.shape.Document`.
"""
