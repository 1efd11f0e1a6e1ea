"""Runs named modules on the inputs of an earlier tensor dump: the `load` section.

Their own error then stands alone, freed from what came before. Gradients flow as if the module
had run on its own inputs.
"""

from __future__ import annotations

from typing import Any

from msprobe_core.config import LoadConfig
from msprobe_core.torch.intervene.dumped_values import DumpedValues, item


class Isolation:
    """Finds and loads the inputs. Raises LifecycleError when the dump cannot serve."""

    def __init__(self, config: LoadConfig, step: int, rank: int | None) -> None:
        self._modules = frozenset(config.modules)
        number = step if config.step is None else config.step
        wanted = rank if config.rank is None else config.rank
        self._values = DumpedValues("load", config.path, number, wanted, "tensor")

    @property
    def replaced(self) -> list[dict[str, object]]:
        """What was put in place of an own value, and whether the two were equal."""
        return self._values.replaced

    def concerns(self, path: str) -> bool:
        """Whether a module is to run on loaded inputs."""
        return path in self._modules

    def missing(self, paths: set[str]) -> list[str]:
        """Modules of the section that the model does not have."""
        return sorted(self._modules - paths)

    def replace(self, entry: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments with their tensors replaced; keyword arguments are replaced in place."""
        record = self._values.entries.get(entry)
        if record is None:
            self._values.say(entry, "is not in that dump; it runs on its own inputs")
            return args
        put = self._values.put
        fresh = tuple(
            put(value, item(record.get("input_args"), n), f"{entry}.input.{n}")
            for n, value in enumerate(args)
        )
        for key, value in kwargs.items():
            saved = (record.get("input_kwargs") or {}).get(key)
            kwargs[key] = put(value, saved, f"{entry}.input.{key}")
        return fresh
