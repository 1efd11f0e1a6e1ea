"""What a configuration of v1 follows: hooks on modules, parameters, the optimizer, collectives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn.parameter import is_lazy

from msprobe.pytorch.monitor.collective_rows import CollectiveHooks
from msprobe.pytorch.monitor.module_structure import CallerWatch, StructureWatch
from msprobe.pytorch.monitor.monitor_settings import MonitorSettings
from msprobe.pytorch.monitor.safely import safely
from msprobe.pytorch.monitor.watching import ModuleHooks, state_of
from msprobe_core.torch.gradients.taken import gradient_of, scaling_of, unscaled

Take = Callable[[str, str, int, int | None, torch.Tensor], None]
"""Called with the kind, the name, the stage, the micro-batch (None for none) and the tensor."""
_OUTERMOST = ("layers.", "embedding.", "final_", "output_", "norm.")


class Following:
    """Hooks of one configuration on the parts of a model, until `close`."""

    def __init__(
        self, settings: MonitorSettings, parts: Sequence[nn.Module], micro: int, take: Take
    ) -> None:
        self._settings, self._micro, self._take = settings, micro, take
        self._all_named: list[tuple[int, str, torch.Tensor]] = []
        self._hooked: set[int] = set()
        self._hooks: list[ModuleHooks] = []
        self._ends: list[Callable[[], None]] = []
        self._calls: dict[tuple[int, str], int] = {}
        self.structure = StructureWatch() if settings.print_struct else None
        self.callers = CallerWatch() if settings.stack_info else None
        self.collectives: CollectiveHooks | None = None
        for stage, part in enumerate(parts):
            self._follow_part(stage, part)
        if settings.cc_distribution.get("enable"):
            self.collectives = CollectiveHooks(
                settings.cc_distribution,
                lambda name, tensor: take("other", name, 0, None, tensor),
            )
            self._ends.append(self.collectives.close)

    @property
    def _named(self) -> list[tuple[int, str, torch.Tensor]]:
        """The parameters that are trained now: some may be unfrozen, or get their shape, later."""
        return [each for each in self._all_named if each[2].requires_grad and not is_lazy(each[2])]

    def before_step(self, optimizer: object, unchanged: bool) -> None:
        """Measure gradients as the optimizer takes them, and weights before it changes them, where
        they are `unchanged`.
        """
        scaling = scaling_of(optimizer)
        self._watch_unreduced()
        for stage, name, parameter in self._named:
            gradient = gradient_of(parameter)
            if gradient is not None:
                gradient = unscaled(gradient, scaling)
            if self._settings.wg_distribution and gradient is not None:
                self._take("grad_reduced", name, stage, None, gradient)
            if self._settings.param_distribution and unchanged:
                self._take("param_origin", name, stage, None, parameter)
            if self._settings.mg_direction and gradient is not None and unchanged:
                momentum = state_of(optimizer, parameter, "exp_avg")
                self._take("other", name, stage, None, same_direction(gradient, momentum))

    def after_step(self, optimizer: object) -> None:
        """Measure what the step has made, and count micro-batches from 0 again."""
        for stage, name, parameter in self._named:
            for kind in ("exp_avg", "exp_avg_sq") if self._settings.mv_distribution else ():
                state = state_of(optimizer, parameter, kind)
                if state is not None:
                    self._take(kind, name, stage, None, state)
            if self._settings.param_distribution:
                self._take("param_updated", name, stage, None, parameter)
        self._calls.clear()
        for hooks in self._hooks:
            hooks.end_step()

    def close(self) -> None:
        """Take everything off again."""
        for hooks in (*self._hooks, self.structure, self.callers):
            if hooks is not None:
                hooks.close()
        while self._ends:
            self._ends.pop()()

    def _follow_part(self, stage: int, model: nn.Module) -> None:
        settings, targets = self._settings, tuple(self._settings.targets)
        for name, parameter in model.named_parameters():
            if not targets or name.startswith(targets):
                self._all_named.append((stage, self._shown(name), parameter))
        self._watch_unreduced()
        every = not targets or settings.all_xy

        def chosen(name: str) -> bool:
            return every or name in targets or f"{stage}:{name}" in targets

        if settings.xy_distribution:
            self._hooks.append(self._module_hooks(stage, model, chosen))
        if self.structure is not None:
            self.structure.follow(stage, model)
        if self.callers is not None:
            self.callers.follow(stage, model)

    def _watch_unreduced(self) -> None:
        """Measure gradients as they come, of the parameters that are trained by now."""
        for stage, name, parameter in self._named if self._settings.wg_distribution else ():
            if id(parameter) not in self._hooked:
                self._hooked.add(id(parameter))
                take = self._unreduced(stage, name)
                self._ends.append(parameter.register_post_accumulate_grad_hook(take).remove)

    def _module_hooks(
        self, stage: int, model: nn.Module, chosen: Callable[[str], bool]
    ) -> ModuleHooks:
        left_out = {"forward": "backward_only", "backward": "forward_only"}
        directions = [one for one, field in left_out.items() if not getattr(self._settings, field)]
        return ModuleHooks(
            model,
            chosen,
            lambda kind, name, micro, tensor: self._take(kind, name, stage, micro, tensor),
            self._module_name,
            directions,
        )

    def _unreduced(self, stage: int, name: str) -> Any:
        def take(parameter: torch.Tensor) -> None:
            micro = self._calls[stage, name] = self._calls.get((stage, name), -1) + 1
            gradient = gradient_of(parameter)
            if gradient is None:
                return
            if self._settings.monitor_mbs_grad:
                safely(self._take, "grad_unreduced", name, stage, micro, gradient)
            elif (micro + 1) % self._micro == 0:
                safely(self._take, "grad_unreduced", name, stage, None, gradient)

        return take

    def _module_name(self, module: str, side: str, index: int, count: int) -> str:
        end = side.rpartition(".")[2]
        return f"{self._shown(module)}.{end}" + (f"_{index}" if count > 1 else "")

    def _shown(self, name: str) -> str:
        if self._settings.squash_name:
            at = min((i for i in (name.find(part) for part in _OUTERMOST) if i >= 0), default=0)
            return name[at:]
        return name


def same_direction(gradient: torch.Tensor, momentum: torch.Tensor | None) -> torch.Tensor:
    """The share of elements whose gradient and momentum have one sign; 1 while there is none.

    The sign of 0 is 0, so that what neither has touched agrees.
    """
    if momentum is None:
        return torch.ones((), device=gradient.device)
    return (gradient.sign() == momentum.sign()).float().mean()
