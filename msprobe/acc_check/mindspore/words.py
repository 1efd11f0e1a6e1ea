"""MindSpore's arguments in PyTorch's order and under PyTorch's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from msprobe.acc_check.framework import Words

Function = Callable[..., Any]
_KEYWORDS = {
    "axis": "dim",
    "keep_dims": "keepdim",
    "keepdims": "keepdim",
    "input_x": "input",
    "x": "input",
}
_NARROW_INTEGERS = (torch.int32, torch.int16, torch.int8)


@dataclass(frozen=True, slots=True)
class Meaning:
    """PyTorch's name of a function of MindSpore's, and one that takes MindSpore's arguments."""

    api: str
    function: Function

    def words(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Words:
        return Words(self.api, args, {renamed(key): value for key, value in kwargs.items()})


def renamed(keyword: str) -> str:
    """PyTorch's keyword: dim for axis, keepdim for keep_dims."""
    return _KEYWORDS.get(keyword, keyword)


def by_name(function: Function, names: str, **defaults: object) -> Function:
    """A function of PyTorch that is called with MindSpore's arguments.

    `names` are MindSpore's, in its order; `alpha>negative_slope` says that PyTorch has another one.
    `defaults` are MindSpore's where PyTorch has others. None is left out: it stands for nothing in
    either framework.
    """
    tokens = [name.partition(">") for name in names.split()]
    theirs = {ours: other or renamed(ours) for ours, _, other in tokens}
    order = list(theirs.values())

    def called(*args: Any, **kwargs: Any) -> Any:
        named = {theirs.get(key, key): value for key, value in kwargs.items()}
        given = defaults | dict(zip(order, args, strict=False)) | named
        if len(args) > len(order):
            raise TypeError(f"{len(args)} arguments, {len(order)} are known: {names}")
        return function(**{key: value for key, value in given.items() if value is not None})

    return called


def with_keywords(function: Function) -> Function:
    """A function that takes the same arguments in the same order, by PyTorch's keywords."""

    def called(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **{renamed(key): value for key, value in kwargs.items()})

    return called


def with_long_indices(function: Function) -> Function:
    """A function whose indices PyTorch wants as int64, where MindSpore has int32."""

    def called(*args: Any, **kwargs: Any) -> Any:
        return function(*map(_long, args), **{key: _long(each) for key, each in kwargs.items()})

    return called


def _long(value: object) -> object:
    narrow = isinstance(value, torch.Tensor) and value.dtype in _NARROW_INTEGERS
    return value.long() if narrow else value  # type: ignore[attr-defined]  # a tensor where narrow
