"""`TrainerMon`: the monitor of mindstudio-probe (v1) by its own configuration, into its tables.

Where the former one was wrong this one is right: numbers keep significant digits, the optimizer's
state belongs to the step that made it, a gradient that does not exist makes no row, and nothing
that is asked for or fails here ends the training. `"format": "trend"` writes trends instead.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

from msprobe.pytorch.monitor.alert_rules import FOLDER, Place, RuleWatch
from msprobe.pytorch.monitor.following import Following
from msprobe.pytorch.monitor.monitor_settings import MonitorSettings, read_settings
from msprobe.pytorch.monitor.monitor_tables import Row, Tables
from msprobe.pytorch.monitor.output_folder import output_folder
from msprobe.pytorch.monitor.safely import safely
from msprobe.pytorch.monitor.statistics import measure
from msprobe.pytorch.monitor.switched_on import ConfigurationWatch
from msprobe.pytorch.trends import Trends
from msprobe_core.monitor.forks import leave_to_the_parent
from msprobe_core.report import say
from msprobe_core.torch.monitor.followed_steps import FollowedSteps
from msprobe_core.torch.rank import current_rank

_GRADIENTS = ("grad_unreduced", "grad_reduced")
_TAGGED = {"grad_unreduced": "acc_grad", "grad_reduced": "post_grad"}
"""What alerts call the kinds that tables call otherwise."""


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
        self._switch = ConfigurationWatch(Path(config_file_path))
        self._step = 0
        self._rank = 0
        self._parts: list[nn.Module] = []
        self._following: Following | None = None
        self._rows: dict[str, dict[str, list[Row]]] = {}
        self._headers: dict[str, list[str]] = {}
        self._trends: Trends | None = None
        self._end_watching: Callable[[], None] = _nothing

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
        self._parts = [model] if isinstance(model, nn.Module) else list(model)  # type: ignore[call-overload]  # a module, or several
        self._rank = current_rank() or 0
        if self.settings.module_ranks and self._rank not in self.settings.module_ranks:
            return
        if self.settings.format == "trend":
            shown = "all" if self.settings.xy_distribution else None
            self._trends = Trends(
                self._base, self._parts, optimizer, activations=shown, start_iteration=self._step
            )
            return
        if self._switch.waits:
            self._follow_switch()
        else:
            self._begin(self.settings)
        if optimizer is not None:
            before, after = (partial(safely, do) for do in (self._before, self._after))
            self._end_watching = FollowedSteps(optimizer, before, after).close
        leave_to_the_parent(self)

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

    def close(self) -> None:
        """Write what is left and take all hooks off; scripts that end need not call it."""
        self._end()
        self._let_go()
        if self._trends is not None:
            self._trends.close()

    def _let_go(self) -> None:
        """Count no steps any more; whoever keeps the monitor does not keep the model by it."""
        self._end_watching()
        self._end_watching, self._parts = _nothing, []
        self._switch.waits = False

    def leave(self) -> None:
        """In a process that was forked: the tables are its parent's."""
        following, self._following = self._following, None
        if following is not None:
            following.close()
        self._let_go()

    def _begin(self, settings: MonitorSettings) -> None:
        """Follow what a configuration asks for, into a folder of its own."""
        self.settings, self.ops = settings, settings.columns
        self._folder = output_folder(self._base, self._rank, settings)
        self._tables = Tables(self._folder, settings.step_count_per_record, settings.ndigits)
        dumps = self._base / FOLDER if settings.alert.get("dump") else None
        self._rules = RuleWatch(list(settings.rules), self._rank, dumps)
        self._following = Following(settings, self._parts, self._micro, self._take)

    def _end(self) -> None:
        """Let go of the model and write what is left."""
        if self._following is not None:
            self._following.close()
            self._following = None
            self._tables.write()

    def _before(self, optimizer: object, unchanged: bool) -> None:
        if self._following is not None:
            self._following.before_step(optimizer, unchanged)

    def _after(self, optimizer: object) -> None:
        step, self._step = self._step, self._step + 1
        if self._following is not None:
            # Rows that are measured here belong to the step that has just been made.
            self._step = step
            self._following.after_step(optimizer)
            self._end_step(self._following)
            self._step = step + 1
            self._tables.end_step(step)
        self._follow_switch()

    def _follow_switch(self) -> None:
        """Start at the next step what was switched on, and end what is done."""
        settings = self.settings
        if not self._switch.waits:
            return
        last = settings.start_step + settings.collect_times * settings.step_interval
        if self._following is not None and self._step >= last:
            self._end()
            self._switch.turn_off()
        fresh = self._switch.switched_on()
        if fresh is not None:
            self._end()
            self._begin(replace(fresh, start_step=self._step))

    def _take(
        self, kind: str, name: str, stage: int, micro: int | None, tensor: torch.Tensor
    ) -> None:
        if not self.settings.is_due(self._step):
            return
        numbers = measure(tensor, self.ops, self.settings.eps)
        place = [stage, name, self._step, *([] if micro is None else [micro])]
        self._headers.setdefault(
            kind,
            ["vpp_stage", "name", "step", *([] if micro is None else ["micro_step"]), *self.ops],
        )
        by_name = self._rows.setdefault(kind, {})
        # What comes last stands last: a module's gradients are complete then.
        rows = by_name.pop(name, []) if kind == "actv_grad" else by_name.get(name, [])
        by_name[name] = [*rows, [*place, *numbers]]
        if self._rules.rules:
            measured = Place(_TAGGED.get(kind, kind), name, stage, self._step, micro)
            self._rules.look(measured, dict(zip(self.ops, numbers, strict=True)))

    def _end_step(self, following: Following) -> None:
        for kind, by_name in self._rows.items():
            rows = [row for rows in by_name.values() for row in rows]
            if kind == "actv":
                rows = _inputs_before_outputs(by_name)
            elif kind == "actv_grad":
                rows = _as_they_are_complete(by_name)
            if kind != "actv" and "micro_step" in self._headers[kind]:
                rows.sort(key=lambda row: row[3])  # type: ignore[arg-type,return-value]  # micro_step, a number
            self._tables.add(kind, self._headers[kind], rows)
        self._rows = {}
        self._rules.end_step()
        if following.structure is not None:
            where = self._base / "module_struct" / f"rank{self._rank}"
            say(f"monitor: wrote {following.structure.write(where)}")
            following.structure = None
        if following.callers is not None:
            following.callers.write(self._folder)
            following.callers = None
        if following.collectives is not None:
            following.collectives.end_step()


def _inputs_before_outputs(by_name: dict[str, list[Row]]) -> list[Row]:
    """Module by module, in each of them call by call."""
    modules: dict[str, list[Row]] = {}
    for name, rows in by_name.items():
        modules.setdefault(name.rpartition(".")[0], []).extend(rows)
    return [
        row
        for rows in modules.values()
        for row in sorted(rows, key=lambda row: row[3])  # type: ignore[arg-type,return-value]  # micro_step, a number
    ]


def _as_they_are_complete(by_name: dict[str, list[Row]]) -> list[Row]:
    """Module by module as their last gradient came, those of inputs before those of outputs."""
    modules: dict[str, list[str]] = {}
    for name in by_name:
        module = name.rpartition(".")[0]
        modules[module] = [*modules.pop(module, []), name]
    ordered = [
        name
        for names in modules.values()
        for name in sorted(names, key=lambda name: name.rpartition(".")[2].startswith("output"))
    ]
    return [row for name in ordered for row in by_name[name]]


def _nothing() -> None:
    """Nothing is watched."""


def _count(name: str, value: object, default: int) -> int:
    if type(value) is int:
        return value
    say(f"{name} is {value!r}, not a whole number; {default} is taken")
    return default
