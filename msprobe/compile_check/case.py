"""What is checked: a model with the arguments of one call, from a function of the user's."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from msprobe.errors import CheckError

DEFAULT = "compile_check"
"""The function of a file for which no name is given."""


@dataclass(frozen=True, slots=True)
class Case:
    """A model and the arguments of one call of it."""

    model: torch.nn.Module
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def load_case(target: str) -> Callable[[], Case]:
    """What makes the case of `FILE.py[:FUNCTION]` or `PACKAGE.MODULE:FUNCTION`.

    The function takes no arguments and returns the model and the arguments of a call: a tensor, a
    tuple, or a dictionary of keyword arguments. Raises CheckError.
    """
    place, _, name = target.partition(":")
    module = _from_file(Path(place)) if place.endswith(".py") else _imported(place)
    function = getattr(module, name or DEFAULT, None)
    if not callable(function):
        raise CheckError(
            f"{target}: no function {name or DEFAULT!r} in it",
            "write one that returns the model and its arguments, or name another after a colon",
        )
    return lambda: _case(target, function())


def _case(target: str, made: object) -> Case:
    if isinstance(made, tuple) and len(made) == 2 and isinstance(made[0], torch.nn.Module):
        model, given = made
        if isinstance(given, dict):
            return Case(model, (), given)
        return Case(model, given if isinstance(given, tuple) else (given,), {})
    raise CheckError(
        f"{target}: returns {type(made).__name__}",
        "return (model, arguments): a tensor, a tuple, or a dictionary of keyword arguments",
    )


def _from_file(path: Path) -> object:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if not path.is_file() or spec is None or spec.loader is None:
        raise CheckError(f"{path}: no such file", "give FILE.py or PACKAGE.MODULE:FUNCTION")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # pickling and dataclasses look there
    sys.path.insert(0, str(path.parent.absolute()))  # as for a program
    spec.loader.exec_module(module)
    return module


def _imported(name: str) -> object:
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise CheckError(f"{name}: {error}", "give FILE.py or PACKAGE.MODULE:FUNCTION") from error
