"""Level L2 on Ascend devices: torch_npu itself dumps the kernels of a call.

Its files are those of Ascend's runtime, for Ascend's own tools; nothing here reads them.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

FOLDER = "kernel_dump"
"""Below the folder of a step and rank: a folder for each call, with its name."""
_SETTINGS = "kernel_config.json"


class NpuKernels:
    """The dump of torch_npu, switched on for one call after another; `directory` takes its files.

    The order is the one that its documents ask for: `init_dump`, `set_dump` with a file of
    settings, `finalize_dump`, and the device is waited for at either end, as kernels run later than
    they are launched.
    """

    def __init__(self, npu: Any, directory: Path) -> None:
        self._npu, self._directory = npu, directory

    def begin(self, name: str) -> bool:
        """Have the kernels dumped that run from now on, as those of a call; True."""
        settings = self._settings(name)
        self._npu.synchronize()
        self._npu.init_dump()
        self._npu.set_dump(str(settings))
        return True

    def end(self) -> None:
        """Dump no longer."""
        self._npu.synchronize()
        self._npu.finalize_dump()

    def _settings(self, name: str) -> Path:
        folder = self._directory / FOLDER / name.replace("/", "_")
        folder.mkdir(parents=True, exist_ok=True)
        dump = {"dump_path": str(folder), "dump_list": [], "dump_mode": "all"}
        file = folder / _SETTINGS
        settings = {"dump": {**dump, "dump_op_switch": "on"}}
        file.write_text(json.dumps(settings), encoding="utf-8")
        return file


def npu_kernels(directory: Path) -> NpuKernels | None:
    """The dump of torch_npu where the program has loaded it; None elsewhere."""
    module = sys.modules.get("torch_npu")
    npu = getattr(module, "npu", None)
    return NpuKernels(npu, directory) if hasattr(npu, "init_dump") else None
