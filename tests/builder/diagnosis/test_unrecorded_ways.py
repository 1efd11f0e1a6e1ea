"""Real runs whose values go ways that nobody recorded: gradients that add up, elements moved."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode

from builder.reasons import sentence
from tests.builder.diagnosis import recorded_programs
from tests.builder.diagnosis.recorded_programs import Change, hooked, names, same


class Paths(nn.Module):
    """A value that two calls read, and one that is turned by calls without a record."""

    def __init__(self, early: Change = same, between: Change = same, turn: Change = same) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(16, 16), nn.Linear(16, 16)
        self.early, self.between, self.turn = early, between, turn

    def add(self, one: Tensor, other: Tensor) -> Tensor:
        return torch.add(one, other)

    def forward(self, x: Tensor) -> Tensor:
        hidden = self.between(self.first(self.early(torch.sin(x))))
        both = self.add(torch.sin(hidden), torch.tanh(hidden))
        with torch._C.DisableTorchFunction():
            front, back = self.second(both).chunk(2, dim=-1)
            turned = self.turn(torch.cat((-back, front), dim=-1))
        return torch.tanh(turned)


def found(tmp_path: Path, **changes: Change) -> list[str]:
    return names(recorded_programs.found(tmp_path, Paths, **changes))


def half_as_much_again(x: Tensor) -> Tensor:
    return x * 1.5


def test_a_gradient_that_is_not_the_sum_of_its_parts_is_named_behind_a_larger_fault(
    tmp_path: Path,
) -> None:
    first, second = found(tmp_path, early=half_as_much_again, between=partial(hooked, factor=1.2))
    assert first == "Tensor.__mul__.0.forward"
    assert second == "Module.first.Linear.backward.0"


def test_gradients_that_add_up_are_none(tmp_path: Path) -> None:
    assert found(tmp_path, early=half_as_much_again) == ["Tensor.__mul__.0.forward"]


class WrongSums(TorchDispatchMode):
    """A kernel below the recorded call that adds up a tenth too much."""

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        made = func(*args, **(kwargs or {}))
        return made.mul_(1.1) if func is torch.ops.aten.add.Tensor else made


def test_a_sum_that_is_a_little_off_is_named_behind_a_larger_fault(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernels = iter((WrongSums(), nullcontext()))  # the problem runs first

    def add(self: Paths, one: Tensor, other: Tensor) -> Tensor:
        with next(kernels):
            return torch.add(one, other)

    monkeypatch.setattr(Paths, "add", add)
    assert "Torch.add.0.forward" in found(tmp_path, early=half_as_much_again)


def test_operands_that_changed_places_are_no_finding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    orders = iter((-1, 1))

    def add(self: Paths, one: Tensor, other: Tensor) -> Tensor:
        return torch.add(*(one, other)[:: next(orders)])

    monkeypatch.setattr(Paths, "add", add)
    assert found(tmp_path) == []


@pytest.mark.parametrize("turn", [lambda x: x.roll(1, -1), lambda x: x.abs()])
def test_what_was_moved_unseen_is_named_behind_a_small_fault(tmp_path: Path, turn: Change) -> None:
    named = found(tmp_path, early=lambda x: x * 1.0001, turn=turn)
    assert named[0] == "Tensor.__mul__.0.forward" and "Torch.tanh.1.forward" in named[1:]


class Sliced(Paths):
    """A value of which a call without a record takes a part, so that zeros pad its gradient."""

    def forward(self, x: Tensor) -> Tensor:
        both = self.add(torch.sin(self.first(self.early(torch.sin(x)))), x)
        with torch._C.DisableTorchFunction():
            part = self.turn(both[:16])
        return torch.tanh(self.second(part))


def test_what_was_moved_unseen_keeps_its_norm_behind_a_larger_fault(tmp_path: Path) -> None:
    changes = {"early": half_as_much_again, "turn": partial(hooked, factor=1.2)}
    named = names(recorded_programs.found(tmp_path, Sliced, **changes))
    assert named == ["Tensor.__mul__.0.forward", "Torch.add.0.backward"]


class _Loss(nn.Module):
    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.body, self.head, self.options = nn.Linear(16, 8), nn.Linear(8, 8), options
        self.head.weight.data *= 0.01  # so that the loss hardly changes, but for its gradient

    def forward(self, x: Tensor) -> Tensor:
        labels = torch.arange(len(x)) % 8
        logits = self.head(self.body(x.view(4, -1, 16)))
        return F.cross_entropy(logits.view(-1, 8), labels, **self.options)


@pytest.mark.parametrize(
    "options",
    [{"label_smoothing": 0.2}, {"ignore_index": 3}, {"reduction": "sum"}],
    ids=lambda options: str(*options),
)
def test_the_gradient_of_a_loss_of_several_calls_is_that_of_the_changed_call(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    named = names(recorded_programs.found(tmp_path, _Loss, **options))
    assert named == ["Functional.cross_entropy.0.forward"]


class _Gate(nn.Module):
    def __init__(self, read: Change = torch.sigmoid) -> None:
        super().__init__()
        self.first, self.second, self.read = nn.Linear(16, 16), nn.Linear(16, 16), read

    def forward(self, x: Tensor) -> Tensor:
        value = self.first(x)
        gate = torch.sigmoid(value)
        chosen = gate if self.read is torch.sigmoid else value
        return self.second(torch.mul(chosen, 1 - gate))


def test_a_call_that_reads_what_another_call_made_says_both(tmp_path: Path) -> None:
    (finding, *_) = recorded_programs.found(tmp_path, _Gate, read=same)
    assert finding.name == "Torch.mul.0.forward"
    said = sentence(finding.reasons[0])
    assert "the problem run reads what Functional.linear.0.forward put out" in said
    assert "the benchmark run what Torch.sigmoid.0.forward put out" in said


class _Masked(nn.Module):
    def __init__(self, mask: Change = same) -> None:
        super().__init__()
        self.lin, self.mask = nn.Linear(16, 16), mask

    def forward(self, x: Tensor) -> Tensor:
        with torch._C.DisableTorchFunction():
            mask = self.mask(torch.eye(32, 16) > 0)
        scores = torch.masked_fill(self.lin(x), mask, -torch.inf)
        return torch.softmax(scores, -1)


def test_nan_behind_another_mask_is_no_second_finding(tmp_path: Path) -> None:
    def whole_row(mask: Tensor) -> Tensor:
        return mask | (torch.arange(32) == 20)[:, None]

    named = names(recorded_programs.found(tmp_path, _Masked, mask=whole_row))
    assert named == ["Torch.masked_fill.0.forward"]


class Branch(nn.Module):
    """A small second branch, whose gradient may be cut off behind calls that then do not run."""

    def __init__(self, cut: Change) -> None:
        super().__init__()
        self.one, self.two = nn.Linear(16, 16), nn.Linear(16, 16)
        self.cut = cut

    def forward(self, x: Tensor) -> Tensor:
        small = self.cut(torch.cos(self.two(x)))
        return torch.add(torch.sin(self.one(x)), small, alpha=4e-6)


class Branching(nn.Module):
    """Reads the branches in a module of their own."""

    def __init__(self, cut: Change = same) -> None:
        super().__init__()
        self.first, self.branch = nn.Linear(16, 16), Branch(cut)

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.branch(torch.sin(self.first(x))))


def test_a_gradient_that_is_cut_off_is_named_where_it_is_cut_off(tmp_path: Path) -> None:
    """That changes what the module hands on by two roundings, which alone are no finding."""
    cut = recorded_programs.found(tmp_path, Branching, cut=Tensor.detach)
    assert names(cut) == ["Tensor.detach.0.forward"]


def loss_of(logits: Tensor, smoothing: float = 0.0) -> Tensor:
    target = torch.zeros(len(logits), dtype=torch.int64)
    return F.cross_entropy(logits, target, label_smoothing=smoothing)


class EvenLogits(nn.Module):
    """A loss that smoothing leaves alone: the target's logit is the mean of the others."""

    def __init__(self, loss: Change = loss_of) -> None:
        super().__init__()
        self.first, self.loss = nn.Linear(16, 4), loss

    def forward(self, x: Tensor) -> Tensor:
        others = torch.sin(self.first(x))
        mean = others.mean(dim=1, keepdim=True)
        return self.loss(torch.relu(torch.cat((mean, others), dim=1) + 2))


def test_an_argument_that_changes_the_gradient_alone_is_named(tmp_path: Path) -> None:
    (named,) = recorded_programs.found(tmp_path, EvenLogits, loss=partial(loss_of, smoothing=0.2))
    assert named.name == "Functional.cross_entropy.0.forward"
    assert "label_smoothing" in sentence(named.reasons[0])
