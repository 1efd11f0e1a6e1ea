"""The parameters of models by number; what is trained or made later gets the next number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from weakref import ref

import torch
from torch import nn

from msprobe_core.torch.gradients.optimizers import Optimizer
from msprobe_core.torch.monitor.followed_modules import clean_name
from msprobe_core.torch.monitor.shards import Family, families

Numbered = list[tuple[int, torch.Tensor]]


class FollowedParameters:
    """Names, tensors and the ranks that hold them, each by number.

    `alone`: as if no other rank held any of them.
    """

    def __init__(self, models: Sequence[nn.Module], alone: bool) -> None:
        self._models, self._alone = list(models), alone
        self.names: list[str] = []
        self.tensors: list[nn.Parameter] = []
        self.families: list[Family | None] = []
        self._known: dict[str, Family] = {}
        self._number: dict[int, int] = {}
        self._by_name: dict[str, int] = {}
        self._foreign: dict[int, ref[torch.Tensor]] = {}
        self._look()

    def __len__(self) -> int:
        return len(self.names)

    def trained_by(self, optimizer: Optimizer) -> Numbered:
        """Those that an optimizer has and that are not frozen now."""
        given = [each for group in optimizer.param_groups for each in group["params"]]
        return [(n, each) for n, each in self.numbered(given) if each.requires_grad]

    def numbered(self, tensors: Iterable[torch.Tensor]) -> Iterator[tuple[int, torch.Tensor]]:
        """The parameters of the models among tensors; one that was never seen is looked for."""
        for tensor in tensors:
            number = self._number_of(tensor)
            if number is None and not self._is_foreign(tensor):
                self._look()
                number = self._number_of(tensor)
                if number is None:
                    self._foreign[id(tensor)] = ref(tensor)
            if number is not None:
                yield number, tensor

    def _number_of(self, tensor: torch.Tensor) -> int | None:
        number = self._number.get(id(tensor))
        return number if number is not None and self.tensors[number] is tensor else None

    def _is_foreign(self, tensor: torch.Tensor) -> bool:
        known = self._foreign.get(id(tensor))
        return known is not None and known() is tensor

    def _look(self) -> None:
        """Number what is new; a parameter that took another's name takes its number, too."""
        for name, parameter, found in self._listed():
            number = self._by_name.setdefault(name, len(self.names))
            # Who of a family follows is decided once: it stays the same object.
            family = None if found is None else self._known.setdefault(found.key, found)
            if number == len(self.names):
                self.names.append(name)
                self.tensors.append(parameter)
                self.families.append(family)
            else:
                self.tensors[number], self.families[number] = parameter, family
        self._number = {id(tensor): number for number, tensor in enumerate(self.tensors)}

    def _listed(self) -> Iterator[tuple[str, nn.Parameter, Family | None]]:
        seen: set[int] = set()
        for index, model in enumerate(self._models):
            prefix = f"{index}." if len(self._models) > 1 else ""
            named = [
                (prefix + clean_name(name), parameter)
                for name, parameter in model.named_parameters()
                if id(parameter) not in seen
            ]
            seen |= {id(parameter) for _, parameter in named}
            lying: Sequence[Family | None] = [None] * len(named)
            if not self._alone:
                lying = families(model, [parameter for _, parameter in named])
            for (name, parameter), family in zip(named, lying, strict=True):
                yield name, parameter, family
