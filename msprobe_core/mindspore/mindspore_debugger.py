"""The public face of the dumper of MindSpore: PrecisionDebugger, module_dump, save."""

from __future__ import annotations

from typing import Any

from msprobe_core.capture.debugger_methods import Debugger
from msprobe_core.config import Config
from msprobe_core.mindspore.dynamic_graph import MindSporeFramework, check_available


class PrecisionDebugger(Debugger):
    """Records what a model computes between `start` and `stop`, one folder per step and rank.

    Without a file the L1 statistics of all steps and ranks are recorded; arguments win over the
    file. A second debugger takes the place of the first. Raises ConfigError.
    """

    def _make_framework(self, config: Config) -> MindSporeFramework:
        check_available(config)
        return MindSporeFramework()


def module_dump(module: Any, module_name: str) -> None:  # noqa: ANN401
    """`PrecisionDebugger.module_dump` of the debugger that exists."""
    PrecisionDebugger.module_dump(module, module_name)


def module_dump_end() -> None:
    """`PrecisionDebugger.module_dump_end` of the debugger that exists."""
    PrecisionDebugger.module_dump_end()


def save(variable: object, name: str, save_backward: bool = True) -> None:
    """`PrecisionDebugger.save` of the debugger that exists."""
    PrecisionDebugger.save(variable, name, save_backward)
