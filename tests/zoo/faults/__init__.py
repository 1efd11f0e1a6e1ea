"""The seeded bugs, by architecture."""

from __future__ import annotations

from tests.zoo.fault import Fault
from tests.zoo.faults import bert, convolution, gpt, mixture, order, recurrent, vision

FAULTS: dict[str, tuple[Fault, ...]] = {
    "gpt": (*gpt.FAULTS, *order.faults_of("gpt")),
    "bert": (*bert.FAULTS, *order.faults_of("bert")),
    "convolution": (*convolution.FAULTS, *order.faults_of("convolution")),
    "mixture": (*mixture.FAULTS, *order.faults_of("mixture")),
    "recurrent": (*recurrent.FAULTS, *order.faults_of("recurrent")),
    "vision": (*vision.FAULTS, *order.faults_of("vision")),
}
