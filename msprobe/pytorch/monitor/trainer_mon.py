"""`TrainerMon`: the monitor of mindstudio-probe (v1) by its own configuration, into its tables.

Where the former one was wrong this one is right: numbers keep significant digits, the optimizer's
state belongs to the step that made it, a gradient that does not exist makes no row, and nothing
that fails here ends the training. `"format": "trend"` writes trends instead.
"""

from __future__ import annotations

import os
import secrets
from datetime import datetime
from pathlib import Path
from typing import Any

import torch
from torch import nn

from msprobe.pytorch.monitor.monitor_settings import read_settings
from msprobe.pytorch.monitor.monitor_tables import Row, Tables
from msprobe.pytorch.monitor.statistics import measure
from msprobe.pytorch.monitor.watching import (
    ModuleHooks,
    around_step,
    gradient_of,
    safely,
    state_of,
)
from msprobe.pytorch.trends import Trends
from msprobe_core.report import say
from msprobe_core.torch.rank import current_rank

_GRADIENTS = ("grad_unreduced", "grad_reduced")
_OUTERMOST = ("layers.", "embedding.", "final_", "output_", "norm.")


class TrainerMon:
    """Monitors a training as its configuration says. Raises ConfigError and TypeError."""

    def __init__(
        self,
        config_file_path: str | Path,
        process_group: object = None,
        params_have_main_grad: bool = True,
        opt_ty: object = None,
    ) -> None:
        del process_group, params_have_main_grad, opt_ty  # each is found out where it matters
        self.settings = read_settings(config_file_path)
        self.ops = self.settings.columns
        self._base = Path(os.environ.get("MONITOR_OUTPUT_DIR", "./monitor_output"))
        self._step = 0
        self._hooks: list[ModuleHooks] = []
        self._rows: dict[str, dict[str, list[Row]]] = {}
        self._trends: Trends | None = None

    def set_monitor(self, model: object, *given: object, **named: object) -> None:
        """Follow a model and its optimizer.

        `optimizer`, `grad_acc_steps`, `tp_group`, `dp_group`, `start_iteration` by name, or in the
        order of the documents or of the code: what is given says itself what it is.
        """
        counts = [one for one in given if type(one) is int]
        optimizer: Any = named.get("optimizer") or next(
            (one for one in given if hasattr(one, "step") and hasattr(one, "param_groups")), None
        )
        self._micro = _count("grad_acc_steps", named.get("grad_acc_steps", (counts or [1])[0]), 1)
        start = named.get("start_iteration", counts[1] if len(counts) > 1 else 0)
        self._step = _count("start_iteration", start, 0)
        parts = [model] if isinstance(model, nn.Module) else list(model)  # type: ignore[call-overload]
        rank = current_rank() or 0
        if self.settings.module_ranks and rank not in self.settings.module_ranks:
            return
        if self.settings.format == "trend":
            shown = "all" if self.settings.xy_distribution else None
            self._trends = Trends(
                self._base, parts, optimizer, activations=shown, start_iteration=self._step
            )
            return
        folder = self._base / f"{_time(self.settings.time)}-rank{rank}-{secrets.token_hex(4)}"
        self._tables = Tables(folder, self.settings.step_count_per_record, self.settings.ndigits)
        for stage, part in enumerate(parts):
            self._watch(stage, part)
        if optimizer is not None:
            around_step(optimizer, self._before, lambda: self._after(optimizer))

    set_wrapped_optimizer = monitor_gnorm_with_ad = set_monitor

    def generate_wgrad_metrics(
        self, post_grad_dict: object = None
    ) -> tuple[dict[str, object], dict[str, object]]:
        """The rows of reduced and unreduced gradients of the open step, by name."""
        del post_grad_dict
        reduced, unreduced = (self._rows.get(kind, {}) for kind in reversed(_GRADIENTS))
        return dict(reduced), dict(unreduced)

    def generate_xy_metrics(self) -> tuple[dict[str, object], dict[str, object]]:
        """The rows of activations and of their gradients of the open step, by name."""
        return dict(self._rows.get("actv", {})), dict(self._rows.get("actv_grad", {}))

    def reload_xy(self, xy_distribution: bool = False) -> None:
        """Does nothing any more, as its name's deprecation said."""

    def _watch(self, stage: int, model: nn.Module) -> None:
        settings = self.settings
        self._named = getattr(self, "_named", [])
        targets = tuple(settings.targets)
        for name, parameter in model.named_parameters():
            if parameter.requires_grad and (not targets or name.startswith(targets)):
                self._named.append((stage, self._shown(name), parameter))
        if settings.wg_distribution:
            for place, name, parameter in self._named:
                take = self._unreduced(place, name)
                parameter.register_post_accumulate_grad_hook(take)
        if settings.xy_distribution:
            directions = [
                direction
                for direction, left_out in (
                    ("forward", settings.backward_only),
                    ("backward", settings.forward_only),
                )
                if not left_out
            ]
            every = not targets or settings.all_xy
            self._hooks.append(
                ModuleHooks(
                    model,
                    lambda name: every or name in targets or f"{stage}:{name}" in targets,
                    lambda kind, name, micro, tensor: self._take(kind, name, tensor, micro, stage),
                    self._module_name,
                    directions,
                )
            )

    def _unreduced(self, stage: int, name: str) -> Any:  # noqa: ANN401  # a hook of torch
        calls = [0]

        def take(parameter: torch.Tensor) -> None:
            calls[0] += 1
            gradient = gradient_of(parameter)
            if calls[0] % self._micro == 0 and gradient is not None:
                safely(self._take, "grad_unreduced", name, gradient, None, stage)

        return take

    def _before(self) -> None:
        for stage, name, parameter in self._named:
            gradient = gradient_of(parameter)
            if self.settings.wg_distribution and gradient is not None:
                self._take("grad_reduced", name, gradient, None, stage)
            if self.settings.param_distribution:
                self._take("param_origin", name, parameter, None, stage)

    def _after(self, optimizer: object) -> None:
        for stage, name, parameter in self._named:
            if self.settings.mv_distribution:
                for kind in ("exp_avg", "exp_avg_sq"):
                    state = state_of(optimizer, parameter, kind)
                    if state is not None:
                        self._take(kind, name, state, None, stage)
            if self.settings.param_distribution:
                self._take("param_updated", name, parameter, None, stage)
        self._end_step()

    def _take(
        self, kind: str, name: str, tensor: torch.Tensor, micro: int | None, stage: int
    ) -> None:
        if self.settings.is_due(self._step):
            place = [stage, name, self._step, *([] if micro is None else [micro])]
            row = [*place, *measure(tensor, self.ops, self.settings.eps)]
            self._rows.setdefault(kind, {}).setdefault(name, []).append(row)

    def _end_step(self) -> None:
        for kind, by_name in self._rows.items():
            rows = [row for rows in by_name.values() for row in rows]
            micro = ["micro_step"] if kind in ("actv", "actv_grad") else []
            if kind == "actv":
                rows = _inputs_before_outputs(by_name)
            elif kind == "actv_grad":
                rows.sort(key=lambda row: row[3])  # type: ignore[arg-type,return-value]
            self._tables.add(kind, ["vpp_stage", "name", "step", *micro, *self.ops], rows)
        self._rows = {}
        for hooks in self._hooks:
            hooks.end_step()
        step, self._step = self._step, self._step + 1
        self._tables.end_step(step)

    def _module_name(self, module: str, side: str, index: int, count: int) -> str:
        end = side.rpartition(".")[2]
        return f"{self._shown(module)}.{end}" + (f"_{index}" if count > 1 else "")

    def _shown(self, name: str) -> str:
        if self.settings.squash_name:
            at = min((i for i in (name.find(part) for part in _OUTERMOST) if i >= 0), default=0)
            return name[at:]
        return name


def _inputs_before_outputs(by_name: dict[str, list[Row]]) -> list[Row]:
    """Module by module, in each of them call by call."""
    modules: dict[str, list[Row]] = {}
    for name, rows in by_name.items():
        modules.setdefault(name.rpartition(".")[0], []).extend(rows)
    return [
        row
        for rows in modules.values()
        for row in sorted(rows, key=lambda row: row[3])  # type: ignore[arg-type,return-value]
    ]


def _count(name: str, value: object, default: int) -> int:
    if type(value) is int:
        return value
    say(f"{name} is {value!r}, not a whole number; {default} is taken")
    return default


def _time(form: str) -> str:
    """The folder's time as it has always been, or with `"time": "iso"` one that has a year."""
    now = datetime.now().astimezone()
    return now.strftime("%Y-%m-%dT%H-%M-%S" if form == "iso" else "%b%d_%H-%M-%S")
