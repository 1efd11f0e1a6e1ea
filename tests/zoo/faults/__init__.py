"""The seeded bugs, by architecture."""

from __future__ import annotations

from tests.zoo.fault import Fault
from tests.zoo.faults import bert, convolution, gpt, mixture, recurrent, vision

FAULTS: dict[str, tuple[Fault, ...]] = {
    "gpt": gpt.FAULTS,
    "bert": bert.FAULTS,
    "convolution": convolution.FAULTS,
    "mixture": mixture.FAULTS,
    "recurrent": recurrent.FAULTS,
    "vision": vision.FAULTS,
}
