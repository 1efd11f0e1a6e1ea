"""What is followed and how often; wrong fields are answered with the nearest known one."""

from __future__ import annotations

from collections.abc import Collection, Mapping
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
        _check_names("activations", self.activations)
        if not isinstance(self.every, Mapping):
            raise ConfigError(f"every is {self.every!r}", 'give steps by kind, as in {"param": 10}')
        for name, steps in self.every.items():
            if name not in _INTERVALS:
                hint = nearest(name, _INTERVALS)
                raise ConfigError(f"every: there is no {name!r} to be measured", hint)
            check_count(f"every[{name!r}]", steps)
        check_count("keep", self.keep)
        check_count("tie_every", self.tie_every)
        for name in ("local", "zeros", "nonfinite"):
            check_switch(name, getattr(self, name))

    def is_due(self, kind: str, step: int) -> bool:
        """Whether a kind is measured at a step."""
        steps = self.every.get(kind, 0 if kind == ALL_MODULES else 1)
        return steps > 0 and step % steps == 0


def check_count(name: str, value: object) -> None:
    """Raise ConfigError for what is no number of steps."""
    if type(value) is not int or not 0 <= value <= _MOST_STEPS:
        hint = f"give a number of steps, 0 or more (at most {_MOST_STEPS:,})"
        raise ConfigError(f"{name} is {value!r}", hint)


def check_switch(name: str, value: object) -> None:
    """Raise ConfigError for what is neither true nor false."""
    if not isinstance(value, bool):
        raise ConfigError(f"{name} is {value!r}", "give True or False")


def _check_names(name: str, value: object) -> None:
    names = value if isinstance(value, Collection) and not isinstance(value, bytes) else [value]
    if value is not None and not all(isinstance(each, str) for each in names):
        hint = 'give "blocks", "all", names of modules, or None'
        raise ConfigError(f"{name} is {value!r}", hint)


_MOST_STEPS = 10**12
"""More than any training makes, and less than what a series or a queue can count."""
