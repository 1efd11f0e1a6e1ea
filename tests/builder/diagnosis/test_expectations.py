"""What no suite of faults tells of: trained weights, gradients that cancel, another choice."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from builder.diagnosis.expectation import Expectations
from builder.diagnosis.policies.by_excess.edges import Edges
from tests.builder.diagnosis.recorded_programs import Change, found, names, same
from tests.told import facts


def half_as_much_again(x: Tensor) -> Tensor:
    return x * 1.5


class Outlier(nn.Module):
    """One channel is far larger than the others, and the weight of it too, as in trained models."""

    def __init__(self, early: Change = same) -> None:
        super().__init__()
        self.first, self.second, self.early = nn.Linear(16, 1024), nn.Linear(1024, 16), early
        with torch.no_grad():
            self.first.bias[3] = 100.0
            self.second.weight[:, 3] = 2.0 * torch.randn(16).sign()

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(1e-3 * self.second(self.early(self.first(x))))


def test_errors_in_step_with_what_is_added_up_do_not_cancel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound of a product is that of random signs; here it is fifteen times too small."""
    cause = "Tensor.__mul__.0.forward"
    assert names(found(tmp_path, Outlier, early=half_as_much_again)) == [cause]
    monkeypatch.setattr(Expectations, "in_step", lambda *_: 0.0)
    assert names(found(tmp_path / "without", Outlier, early=half_as_much_again)) != [cause]


def nudged(x: Tensor) -> Tensor:
    """The next numbers in float32, as another kernel may have put them out."""
    with torch._C.DisableTorchFunction():
        return torch.nextafter(x, torch.full_like(x, torch.inf))


class Keys(nn.Module):
    """A bias of the keys adds the same to all that a softmax weighs: its gradient is rounding."""

    def __init__(self) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.randn(16, 48)), nn.Parameter(torch.zeros(16))

    def forward(self, x: Tensor) -> Tensor:
        query, key, value = (x @ self.weight).chunk(3, dim=-1)
        return F.softmax(query @ (key + self.bias).T / 4, dim=-1) @ value


class Attention(nn.Module):
    def __init__(self, early: Change = same) -> None:
        super().__init__()
        self.keys, self.early = Keys(), early

    def forward(self, x: Tensor) -> Tensor:
        return self.keys(self.early(torch.sin(x)))


def test_a_gradient_that_cancels_is_apart_by_the_rounding_of_its_terms(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert names(found(tmp_path, Attention, early=nudged)) == []
    monkeypatch.setattr(Expectations, "_random_walk", lambda *_: 0.0)
    assert names(found(tmp_path / "without", Attention, early=nudged)) != []


class Choice(nn.Module):
    """Gathers what a call picks, and weighs it by something else."""

    def __init__(self, largest: bool = True) -> None:
        super().__init__()
        self.gate, self.picks = nn.Linear(16, 8), partial(torch.topk, k=2, largest=largest)
        self.experts = nn.Parameter(torch.randn(8, 16))

    def forward(self, x: Tensor) -> Tensor:
        weights, chosen = self.picks(F.softmax(self.gate(x), dim=-1))
        return (weights[..., None] * self.experts[chosen]).sum(-2)


def test_another_choice_among_the_same_numbers_is_named_by_its_argument(tmp_path: Path) -> None:
    (finding,) = found(tmp_path, Choice, largest=False)
    assert finding.name == "Torch.topk.0.forward"
    assert facts(finding.reasons[0])["code"] == "argument_differs"


def tilted(x: Tensor) -> Tensor:
    """The second column a rounding larger."""
    with torch._C.DisableTorchFunction():
        return torch.cat((x[:, :1], x[:, 1:2] * (1 + 1e-6), x[:, 2:]), dim=-1)


class Experts(nn.Module):
    """Weighs by two of the same size, picked by one call or by another."""

    def __init__(self, early: Change, sorts: bool) -> None:
        super().__init__()
        self.gate, self.early, self.sorts = nn.Linear(16, 8), early, sorts
        self.experts = nn.Parameter(torch.randn(8, 16))
        with torch.no_grad():
            self.gate.weight[1], self.gate.bias[1] = self.gate.weight[0], self.gate.bias[0]

    def forward(self, x: Tensor) -> Tensor:
        gates = F.softmax(self.early(self.gate(x)), dim=-1)
        ranked = torch.argsort(gates, dim=-1, descending=True) if self.sorts else None
        picked = torch.topk(gates, 2, dim=-1)[1] if ranked is None else ranked[..., :2]
        return (torch.gather(gates, -1, picked)[..., None] * self.experts[picked]).sum(-2)


class Mixture(nn.Module):
    def __init__(self, early: Change = same, sorts: bool = False) -> None:
        super().__init__()
        self.experts = Experts(early, sorts)

    def forward(self, x: Tensor) -> Tensor:
        return torch.sin(x + self.experts(torch.sin(x)))


def test_integers_that_rounding_may_have_reached_by_other_calls_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert names(found(tmp_path, Mixture, early=tilted, sorts=True)) == []
    monkeypatch.setattr(Edges, "_come_of_floats", lambda *_: False)
    assert names(found(tmp_path / "without", Mixture, early=tilted, sorts=True)) != []
