"""What a debugger of any framework offers to scripts, on the instance and on the class alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar

from msprobe_core.capture.framework import Framework
from msprobe_core.capture.lifecycle import Service
from msprobe_core.config import Config, read_config
from msprobe_core.errors import LifecycleError
from msprobe_core.report import say

_Result = TypeVar("_Result")


class OnInstance(Generic[_Result]):
    """A method that called on the class acts on the one debugger that exists."""

    def __init__(self, function: Callable[..., _Result]) -> None:
        self._function = function
        self.__doc__ = function.__doc__

    def __get__(self, instance: Debugger | None, owner: type[Debugger]) -> Callable[..., _Result]:
        target = owner.current if instance is None else instance
        if target is None:
            raise LifecycleError(
                f"PrecisionDebugger.{self._function.__name__} before there is a debugger; "
                "construct PrecisionDebugger(config_path=…) first"
            )
        return partial(self._function, target)


class Debugger:
    """Records what a model computes between `start` and `stop`; a framework's class inherits it.

    There is one debugger of a framework at a time: `current`.
    """

    current: ClassVar[Any] = None
    _has_kernels: ClassVar[bool] = False  # whether the framework has level L2
    _home: ClassVar[type[Debugger]]
    service: Service
    _framework: Framework

    def __init_subclass__(cls) -> None:
        if Debugger in cls.__bases__:
            cls._home = cls

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
        of_kernels = self._has_kernels
        config = read_config(config_path, of_kernels=of_kernels, **arguments)
        before = self._home.current
        if before is not None and before.service.is_running:
            raise LifecycleError(
                "a second PrecisionDebugger while the first one records; call stop() first"
            )
        if before is not None:
            before.close()
            say(f"a new PrecisionDebugger replaces the first; it writes to {config.dump_path}")
        self._framework = self._make_framework(config)
        reread = partial(read_config, config_path, of_kernels=of_kernels, **arguments)
        self.service = Service(config, reread, self._framework)
        self._home.current = self

    def _make_framework(self, config: Config) -> Framework:
        """The framework that the debugger records."""
        raise LookupError(f"{type(self).__name__} names no framework")

    @property
    def config(self) -> Config:
        """The configuration in force; `dump_path` may be assigned between steps."""
        return self.service.config

    @OnInstance
    def start(
        self,
        model: Any = None,
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

    @OnInstance
    def stop(self) -> None:
        """End recording; may be started again in the same step. Gradients are still recorded."""
        self.service.stop()

    @OnInstance
    def step(self, dump: bool = True) -> None:
        """End the step: its files are completed. `dump=False` ends it without keeping them."""
        self.service.step(dump)

    @OnInstance
    def set_init_step(self, step: int) -> None:
        """Count steps from this number on; before the first `start`."""
        self.service.set_init_step(step)

    @OnInstance
    def save(self, variable: object, name: str, save_backward: bool = True) -> None:
        """Record a value and its gradient by a name; opens the step if need be.

        At level debug they are `<name>.<n>.debug` and `<name>_grad.<n>.debug` of debug.json, at
        the others `Debug.<name>.<n>` among the entries of dump.json.
        """
        self.service.save(variable, name, save_backward)

    @OnInstance
    def module_dump(self, module: Any, module_name: str) -> None:
        """Record one module under a name, and nothing inside or beside it, until the end."""
        self.service.module_dump(module, module_name)

    @OnInstance
    def module_dump_end(self) -> None:
        """Record everything again."""
        self.service.module_dump_end()

    @contextmanager
    def recording(
        self,
        model: Any = None,
        rank_id: int | None = None,
        token_range: list[int] | None = None,
        scheduled_tokens: dict[str, Any] | None = None,
        parallel: dict[str, Any] | None = None,
    ) -> Iterator[Debugger]:
        """Record the body of a `with` statement as one step; the arguments are those of `start`.

        Raises LifecycleError as `start` does.
        """
        self.service.start(model, token_range, rank_id, scheduled_tokens, parallel)
        try:
            yield self
        finally:
            self.service.stop()
            self.service.step(True)

    @OnInstance
    def close(self) -> None:
        """Complete what is open and leave nothing behind in the process."""
        self.service.close()
        self._framework.close()
        if self._home.current is self:
            self._home.current = None
