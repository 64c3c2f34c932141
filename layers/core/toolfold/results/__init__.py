"""From the text that an upstream sent to what a model reads: parse, select, shorten, render.

``output`` is the entry; ``tables`` and ``values`` parse, ``select`` takes a part, ``preview`` shortens, ``render``
writes, ``tokens`` counts, ``offload`` saves what is too long. May import ``errors``, ``fuzzy`` and ``aws``.
"""

__all__ = [
    "columns",
    "offload",
    "output",
    "preview",
    "preview_notice",
    "render",
    "select",
    "tables",
    "tokens",
    "values",
]
