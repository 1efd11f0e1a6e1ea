"""Puts values of an earlier dump in the place of a run's own ones: `load` and `graft`."""
