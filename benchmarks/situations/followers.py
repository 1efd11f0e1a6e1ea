"""Who follows a run: the dumper, graph mode, `Trends` and both monitors, each by the same calls.

Each reads back what it has written and compares the gradients with torch's own.
"""

from __future__ import annotations

import csv
import json
import math
import os
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import nn

from benchmarks.situations.truth import Truth
from builder.series.run import TrendRun
from msprobe.core.monitor_v2.trainer import TrainerMonitorV2
from msprobe.pytorch import TrainerMon, Trends
from msprobe_core import PrecisionDebugger
from msprobe_core.torch.rank import current_rank

_CLOSE = 1e-5
"""Of a norm: float32 is what a gradient's own sum has, and torch's has another order."""
_UNWRAPPED = re.compile(r"\b(_orig_mod|module)\.")


class Follower(Protocol):
    """Follows one run of a situation."""

    def begin(self, model: Any, optimizer: Any) -> None:
        """Before the first step."""

    def start(self, model: Any) -> None:
        """Before each step."""

    def stop(self) -> None:
        """After each step, its optimizer's included."""

    def close(self) -> None:
        """After the last step."""

    def wrong(self, truth: Truth) -> list[str]:
        """Gradients whose written norm is none of torch's."""


class Dumper:
    """`PrecisionDebugger`, eager."""

    def __init__(self, folder: Path, level: str, task: str, start: dict[str, Any]) -> None:
        self.debugger = PrecisionDebugger(level=level, task=task, dump_path=str(folder))
        self._start = start

    def begin(self, model: Any, optimizer: Any) -> None:
        """Nothing: each step begins by itself."""

    def start(self, model: Any) -> None:
        """Record a step."""
        self.debugger.start(model=model, **self._start)

    def stop(self) -> None:
        """Write it."""
        self.debugger.stop()
        self.debugger.step()

    def close(self) -> None:
        """End."""
        self.debugger.close()

    def wrong(self, truth: Truth) -> list[str]:
        """Nothing: a dump has the gradients of each pass, not those that an optimizer takes."""
        return []


class GraphMode(Dumper):
    """`PrecisionDebugger` with `"capture": "graph"` at L0."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, config = folder, folder / "config.json"
        config.write_text(json.dumps({"dump_path": str(folder), "level": "L0", "capture": "graph"}))
        self.debugger, self._start = PrecisionDebugger(config_path=str(config)), {}

    def wrong(self, truth: Truth) -> list[str]:
        """Of parameters whose gradient came once in a step."""
        found: dict[tuple[int, str], list[float]] = {}
        own = f"rank{current_rank()}" if torch.distributed.is_initialized() else "*"
        for path in sorted(self._folder.glob(f"step*/{own}/dump.json")):
            step = int(path.parent.parent.name.removeprefix("step"))
            for name, entry in json.loads(path.read_text(encoding="utf-8"))["data"].items():
                if ".parameters_grad." not in name:
                    continue
                module = name.removeprefix("Module.").rpartition(".parameters_grad.")[0]
                owner = module.rpartition(".")[0]
                for parameter, (value,) in entry.items():
                    found.setdefault((step, f"{owner}.{parameter}"), []).append(value["Norm"])
        once = {key: values[0] for key, values in found.items() if len(values) == 1}
        return _compared(once, truth, must_be_there=False)


class ByTrends:
    """`Trends` at its defaults but for activations of all modules."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._trends = folder / "trends", None

    def begin(self, model: Any, optimizer: Any) -> None:
        """Follow the model and its optimizer."""
        self._trends: Trends | None = Trends(self._folder, model, optimizer, activations="all")

    def start(self, model: Any) -> None:
        """Nothing: steps follow on each other."""

    def stop(self) -> None:
        """A step has ended."""
        assert self._trends is not None
        self._trends.step()

    def close(self) -> None:
        """End."""
        if self._trends is not None:
            self._trends.close()

    def wrong(self, truth: Truth) -> list[str]:
        """Of all parameters."""
        run = TrendRun(self._folder)
        found: dict[tuple[int, str], float] = {}
        for kind, name in (target.key for target in run.targets):
            if kind == "grad":
                # Stages of a pipeline may have parameters of one name.
                own = current_rank() in run.ranks_of((kind, name))
                steps, values = run.line((kind, name), rank=current_rank() if own else None)
                found.update({(int(n), name): float(v) for n, v in zip(steps, values)})
        # Trends leave out what compilers and DDP wrap modules in.
        norms = {(n, _UNWRAPPED.sub("", name)): norm for (n, name), norm in truth.norms.items()}
        return _compared(found, Truth(norms))


