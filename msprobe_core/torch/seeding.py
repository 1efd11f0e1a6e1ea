"""Fixes the randomness of a run, so that two runs can be compared at all."""

from __future__ import annotations

import functools
import os
import random
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from msprobe_core.torch.fast_paths import FastPaths, OwnMode
from msprobe_core.torch.randomness import RANDOM_APIS

_DROPOUTS = ("dropout", "dropout2d", "dropout3d")


def seed_all(
    seed: int = 1234, mode: bool = False, rm_dropout: bool = False, is_enhanced: bool = False
) -> None:
    """Seed Python, NumPy and torch on all devices.

    `mode` also asks for deterministic algorithms; left False, the user's own setting stays.
    `rm_dropout` sets p = 0 in dropout functions and in dropout modules made afterwards.
    `is_enhanced` seeds again before each call that draws numbers, so that a call gives the same
    numbers each time it runs.
    """
    os.environ["PYTHONHASHSEED"] = str(seed)
    _seed(seed)
    if mode:
        _be_deterministic()
    if rm_dropout:
        _remove_dropout()
    if is_enhanced:
        FastPaths().start()
        _Reseed(seed).__enter__()  # type: ignore[no-untyped-call]  # torch has no types there
        _reseed_functions(seed)


def _seed(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    npu = getattr(torch, "npu", None)
    if "torch_npu" in sys.modules and npu is not None:
        npu.manual_seed_all(seed)


def _be_deterministic() -> None:
    os.environ["HCCL_DETERMINISTIC"] = "true"
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False


def _remove_dropout() -> None:
    functional = torch.nn.functional
    for name in _DROPOUTS:
        original = getattr(functional, name)
        if not hasattr(original, "_without_p"):
            setattr(functional, name, _without_dropout(original))
    base = torch.nn.modules.dropout._DropoutNd
    if not hasattr(base.__init__, "_without_p"):
        base.__init__ = _init_without_dropout(base.__init__)  # type: ignore[method-assign]  # replaced on purpose


def _without_dropout(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def dropout(input: Any, p: float = 0.0, *args: Any, **kwargs: Any) -> Any:
        return original(input, 0.0, *args, **kwargs)

    dropout._without_p = True  # type: ignore[attr-defined]  # a mark of ours on a function
    return dropout


def _init_without_dropout(original: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(original)
    def initialise(self: Any, p: float = 0.0, inplace: bool = False) -> None:
        original(self, 0.0 if type(self).__name__ in _MODULES else p, inplace)

    initialise._without_p = True  # type: ignore[attr-defined]  # a mark of ours on a function
    return initialise


_MODULES = frozenset({"Dropout", "Dropout2d", "Dropout3d"})


class _Reseed(OwnMode):
    """Seeds torch's generators before each call that draws from them."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._seed = seed

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if getattr(func, "__name__", "") in RANDOM_APIS:
            torch.manual_seed(self._seed)
        return func(*args, **(kwargs or {}))


def _reseed_functions(seed: int) -> None:
    for name in ("random", "uniform", "randint", "choice", "sample", "gauss", "shuffle"):
        setattr(random, name, _reseeded(getattr(random, name), lambda: random.seed(seed)))
    for name in (
        "rand",
        "randn",
        "randint",
        "random",
        "uniform",
        "normal",
        "choice",
        "permutation",
    ):
        original = getattr(np.random, name)
        setattr(np.random, name, _reseeded(original, lambda: np.random.seed(seed)))


def _reseeded(original: Callable[..., Any], reseed: Callable[[], None]) -> Callable[..., Any]:
    inner = getattr(original, "__wrapped__", original)

    @functools.wraps(inner)
    def drawn(*args: Any, **kwargs: Any) -> Any:
        reseed()
        return inner(*args, **kwargs)

    return drawn
