"""What dumper and builder both know of the sketch in a tensor's record; docs/formats.md defines it.

A change of any of these, or of how signs are made, is another version.
"""

from __future__ import annotations

SKETCH_VERSION = 1
PROJECTIONS = 8
LARGEST = 998_244_352.0
"""Floating numbers of this magnitude on, and the largest of their dtype, count as zero: masks.

It is 10⁹ as bfloat16 writes it: a mask of −10⁹ is one in every format, or a run in bfloat16 beside
one in float32 would have a sketch that the mask drowns.
"""

ROW_PROJECTIONS = 4
ROW_NUMBERS = 4 + ROW_PROJECTIONS
"""What is kept of a row, which is what one token has in a value: Max, Min, Mean, Norm, projections.

The signs of its projections are those of the columns of a sketch, without blocks.
"""
