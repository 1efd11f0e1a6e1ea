"""The public face of the dumper of PyTorch: PrecisionDebugger, module_dump, save."""

from __future__ import annotations

import torch

from msprobe_core.capture.debugger_methods import Debugger, OnInstance
from msprobe_core.config import Config
from msprobe_core.torch.pytorch import TorchFramework


class PrecisionDebugger(Debugger):
    """Records what a model computes between `start` and `stop`, one folder per step and rank.

    Without a file the L1 statistics of all steps and ranks are recorded; arguments win over the
    file. A second debugger takes the place of the first. Raises ConfigError.
    """

    _framework: TorchFramework

    def _make_framework(self, config: Config) -> TorchFramework:
        return TorchFramework()

    @OnInstance
    def register_custom_api(self, module: object, api: str, api_prefix: str | None = None) -> None:
        """Record calls of `module.api` as `<prefix>.<api>`; the prefix is the module's name."""
        self._framework.custom.register(module, api, api_prefix)

    @OnInstance
    def restore_custom_api(self, module: object, api: str) -> None:
        """Record a registered function no longer."""
        self._framework.custom.unregister(module, api)


def module_dump(module: torch.nn.Module, module_name: str) -> None:
    """`PrecisionDebugger.module_dump` of the debugger that exists."""
    PrecisionDebugger.module_dump(module, module_name)


def module_dump_end() -> None:
    """`PrecisionDebugger.module_dump_end` of the debugger that exists."""
    PrecisionDebugger.module_dump_end()


def save(variable: object, name: str, save_backward: bool = True) -> None:
    """`PrecisionDebugger.save` of the debugger that exists."""
    PrecisionDebugger.save(variable, name, save_backward)