class ByTrainerMon:
    """The first monitor, with everything that it measures."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, config = folder / "v1", folder / "v1.json"
        kinds = ("xy", "wg", "mv", "param")
        asked = {f"{kind}_distribution": True for kind in kinds}
        cc = {"cc_distribution": {"enable": torch.distributed.is_initialized()}}
        config.write_text(
            json.dumps({"targets": {}, "ops": ["norm"], "ndigits": 12, **asked, **cc})
        )
        os.environ["MONITOR_OUTPUT_DIR"] = str(self._folder)
        self._monitor = TrainerMon(config)

    def begin(self, model: Any, optimizer: Any) -> None:
        """Follow the model and its optimizer."""
        self._monitor.set_monitor(model, optimizer)

    def start(self, model: Any) -> None:
        """Nothing: the optimizer's steps are counted."""

    def stop(self) -> None:
        """Nothing."""

    def close(self) -> None:
        """Write the rest."""
        self._monitor.close()

    def wrong(self, truth: Truth) -> list[str]:
        """Of all parameters."""
        files = self._folder.glob(f"**/*-rank{current_rank() or 0}-*/**/grad_reduced_*.csv")
        return _compared(_rows(files, "name"), truth)


class ByTrainerMonitorV2(ByTrainerMon):
    """The second monitor, with everything that it measures."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, config = folder / "v2", folder / "v2.json"
        asked = ("module", "weight_grad", "optimizer", "param")
        monitors = {name: {"enabled": True, "ops": ["norm"]} for name in asked}
        config.write_text(
            json.dumps(
                {"framework": "pytorch", "output_dir": str(self._folder), "monitors": monitors}
            )
        )
        self._second = TrainerMonitorV2(config)

    def begin(self, model: Any, optimizer: Any) -> None:
        """Follow the model and its optimizer."""
        if isinstance(model, nn.Module):
            self._second.start(model=model, optimizer=optimizer)

    def close(self) -> None:
        """Write the rest."""
        self._second.stop()

    def wrong(self, truth: Truth) -> list[str]:
        """Of all parameters."""
        files = self._folder.glob(f"**/rank_{current_rank() or 0}/**/weight_grad_*.csv")
        return _compared(_rows(files, "module_name"), truth)


BESIDE: dict[str, Callable[[Path], Follower]] = {
    "graph mode": GraphMode,
    "trends": ByTrends,
    "monitor": ByTrainerMon,
    "monitor v2": ByTrainerMonitorV2,
}
"""Those that every situation is run with beside the dumper."""


def _rows(files: Iterable[Path], name: str) -> dict[tuple[int, str], float]:
    found: dict[tuple[int, str], float] = {}
    for path in files:
        with path.open(newline="", encoding="utf-8") as file:
            for row in csv.DictReader(file):
                found[int(row["step"]), row[name]] = float(row["norm"])
    return found


def _compared(
    found: dict[tuple[int, str], float], truth: Truth, must_be_there: bool = True
) -> list[str]:
    wrong = []
    for (step, name), expected in truth.norms.items():
        value = found.get((step, name))
        if value is None:
            if must_be_there:
                wrong.append(f"step {step}: no gradient of {name}, {expected:.7g} by torch")
        elif not _is_close(value, expected):
            wrong.append(f"step {step}: gradient of {name} {value:.7g}, {expected:.7g} by torch")
    return wrong


def _is_close(value: float, expected: float) -> bool:
    if not math.isfinite(expected):
        return not math.isfinite(value)
    return math.isclose(value, expected, rel_tol=_CLOSE, abs_tol=1e-30)
