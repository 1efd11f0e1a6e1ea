"""The seeded bugs, by architecture."""

from __future__ import annotations

from tests.zoo.fault import Fault
from tests.zoo.faults import bert, convolution, gpt, mixture, recurrent, vision
from tests.zoo.faults.order import MISPLACED
from tests.zoo.faults.twins import faults_of
from tests.zoo.faults.unforeseen import UNFORESEEN

TWINS = (*MISPLACED, *UNFORESEEN)
_ALONE = {
    "gpt": gpt.FAULTS,
    "bert": bert.FAULTS,
    "convolution": convolution.FAULTS,
    "mixture": mixture.FAULTS,
    "recurrent": recurrent.FAULTS,
    "vision": vision.FAULTS,
}
FAULTS: dict[str, tuple[Fault, ...]] = {
    name: (*faults, *faults_of(name, TWINS)) for name, faults in _ALONE.items()
}
