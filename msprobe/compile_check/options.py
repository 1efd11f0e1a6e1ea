"""How the model is compiled: what the user gives to `torch.compile`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Literal

import torch

from msprobe.errors import CheckError

Run = Callable[..., Any]
Mode = Literal["default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"]


@dataclass(frozen=True, slots=True)
class Compilation:
    """The arguments of `torch.compile`; `dynamic` is None where torch finds out by itself."""

    backend: str | Run = "inductor"
    fullgraph: bool = False
    dynamic: bool | None = None
    mode: Mode | None = None
    keeps_own: bool = True
    """Whether a model that its function has compiled stays as it was compiled there."""

    def by(self, backend: str | Run) -> Compilation:
        """The same by another backend, which takes no mode unless it is inductor."""
        return replace(self, backend=backend, mode=None, keeps_own=False)

    def compiled(self, model: torch.nn.Module) -> Run:
        """The compiled model."""
        if self.mode is not None and self.backend != "inductor":
            raise CheckError(
                f"mode {self.mode} with backend {self.backend}", "only inductor has modes"
            )
        if isinstance(model, torch._dynamo.OptimizedModule):
            if self.keeps_own:
                return model
            model = model._orig_mod
        run: Run = torch.compile(
            model,
            backend=self.backend,
            fullgraph=self.fullgraph,
            dynamic=self.dynamic,
            mode=self.mode,
        )
        return run
