"""A program as an adapter sees it: its model, and its steps to run one by one."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


@dataclass(slots=True)
class Program:
    """A script that was loaded and built; the adapter runs its steps and records what it likes."""

    model: torch.nn.Module
    count: int
    run: Callable[[int], Any]
    results: list[torch.Tensor] = field(default_factory=list)

    def steps(self) -> Iterator[Callable[[], Any]]:
        """Each step as a function without arguments; call it once before taking the next."""
        import torch  # not above: adapters name this class, and answers need no torch

        for number in range(self.count):

            def step(number: int = number) -> object:
                result = self.run(number)
                self.results.append(torch.as_tensor(result).detach().clone())
                return result

            yield step


def load(path: Path, steps: int) -> Program:
    """Import a script under the name of its file, and build it."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    state = module.build()
    return Program(state[0], steps, lambda number: module.step(number, *state))
