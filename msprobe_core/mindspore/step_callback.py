"""Records the steps of `Model.train` and `Model.eval`: a callback that starts and ends each one."""

from __future__ import annotations

from typing import Any

from mindspore.train import Callback

from msprobe_core.mindspore.mindspore_debugger import PrecisionDebugger


class MsprobeStep(Callback):
    """A callback for `Model.train`; without a debugger, that of the process records."""

    def __init__(self, debugger: PrecisionDebugger | None = None) -> None:
        super().__init__()
        self._debugger = debugger

    def on_train_step_begin(self, run_context: Any) -> None:
        """Begin to record the network that is trained."""
        self._begin(run_context)

    def on_train_step_end(self, run_context: Any) -> None:
        """End the step."""
        self._end()

    def on_eval_step_begin(self, run_context: Any) -> None:
        """Begin to record the network that is evaluated."""
        self._begin(run_context)

    def on_eval_step_end(self, run_context: Any) -> None:
        """End the step."""
        self._end()

    def _begin(self, run_context: Any) -> None:
        told = run_context.original_args()
        network = getattr(told, "train_network", None) or told.network
        (self._debugger or PrecisionDebugger).start(network)

    def _end(self) -> None:
        debugger = self._debugger or PrecisionDebugger
        debugger.stop()
        debugger.step()
