"""Training loops that differ in when a gradient is final, each with its own truth in float64.

A program trains four steps and notes at the moment that counts what the gradients are, and by what
they are clipped. Those that a module calls HELD were written when all others agreed.
"""

from tests.msprobe.pytorch.gradient_programs import (
    clippings,
    optimizers,
    parameters,
    scaled,
    steps,
)

PROGRAMS = (
    *steps.PROGRAMS,
    *steps.HELD,
    *clippings.PROGRAMS,
    *clippings.HELD,
    *scaled.PROGRAMS,
    *parameters.PROGRAMS,
    *parameters.HELD,
    *optimizers.PROGRAMS,
    *optimizers.HELD,
)
