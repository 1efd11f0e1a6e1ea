"""What is followed and how often; wrong fields are answered with the nearest known one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from msprobe_core.errors import ConfigError, nearest
from msprobe_core.format.series import TENSOR_KINDS
from msprobe_core.torch.monitor.followed_modules import Activations

ALL_MODULES = "actv_all"
_INTERVALS = (*TENSOR_KINDS, "ratio", ALL_MODULES)


@dataclass(frozen=True, slots=True)
class Settings:
    """How a model is followed.

    `every`: steps between measurements of a kind, 1 unless named; 0 never; `actv_all` measures all
    modules so often. `keep`: all modules of so many last steps wait in memory for an alert.
    `local` writes this rank's pieces instead of global values. `tie_every`: steps between checks
    that replicas agree, 0 for none. `zeros`, `nonfinite`: count them, which costs on CPUs.
    Raises ConfigError.
    """

    activations: Activations = "blocks"
    every: Mapping[str, int] = field(default_factory=dict)
    keep: int = 0
    local: bool = False
    tie_every: int = 16
    zeros: bool = False
    nonfinite: bool = False
    eps: float = 0.0

    def __post_init__(self) -> None:
        for name, steps in self.every.items():
            if name not in _INTERVALS:
                hint = nearest(name, _INTERVALS)
                raise ConfigError(f"every: there is no {name!r} to be measured", hint)
            _check_count(f"every[{name!r}]", steps)
        _check_count("keep", self.keep)
        _check_count("tie_every", self.tie_every)

    def is_due(self, kind: str, step: int) -> bool:
        """Whether a kind is measured at a step."""
        steps = self.every.get(kind, 0 if kind == ALL_MODULES else 1)
        return steps > 0 and step % steps == 0


def _check_count(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ConfigError(f"{name} is {value!r}", "give a number of steps, 0 or more")
