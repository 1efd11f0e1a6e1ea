"""The face that users know: `msprobe.pytorch` records a run, `msprobe.cli` compares two."""
