"""Making an answer fit: from the text an upstream sent to what a model reads. Imports no other room.

``values`` types cells, ``shape`` finds tables, ``render`` writes them. ``select`` reads what part is wanted,
``evaluate`` takes it (with ``cells``, ``functions``, ``paths``). ``preview`` fits what is too long, ``tokens`` measures
it, ``offload`` keeps the whole of it. ``present`` joins them. The type that flows through is
:class:`toolfold.results.tables.Document`.
"""
