"""The public face of the dumper: PrecisionDebugger, usable through instance and class alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch

from msprobe_core.capture.lifecycle import Service
from msprobe_core.config import Config, read_config
from msprobe_core.errors import LifecycleError
from msprobe_core.report import say
from msprobe_core.torch.pytorch import TorchFramework
from msprobe_core.torch.watch.model_modules import Model

_Result = TypeVar("_Result")


class _OnInstance(Generic[_Result]):
    """A method that called on the class acts on the one debugger that exists."""

    def __init__(self, function: Callable[..., _Result]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(
        self, instance: PrecisionDebugger | None, owner: type[PrecisionDebugger]
    ) -> Callable[..., _Result]:
        target = owner.current if instance is None else instance
        if target is None:
            raise LifecycleError(
                f"PrecisionDebugger.{self._function.__name__} before there is a debugger; "
                "construct PrecisionDebugger(config_path=…) first"
            )
        return partial(self._function, target)


class PrecisionDebugger:
    """Records what a model computes between `start` and `stop`, one folder per step and rank.

    Without a file the L1 statistics of all steps and ranks are recorded; arguments win over the
    file. A second debugger takes the place of the first. Raises ConfigError.
    """

    current: PrecisionDebugger | None = None
    service: Service

    def __init__(
        self,
        config_path: str | Path | None = None,
        task: str | None = None,
        dump_path: str | Path | None = None,
        level: str | None = None,
        step: list[int | str] | None = None,
    ) -> None:
        arguments: dict[str, object] = {
            "task": task,
            "dump_path": None if dump_path is None else str(dump_path),
            "level": level,
            "step": step,
        }
        config = read_config(config_path, **arguments)
        before = type(self).current
        if before is not None and before.service.is_running:
            raise LifecycleError(
                "a second PrecisionDebugger while the first one records; call stop() first"
            )
        if before is not None:
            before.close()
            say(f"a new PrecisionDebugger replaces the first; it writes to {config.dump_path}")
        self._framework = TorchFramework()
        reread = partial(read_config, config_path, **arguments)
        self.service = Service(config, reread, self._framework)
        PrecisionDebugger.current = self

    @property
    def config(self) -> Config:
        """The configuration in force; `dump_path` may be assigned between steps."""
        return self.service.config

    @_OnInstance
    def start(
        self,
        model: Model | None = None,
        token_range: list[int] | None = None,
        rank_id: int | None = None,
        scheduled_tokens: dict[str, Any] | None = None,
        parallel: dict[str, Any] | None = None,
    ) -> None:
        """Begin to record. `model` is needed at levels L0 and mix and with `token_range`.

        `token_range` [first, last] records those calls of the model, `rank_id` names the folder,
        `scheduled_tokens` is kept in dump.json as it is, `parallel` says where the process stands
        among others where torch cannot know. Raises LifecycleError.
        """
        self.service.start(model, token_range, rank_id, scheduled_tokens, parallel)

    @_OnInstance
    def stop(self) -> None:
        """End recording; may be started again in the same step. Gradients are still recorded."""
        self.service.stop()

    @_OnInstance
    def step(self, dump: bool = True) -> None:
        """End the step: its files are completed. `dump=False` ends it without keeping them."""
        self.service.step(dump)

    @_OnInstance
    def set_init_step(self, step: int) -> None:
        """Count steps from this number on; before the first `start`."""
        self.service.set_init_step(step)

    @_OnInstance
    def save(self, variable: object, name: str, save_backward: bool = True) -> None:
        """Record a value and its gradient by a name; opens the step if need be.

        At level debug they are `<name>.<n>.debug` and `<name>_grad.<n>.debug` of debug.json, at
        the others `Debug.<name>.<n>` among the entries of dump.json.
        """
        self.service.save(variable, name, save_backward)

    @_OnInstance
    def register_custom_api(self, module: object, api: str, api_prefix: str | None = None) -> None:
        """Record calls of `module.api` as `<prefix>.<api>`; the prefix is the module's name."""
        self._framework.custom.register(module, api, api_prefix)

    @_OnInstance
    def restore_custom_api(self, module: object, api: str) -> None:
        """Record a registered function no longer."""
        self._framework.custom.unregister(module, api)

    @_OnInstance
    def module_dump(self, module: torch.nn.Module, module_name: str) -> None:
        """Record one module under a name, and nothing inside or beside it, until the end."""
        self.service.module_dump(module, module_name)

    @_OnInstance
    def module_dump_end(self) -> None:
        """Record everything again."""
        self.service.module_dump_end()

    @contextmanager
    def recording(
        self, model: Model | None = None, rank_id: int | None = None
    ) -> Iterator[PrecisionDebugger]:
        """Record the body of a `with` statement as one step."""
        self.service.start(model, None, rank_id, None)
        try:
            yield self
        finally:
            self.service.stop()
            self.service.step(True)

    @_OnInstance
    def close(self) -> None:
        """Complete what is open and leave nothing behind in the process."""
        self.service.close()
        self._framework.close()
        if PrecisionDebugger.current is self:
            PrecisionDebugger.current = None


def module_dump(module: torch.nn.Module, module_name: str) -> None:
    """`PrecisionDebugger.module_dump` of the debugger that exists."""
    PrecisionDebugger.module_dump(module, module_name)


def module_dump_end() -> None:
    """`PrecisionDebugger.module_dump_end` of the debugger that exists."""
    PrecisionDebugger.module_dump_end()


def save(variable: object, name: str, save_backward: bool = True) -> None:
    """`PrecisionDebugger.save` of the debugger that exists."""
    PrecisionDebugger.save(variable, name, save_backward)
