"""The seeded bugs, by architecture."""

from __future__ import annotations

from evaluation.zoo.fault import Fault
from evaluation.zoo.faults import bert, convolution, gpt, mixture, recurrent, vision
from evaluation.zoo.faults.order import MISPLACED
from evaluation.zoo.faults.twins import faults_of
from evaluation.zoo.faults.unforeseen import UNFORESEEN

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
