"""Statements that no source may run: what they would do, by dialect; ``sql_attacks.json`` has them."""

import json
from pathlib import Path

_ATTACKS = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))

POSTGRESQL: dict[str, str] = _ATTACKS["postgresql"]
SQLITE: dict[str, str] = _ATTACKS["sqlite"]

READS_OF_SECRETS = "\n".join(_ATTACKS["reads of secrets"])
"""Places in a statement of PostgreSQL in which a table can be named, each with one that the source leaves out."""
