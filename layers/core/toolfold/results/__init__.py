"""From the text that an upstream sent to what a model reads: parse, select, shorten, render.

``output`` is the entry, with ``renderer`` and ``raw_output``; ``parsing``, ``tables`` and ``values`` parse, bounded by
``measure``; ``select`` takes a part; ``preview`` and ``preview_csv`` shorten to ``limits``; ``render`` writes,
``tokens`` counts, ``offload`` saves what is too long, in S3 or in an ``answer_folder``. May import ``budget``,
``redaction``, ``private_folder``, ``errors``, ``fuzzy``, ``text_safety`` and ``aws``.
"""

__all__ = [
    "answer_folder",
    "columns",
    "combined",
    "content_blocks",
    "coverage",
    "joining",
    "limits",
    "measure",
    "offload",
    "output",
    "parsing",
    "preview",
    "preview_csv",
    "preview_notice",
    "raw_output",
    "render",
    "renderer",
    "select",
    "tables",
    "text_output",
    "tokens",
    "values",
]
