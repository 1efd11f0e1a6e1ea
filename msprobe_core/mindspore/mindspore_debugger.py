"""The public face of the dumper of MindSpore: PrecisionDebugger, module_dump, save."""

from __future__ import annotations

from typing import Any

from msprobe_core.capture.debugger_methods import Debugger, OnInstance
from msprobe_core.config import Config
from msprobe_core.mindspore.dynamic_graph import MindSporeFramework, check_available
from msprobe_core.mindspore.levels.static_graph import StaticGraphDump


class PrecisionDebugger(Debugger):
    """Records what a model computes between `start` and `stop`, one folder per step and rank.

    Without a file the L1 statistics of all steps and ranks are recorded; arguments win over the
    file. A second debugger takes the place of the first. At level L2 `start`, before the first
    graph is compiled, has MindSpore dump the kernels of static graphs until `close`; `stop` and
    `step` do nothing then. Raises ConfigError.
    """

    _has_kernels = True
    _kernels: StaticGraphDump | None = None

    def _make_framework(self, config: Config) -> MindSporeFramework:
        check_available(config)
        if config.level == "L2":
            self._kernels = StaticGraphDump(config)
        return MindSporeFramework()

    @OnInstance
    def start(
        self,
        model: Any = None,
        token_range: list[int] | None = None,
        rank_id: int | None = None,
        scheduled_tokens: dict[str, Any] | None = None,
        parallel: dict[str, Any] | None = None,
    ) -> None:
        """As of any debugger; at level L2 before the first graph is compiled."""
        if self._kernels is not None:
            self._kernels.start()
        else:
            super().start(model, token_range, rank_id, scheduled_tokens, parallel)

    @OnInstance
    def close(self) -> None:
        """Complete what is open and leave nothing behind in the process."""
        if self._kernels is not None:
            self._kernels.close()
        super().close()


def module_dump(module: Any, module_name: str) -> None:
    """`PrecisionDebugger.module_dump` of the debugger that exists."""
    PrecisionDebugger.module_dump(module, module_name)


def module_dump_end() -> None:
    """`PrecisionDebugger.module_dump_end` of the debugger that exists."""
    PrecisionDebugger.module_dump_end()


def save(variable: object, name: str, save_backward: bool = True) -> None:
    """`PrecisionDebugger.save` of the debugger that exists."""
    PrecisionDebugger.save(variable, name, save_backward)
