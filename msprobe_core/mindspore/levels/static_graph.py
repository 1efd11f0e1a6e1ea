"""Level L2: has MindSpore dump the kernels of its static graph, by settings of its own.

A static graph runs below Python, so that nothing here sees it: the settings are written to a file,
MindSpore reads it when it compiles the first graph, and writes the values itself. Their keys:
https://www.mindspore.cn/tutorials/en/r2.10.0/debug/dump.html
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

from msprobe_core.config import Config
from msprobe_core.errors import LifecycleError
from msprobe_core.report import say

SETTINGS_FILE = "kernel_kbyk_dump.json"
VARIABLE = "MINDSPORE_DUMP_CONFIG"
_NET = "Net"  # the folder below rank_<r>
_DEVICES = list(range(8))
_SAVED = {"statistics": "statistic"}
_DEBUG_MODES = {"overflow_check": 3, "exception_dump": 4}
_SIDES = {"input": 1, "output": 2}
_STATISTICS = {"statistics": ["max", "min", "avg", "l2norm"], "md5": ["md5"]}


class StaticGraphDump:
    """The settings of one debugger: written once, in force until it is closed."""

    def __init__(self, config: Config) -> None:
        self._config, self._written = config, ""

    def start(self) -> None:
        """Write the settings; before the first graph is compiled. Raises LifecycleError."""
        if self._written or self._config.dump_enable is False:
            return
        import mindspore  # the settings can be made, and tested, without it

        check_device(self._config, str(mindspore.get_context("device_target")))
        folder = Path(self._config.dump_path).absolute()
        file = folder / SETTINGS_FILE
        try:
            folder.mkdir(parents=True, exist_ok=True)
            file.write_text(json.dumps(dump_settings(self._config, folder), indent=4))
        except OSError as error:
            say(f"{file}: {error.strerror or error}; nothing is dumped, the run goes on")
            return
        before = os.environ.get(VARIABLE)
        if before is not None:
            say(f"{VARIABLE} was {before}; it is {file} until the debugger is closed")
        os.environ[VARIABLE] = self._written = str(file)
        say(f"MindSpore dumps the kernels of graphs that it compiles from here on into {folder}")

    def close(self) -> None:
        """Take the settings back: graphs that are compiled later are not dumped."""
        if self._written and os.environ.get(VARIABLE) == self._written:
            del os.environ[VARIABLE]


def dump_settings(config: Config, folder: Path) -> dict[str, dict[str, object]]:
    """MindSpore's settings for what a configuration asks for; `folder` is absolute."""
    sides = [_SIDES[side] for side in config.data_mode & _SIDES.keys()]
    mode = _DEBUG_MODES.get(config.task, 0)
    common: dict[str, object] = {
        "op_debug_mode": mode,
        "dump_mode": int(bool(config.list)),
        "path": str(folder),
        "net_name": _NET,
        # MindSpore dumps exceptions of all iterations, and of kernels that overflow both sides.
        "iteration": "all" if mode == 4 or not config.step else _ranges(config.step),
        "saved_data": _SAVED.get(config.task, "tensor"),
        "input_output": sides[0] if len(sides) == 1 and not mode else 0,
        "kernels": list(config.list),
        "support_device": sorted(config.rank) or _DEVICES,
        "statistic_category": _STATISTICS[config.summary_mode],
    }
    return {
        "common_dump_settings": common,
        "e2e_dump_settings": {"enable": True, "trans_flag": True},
    }


def check_device(config: Config, device: str) -> None:
    """Raise LifecycleError for what MindSpore has on other devices only."""
    if device == "CPU" and config.task != "tensor":
        raise LifecycleError(
            f"level L2 with task {config.task!r}: on CPU MindSpore dumps the tensors of kernels "
            "only; set task 'tensor', or run on Ascend"
        )


def _ranges(numbers: Iterable[int]) -> str:
    """Numbers as MindSpore writes them: `0|5-8|100`."""
    ordered = sorted(numbers)
    begins = [n for n, before in zip(ordered, [None, *ordered]) if before is None or n > before + 1]
    ends = [before for before, n in pairwise(ordered) if n > before + 1] + ordered[-1:]
    return "|".join(str(a) if a == b else f"{a}-{b}" for a, b in zip(begins, ends))
