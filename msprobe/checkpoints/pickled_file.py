"""Loads what `torch.save` wrote without running any code that the file names.

Classes of libraries that are not allowed by torch (Megatron's enumerations, a configuration) come
back as inert stand-ins, so that no such library has to be importable.
"""

from __future__ import annotations

import argparse
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch

from msprobe.errors import CheckError

_RETRY_WHOLE = "mmap can only be used"


def load(path: Path) -> Any:  # noqa: ANN401 - a pickle holds anything
    """The content of a file; tensors are mapped from disk and take memory only when used.

    Raises CheckError when the file is missing, damaged, or asks for code to be run.
    """
    try:
        with _stand_ins(path):
            return _load(path)
    except (pickle.UnpicklingError, RuntimeError, EOFError, ValueError, KeyError) as error:
        first = " ".join(str(error).split()).partition(".")[0]
        raise CheckError(
            f"{path}: cannot be loaded with weights_only ({first})",
            "save the tensors alone, as a state_dict, or copy the file again",
        ) from error


def _load(path: Path) -> Any:  # noqa: ANN401 - a pickle holds anything
    try:
        return torch.load(path, map_location="cpu", weights_only=True, mmap=True)
    except RuntimeError as error:
        if _RETRY_WHOLE not in str(error):
            raise
    return torch.load(path, map_location="cpu", weights_only=True)  # a file of before torch 1.6


@contextmanager
def _stand_ins(path: Path) -> Iterator[None]:
    serialization = torch.serialization
    if not hasattr(serialization, "get_unsafe_globals_in_checkpoint"):  # before torch 2.6
        yield
        return
    names = [] if not _is_zip(path) else serialization.get_unsafe_globals_in_checkpoint(path)
    classes: list[Callable[..., Any] | tuple[Callable[..., Any], str]] = [
        argparse.Namespace if name == "argparse.Namespace" else _stand_in(name) for name in names
    ]
    with serialization.safe_globals(classes):
        yield


def _is_zip(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(2) == b"PK"


class _StandIn:
    """Takes any arguments and any state, and keeps the text of the arguments."""

    def __new__(cls, *arguments: object, **_: object) -> _StandIn:
        made = super().__new__(cls)
        made.__dict__["arguments"] = arguments
        return made

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def __setstate__(self, state: object) -> None:
        self.__dict__["state"] = state

    def __setitem__(self, key: object, value: object) -> None:
        self.__dict__.setdefault("items", {})[str(key)] = value

    def __hash__(self) -> int:
        return id(self)


def _stand_in(name: str) -> type[_StandIn]:
    module, _, qualified = name.rpartition(".")
    return type(qualified, (_StandIn,), {"__module__": module, "__qualname__": qualified})
