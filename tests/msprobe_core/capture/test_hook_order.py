"""What a module received and returned is taken behind the hooks that the user put on it."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable

import pytest
import torch
from torch import nn

from msprobe_core import PrecisionDebugger
from tests.msprobe_core.dump_reading import RankDump
from tests.msprobe_core.models import one_step

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]


class Scaled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.m = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.m(x)  # type: ignore[no-any-return]


def hundredfold(_: nn.Module, args: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
    return (args[0] * 100,)


def thousandfold(_: nn.Module, args: object, output: torch.Tensor) -> torch.Tensor:
    return output * 1000


@pytest.mark.parametrize("level", ["L0", "mix"])
def test_inputs_and_outputs_behind_the_users_hooks(level: str, debugger: Make, dumps: Read) -> None:
    model = Scaled()
    model.m.register_forward_pre_hook(hundredfold)
    model.m.register_forward_hook(thousandfold)
    seen: list[torch.Tensor] = []
    one_step(debugger(level=level), model, lambda: seen.append(model(torch.ones(2, 4))))
    entry = dumps()[0].data["Module.m.Linear.forward.0"]
    assert entry["input_args"][0]["Max"] == 100
    assert entry["output"][0]["Max"] == pytest.approx(seen[0].max().item())
    assert list(entry["parameters"]) == ["weight", "bias"]
    assert len(model.m._forward_pre_hooks) == len(model.m._forward_hooks) == 1


def test_a_copy_made_while_it_is_recorded_is_not_recorded(debugger: Make, dumps: Read) -> None:
    model = Scaled()
    model.m.register_forward_pre_hook(hundredfold)

    def run() -> None:
        for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
            assert twin(torch.ones(2, 4)).shape == (2, 4)

    one_step(debugger(level="L0"), model, run)
    assert dumps()[0].names == []
