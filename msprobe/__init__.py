"""The face that users know: `msprobe.pytorch` records a run, `msprobe.cli` compares two."""

from msprobe.coexistence import warn_of_other

warn_of_other()
