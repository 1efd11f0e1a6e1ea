"""Fixes the randomness of a run, so that two runs can be compared at all."""

from __future__ import annotations

import os
import random
from typing import Any

import mindspore
import numpy as np
from mindspore import mint, nn, ops

_DROPOUTS = ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d")
_FUNCTIONS = ("dropout", "dropout1d", "dropout2d", "dropout3d")


def seed_all(seed: int = 1234, mode: bool = False, rm_dropout: bool = False) -> None:
    """Seed Python, NumPy and MindSpore.

    `mode` also asks for deterministic kernels; left False, the user's own setting stays.
    `rm_dropout` sets p = 0 in dropout functions and in dropout cells made afterwards.
    """
    os.environ["PYTHONHASHSEED"] = str(seed)
    random.seed(seed)
    np.random.seed(seed)
    mindspore.set_seed(seed)
    if mode:
        os.environ["HCCL_DETERMINISTIC"] = "true"
        mindspore.set_deterministic(True)
    if rm_dropout:
        _remove_dropout()


def _remove_dropout() -> None:
    for space in (nn, mint.nn):
        for name in _DROPOUTS:
            kind = getattr(space, name, None)
            if kind is not None and not hasattr(kind.__init__, "_without_p"):
                kind.__init__ = _initialised_without_p(kind.__init__)
    for space in (ops, mint.nn.functional):
        for name in _FUNCTIONS:
            function = getattr(space, name, None)
            if function is not None and not hasattr(function, "_without_p"):
                setattr(space, name, _called_without_p(function))


def _initialised_without_p(original: Any) -> Any:
    def initialise(self: Any, *args: Any, **kwargs: Any) -> None:
        kwargs = {key: value for key, value in kwargs.items() if key not in ("p", "keep_prob")}
        original(self, p=0.0, **kwargs)

    initialise._without_p = True  # type: ignore[attr-defined]  # a mark of ours on a function
    return initialise


def _called_without_p(original: Any) -> Any:
    def dropout(input: Any, p: float = 0.0, *args: Any, **kwargs: Any) -> Any:
        return original(input, 0.0, *args, **kwargs)

    dropout._without_p = True  # type: ignore[attr-defined]  # a mark of ours on a function
    return dropout
