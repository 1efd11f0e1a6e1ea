"""`python -m msprobe.cli`: reaches this command line even where another `msprobe` wins."""

import sys

from msprobe.cli import main

sys.exit(main())
