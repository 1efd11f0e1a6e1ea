"""`TrainerMonitorV2`: the second monitor of mindstudio-probe, by its own configuration."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from msprobe.core.monitor_v2.module_rows import ModuleRows, Row
from msprobe.core.monitor_v2.monitor_config import read_config
from msprobe.pytorch.monitor.monitor_tables import Tables
from msprobe.pytorch.monitor.safely import safely
from msprobe.pytorch.monitor.statistics import OPS, measure
from msprobe.pytorch.monitor.watching import ModuleHooks, state_of
from msprobe_core.monitor.forks import leave_to_the_parent
from msprobe_core.report import say
from msprobe_core.torch.gradients.taken import gradient_of, scaling_of, unscaled
from msprobe_core.torch.monitor.followed_steps import FollowedSteps
from msprobe_core.torch.rank import current_rank

_DEFAULT_OPS = ("min", "max", "mean", "norm", "nans")
_STAGE = -1  # a single model, as its tables have always said
_BY_MICRO_STEP = "weight_grad"  # the one monitor whose rows tell the micro-step


class TrainerMonitorV2:
    """Monitors a training. Raises ConfigError, and ValueError for a format it does not write."""

    def __init__(self, path: str | Path, fr: str | None = None) -> None:
        del fr  # PyTorch is what a model says itself
        self.config: Mapping[str, Any] = read_config(path)
        self._step = 0
        self._tables: dict[str, Tables] = {}
        self._ends: list[Callable[[], None]] = []
        self._patched = self._left = False
        self._all_named: list[tuple[str, nn.Parameter]] = []
        self._hooks: ModuleHooks | None = None
        self._of_modules = ModuleRows()
        self._optimizer: Any = None

    def start(
        self,
        model: nn.Module | None = None,
        optimizer: Any = None,  # noqa: ANN401  # optimizers of Megatron and DeepSpeed are none of torch
        grad_acc_steps: int = 1,
    ) -> None:
        """Follow a model and an optimizer, whose steps are counted."""
        wanted = self.config.get("rank", [])
        if wanted and (current_rank() or 0) not in wanted:
            return
        named = [] if model is None else list(model.named_parameters())
        self._all_named = named
        self._optimizer = optimizer
        told = self._of("weight_grad")
        self._micro = int(
            told.get("grad_acc_steps", told.get("micro_batch_number", grad_acc_steps))
        )
        if model is not None and self._is_on("module"):
            self._watch(model)
        self._patched = optimizer is not None and self.config.get("patch_optimizer_step", True)
        if self._patched:
            before, after = (partial(safely, do) for do in (self._before, self._after))
            self._ends.append(FollowedSteps(optimizer, before, after).close)
        leave_to_the_parent(self)

    def step(self) -> None:
        """End a step by hand, where no optimizer is followed."""
        if self._patched:
            say("monitor: the optimizer's steps are counted already; this step() does nothing")
            return
        if self._left:
            return
        safely(self._before, self._optimizer, True)
        safely(self._after, self._optimizer)

    def stop(self) -> None:
        """Write what is left and take all hooks off."""
        safely(self._write_modules)
        for tables in self._tables.values():
            safely(tables.write)
        self._take_off()

    def leave(self) -> None:
        """In a process that was forked: the tables are its parent's."""
        self._tables, self._left = {}, True
        self._take_off()

    def _take_off(self) -> None:
        while self._ends:
            self._ends.pop()()
        # The monitor may outlive the training: it holds none of its memory.
        self._all_named, self._hooks, self._optimizer = [], None, None

    def _watch(self, model: nn.Module) -> None:
        targets = self._of("module").get("targets") or []
        self._hooks = ModuleHooks(
            model,
            lambda name: not targets or any(target in name for target in targets),
            self._take_module,
            lambda name, side, index, _: f"{name}.{_V2_SIDES[side]}.{index}",
            begun=self._of_modules.begin,
        )
        self._ends.append(self._hooks.close)

    def _take_module(self, kind: str, name: str, micro: int, tensor: torch.Tensor) -> None:
        scope = "forward" if kind == "actv" else "backward"
        row = self._row("module", name, scope, tensor)
        if row is not None:
            self._of_modules.add(kind, name, micro, row)

    def _write_modules(self) -> None:
        rows = self._of_modules.take()
        if rows:
            self._add("module", rows)

    @property
    def _named(self) -> list[tuple[str, nn.Parameter]]:
        """The parameters that are trained now: some may be unfrozen later."""
        return [(name, p) for name, p in self._all_named if p.requires_grad]

    def _before(self, optimizer: object, unchanged: bool) -> None:
        scaling = scaling_of(optimizer)
        for name, parameter in self._named:
            gradient = gradient_of(parameter)
            if self._is_on("weight_grad") and gradient is not None:
                gradient = unscaled(gradient, scaling)
                self._take("weight_grad", name, "reduced", gradient)
        if self._is_on("param") and unchanged:
            for name, parameter in self._named:
                self._take("param", name, "param_origin", parameter)

    def _after(self, optimizer: object) -> None:
        if self._is_on("optimizer"):
            for kind in ("exp_avg", "exp_avg_sq"):
                for name, parameter in self._named:
                    state = state_of(optimizer, parameter, kind)
                    if state is not None:
                        self._take("optimizer", f"{name}.{kind}", kind, state)
        if self._is_on("param"):
            for name, parameter in self._named:
                self._take("param", name, "param_updated", parameter)
        if self._hooks is not None:
            self._hooks.end_step()
        self._write_modules()
        step, self._step = self._step, self._step + 1
        for tables in self._tables.values():
            tables.end_step(step)

    def _take(self, monitor: str, name: str, scope: str, tensor: torch.Tensor) -> None:
        row = self._row(monitor, name, scope, tensor)
        if row is not None:
            self._add(monitor, [row])

    def _row(
        self, monitor: str, name: str, scope: str, tensor: torch.Tensor
    ) -> list[object] | None:
        if not self._is_due():
            return None
        eps = float(self._of(monitor).get("eps", 1e-8))
        micro = [self._micro] if monitor == _BY_MICRO_STEP else []
        numbers = measure(tensor, self._asked(monitor), eps)
        return [_STAGE, self._step, name, scope, *micro, *map(float, numbers)]  # type: ignore[arg-type]  # cells of any kind

    def _add(self, monitor: str, rows: Sequence[Row]) -> None:
        tables = self._tables.get(monitor)
        if tables is None:
            per_file = int(self.config.get("step_count_per_record", 1))
            folder = Path(self.config.get("output_dir", "./")) / f"rank_{current_rank() or 0}"
            tables = self._tables[monitor] = Tables(folder, per_file, None)
            tables.name_files("{kind}_step{first}-{last}.csv")
        head = ["micro_step"] if monitor == _BY_MICRO_STEP else []
        header = ["vpp_stage", "step", "module_name", "scope", *head, *self._asked(monitor)]
        tables.add(monitor, header, rows)

    def _asked(self, monitor: str) -> list[str]:
        return [op for op in self._of(monitor).get("ops", _DEFAULT_OPS) if op in OPS]

    def _is_due(self) -> bool:
        config, step = self.config, self._step
        since, every = step - config.get("start_step", 0), config.get("step_interval", 1)
        stopped = config.get("stop_step") is not None and step >= config["stop_step"]
        due = (
            since >= 0 and since % every == 0 and since // every < config.get("collect_times", 1e8)
        )
        return bool(due and not stopped)

    def _is_on(self, monitor: str) -> bool:
        return bool(self._of(monitor).get("enabled", monitor == "module"))

    def _of(self, monitor: str) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.config.get("monitors", {}).get(monitor, {})
        return found


_V2_SIDES = {
    "actv.input": "input",
    "actv.output": "output",
    "actv_grad.input": "grad_input",
    "actv_grad.output": "grad_output",
}
