"""``python -m toolfold``: the command line."""

import sys

from toolfold.cli import main

sys.exit(main())
