"""What dumper and builder both know of the sketch in a tensor's record; docs/formats.md defines it.

A change of any of these, or of how signs are made, is another version.
"""

from __future__ import annotations

SKETCH_VERSION = 1
PROJECTIONS = 8
LARGEST = 1e9
"""Floating numbers of this magnitude on, and the largest of their dtype, count as zero: masks."""
