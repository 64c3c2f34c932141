"""From the text that an upstream sent to what a model reads: parse, select, shorten, render.

``output`` is the entry; ``parsing``, ``tables`` and ``values`` parse; ``select`` takes a part;
``preview`` shortens; ``render`` writes, ``tokens`` counts, ``offload`` saves what is too long, in S3 or in a folder.
"""
