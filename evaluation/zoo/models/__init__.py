"""Six small architectures, each a whole training experiment that a fault can be put into.

The steps of a computation that faults replace are methods of their own.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from evaluation.zoo.experiment import Experiment
from evaluation.zoo.models.bert import bert
from evaluation.zoo.models.convolution import convolution
from evaluation.zoo.models.gpt import gpt
from evaluation.zoo.models.mixture import mixture
from evaluation.zoo.models.recurrent import recurrent
from evaluation.zoo.models.vision import vision

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
        from evaluation.zoo.hugging_face.models import MODELS

        make = MODELS[architecture]
    return make(dtype)
