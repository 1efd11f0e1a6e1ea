"""A started debugger leaves the model, its gradients and torch what they were."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from msprobe_core import PrecisionDebugger
from tests.msprobe_core.dump_reading import RankDump
from tests.msprobe_core.models import Net, one_step

Make = Callable[..., PrecisionDebugger]
Read = Callable[[], list[RankDump]]


def hooks_of(model: nn.Module) -> int:
    tables = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
    return sum(len(getattr(module, table)) for module in model.modules() for table in tables)


def test_nothing_is_left_after_stop(debugger: Make) -> None:
    from torch.nn.modules import module as internals
    from torch.optim import optimizer as optimizers

    model = Net()
    forward, engine = Net.forward, torch.autograd._engine_run_backward
    before = (
        dict(vars(torch.nn.functional)),
        dict(vars(torch.Tensor)),
        dict(vars(torch.distributed)),
    )
    hooks = (  # another test's training may still be followed
        dict(internals._global_forward_hooks),
        dict(internals._global_forward_pre_hooks),
        dict(optimizers._global_optimizer_pre_hooks),
    )
    target = debugger(level="mix")
    one_step(target, model, lambda: model(torch.ones(2, 4)).sum().backward())
    assert before == (
        dict(vars(torch.nn.functional)),
        dict(vars(torch.Tensor)),
        dict(vars(torch.distributed)),
    )
    assert torch.autograd._engine_run_backward is engine
    assert Net.forward is forward and "forward" not in vars(model.first)
    assert hooks == (
        dict(internals._global_forward_hooks),
        dict(internals._global_forward_pre_hooks),
        dict(optimizers._global_optimizer_pre_hooks),
    )
    assert torch._C._len_torch_function_stack() == 0
    assert hooks_of(model) == 0
    assert all(
        not p._backward_hooks and not p._post_accumulate_grad_hooks for p in model.parameters()
    )


def test_nothing_is_on_the_model_while_started(debugger: Make) -> None:
    model = Net()
    target = debugger(level="mix")
    target.start(model)
    model(torch.ones(1, 4)).sum().backward()
    assert hooks_of(model) == 0
    twin = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in twin.parameters():
            parameter.zero_()
    assert twin(torch.ones(1, 4)).abs().sum() == 0
    again = pickle.loads(pickle.dumps(model))
    assert again(torch.ones(1, 4)).equal(model(torch.ones(1, 4)))
    torch.save(model.state_dict(), io.BytesIO())
    torch.save(model, io.BytesIO())
    target.stop()


@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
def test_a_started_model_can_be_scripted_and_traced(debugger: Make) -> None:
    model = Net()
    target = debugger(level="mix")
    target.start(model)
    scripted = torch.jit.script(model)
    traced = torch.jit.trace(model, torch.ones(1, 4))
    target.stop()
    expected = model(torch.ones(1, 4))
    assert scripted(torch.ones(1, 4)).equal(expected)
    assert traced(torch.ones(1, 4)).equal(expected)


class Splitting(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 8)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return self.inner(x).split(4, -1)


class ViewsInPlace(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.split, self.act = Splitting(), nn.ReLU(inplace=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        left, right = (part.clone() for part in self.split(x))
        left += 1.0
        return self.act(left * 2) + right


def test_views_and_in_place_operations(debugger: Make, dumps: Read) -> None:
    def run(model: nn.Module) -> torch.Tensor:
        model(torch.ones(2, 4)).sum().backward()
        return torch.cat([p.grad.flatten() for p in model.parameters()])

    torch.manual_seed(1)
    plain = ViewsInPlace()
    dumped = copy.deepcopy(plain)
    expected = run(plain)
    target = debugger(level="mix")
    found: list[torch.Tensor] = []
    one_step(target, dumped, lambda: found.append(run(dumped)))
    assert found[0].equal(expected)
    names = dumps()[0].names
    assert "Module.act.ReLU.backward.0" in names
    assert "Module.split.Splitting.backward.0" in names


def change_the_base(parts: tuple[torch.Tensor, ...]) -> torch.Tensor:
    base = parts[0]._base
    assert base is not None
    return base.mul_(2.0).sum()


def change_a_copy(parts: tuple[torch.Tensor, ...]) -> torch.Tensor:
    left = parts[0] * 2.0
    left += parts[1]
    return left.sum()


def change_without_gradients(parts: tuple[torch.Tensor, ...]) -> torch.Tensor:
    parts[0].add_(1.0)
    return (parts[0] * parts[1]).sum()


class SplitInput(nn.Module):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        return x.split(2, -1)


class Slices(Splitting):
    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, ...]:
        y = self.inner(x)
        return y[:, :4], y[:, 4:]


@pytest.mark.parametrize(
    ("kind", "change", "inference"),
    [
        (Splitting, change_the_base, False),
        (Splitting, change_a_copy, False),
        (Splitting, change_without_gradients, True),
        (SplitInput, change_a_copy, False),
        (SplitInput, change_without_gradients, True),
        (Slices, change_without_gradients, False),
        (Slices, change_the_base, False),
    ],
)
@pytest.mark.parametrize("level", ["L0", "mix"])
def test_split_views_changed_in_place(
    kind: type[nn.Module], change: Any, inference: bool, level: str, debugger: Make
) -> None:
    class Whole(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(4)
            self.split = kind()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            with torch.inference_mode(inference):
                return change(self.split(x))  # type: ignore[no-any-return]

    def run(model: nn.Module) -> list[torch.Tensor]:
        x = torch.linspace(-1, 1, 12).view(3, 4).requires_grad_()
        y = model(x)
        if inference:
            return [y]
        y.backward()
        assert x.grad is not None
        return [y, x.grad, *(p.grad for p in model.parameters() if p.grad is not None)]

    expected, found = run(Whole()), []
    model = Whole()
    one_step(debugger(level=level), model, lambda: found.extend(run(model)))
    assert all(ours.equal(theirs) for ours, theirs in zip(found, expected, strict=True))


class InPlaceOnOutput(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.inner(x)
        y.mul_(2.0)
        return y.view(-1)


def test_a_module_output_may_be_modified_in_place(debugger: Make, dumps: Read) -> None:
    model = InPlaceOnOutput()
    one_step(debugger(level="mix"), model, lambda: model(torch.ones(2, 4)).sum().backward())
    data = dumps()[0].data
    gradient = data["Module.inner.Linear.backward.0"]["input"][0]
    assert gradient["Max"] == 2.0  # what arrives at the output as the module returned it


def test_gradients_accumulate_as_without_dump(debugger: Make, dumps: Read) -> None:
    model = Net()
    target = debugger(level="L0")

    def run() -> None:
        for _ in range(3):
            model(torch.ones(2, 4)).sum().backward()

    one_step(target, model, run)
    entries = [n for n in dumps()[0].names if n.startswith("Module.second.Linear.parameters_grad")]
    assert entries == [f"Module.second.Linear.parameters_grad.{n}" for n in range(3)]
    last = dumps()[0].data[entries[-1]]["bias"][0]
    assert last["Max"] == model.second.bias.grad.max().item()


def test_user_modes_survive(debugger: Make) -> None:
    target = debugger(level="L1")
    with torch.device("cpu"):
        target.start()
        torch.ones(2).sum()
    target.stop()
    assert torch._C._len_torch_function_stack() == 0


def test_elements_changed_behind_the_version_are_read_again(debugger: Make, dumps: Read) -> None:
    value = torch.ones(4096)

    def run() -> None:
        torch.exp(value)
        value.data.mul_(3.0)
        torch.exp(value)

    target = debugger(level="L1")
    target.start()
    run()
    target.stop()
    target.step()
    data = dumps()[0].data
    assert data["Torch.exp.0.forward"]["input_args"][0]["Max"] == 1.0
    assert data["Torch.exp.1.forward"]["input_args"][0]["Max"] == 3.0
