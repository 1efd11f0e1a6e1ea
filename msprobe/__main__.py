"""`python -m msprobe` is the command line."""

import sys

from msprobe.cli import main

sys.exit(main())
