"""Six small architectures, each a whole training experiment that a fault can be put into.

The steps of a computation that faults replace are methods of their own.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from tests.zoo.experiment import Experiment
from tests.zoo.models.bert import bert
from tests.zoo.models.convolution import convolution
from tests.zoo.models.gpt import gpt
from tests.zoo.models.mixture import mixture
from tests.zoo.models.recurrent import recurrent
from tests.zoo.models.vision import vision

ARCHITECTURES: dict[str, Callable[[torch.dtype], Experiment]] = {
    "gpt": gpt,
    "bert": bert,
    "convolution": convolution,
    "mixture": mixture,
    "recurrent": recurrent,
    "vision": vision,
}


def experiment_of(architecture: str, dtype: torch.dtype) -> Experiment:
    """A fresh experiment: one of the six, or a model of transformers, which must be installed."""
    make = ARCHITECTURES.get(architecture)
    if make is None:
        from tests.zoo.hugging_face.models import MODELS

        make = MODELS[architecture]
    return make(dtype)
