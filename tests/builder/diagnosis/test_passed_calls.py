"""A call without values that was given something else is named where what it leads to differs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from builder.work.outcome import StoredFinding
from tests.builder.diagnosis.recorded_programs import Change, found, same
from tests.told import facts

Steps = dict[str, tuple[Change, Change, str]]


def joined(*order: int, dim: int = -1) -> Change:
    def step(x: Tensor) -> Tensor:
        parts = torch.sin(x), torch.cos(x)
        return torch.tanh(torch.cat([parts[at] for at in order], dim))

    return step


def turned(*axes: int) -> Change:
    return lambda x: torch.sin(x.reshape(32, 4, 4).permute(axes)).flatten(1)


def bounded(high: float) -> Change:
    return lambda x: torch.exp(x.clamp(-0.2, high))


def indexed(start: int) -> Change:
    return lambda x: torch.exp(x[:, start : start + 8])


def written(start: int) -> Change:
    def step(x: Tensor) -> Tensor:
        y = torch.zeros(32, 24)
        y[:, start : start + 16] = torch.sin(x)
        return torch.exp(y)

    return step


def cut(part: int) -> Change:
    return lambda x: torch.exp(x.chunk(2, -1)[part])


def rolled(dim: int) -> Change:
    return lambda x: torch.exp(x.view(32, 4, 4).transpose(dim, 2)).flatten(1)


FAULTS: dict[str, tuple[Change, Change, str, str]] = {
    "another order": (joined(1, 0), joined(0, 1), "Torch.cat.0.forward", "input.0.0"),
    "other axes": (turned(0, 2, 1), turned(0, 1, 2), "Tensor.permute.0.forward", "input.1.1"),
    "another bound": (bounded(0.3), bounded(0.2), "Tensor.clamp.0.forward", "input.2"),
    "another index": (indexed(1), indexed(0), "Tensor.__getitem__.0.forward", "input.1.1"),
}
HELD_BACK: dict[str, tuple[Change, Change, str, str]] = {
    "another axis": (rolled(1), rolled(2), "Tensor.transpose.0.forward", "input.1"),
    "written elsewhere": (written(2), written(0), "Tensor.__setitem__.0.forward", "input.1.1"),
}


class Program(nn.Module):
    """A layer, a step that may be another one, and what reads it in a module of its own."""

    def __init__(self, first: Change = same, step: Change = same, then: Change = same) -> None:
        super().__init__()
        self.put, self.first, self.step, self.then = nn.Linear(16, 16), first, step, then

    def forward(self, x: Tensor) -> Tensor:
        return self.then(self.step(self.first(self.put(x))))


def with_step(right: Change) -> Callable[..., nn.Module]:
    return lambda step=right, **changes: Program(step=step, **changes)


def said(findings: tuple[StoredFinding, ...]) -> list[tuple[str, object]]:
    return [(finding.name, facts(finding.reasons[0]).get("value")) for finding in findings]


@pytest.mark.parametrize("name", FAULTS | HELD_BACK)
def test_what_a_call_without_values_was_given_otherwise_is_named(name: str, tmp_path: Path) -> None:
    wrong, right, call, value = (FAULTS | HELD_BACK)[name]
    assert said(found(tmp_path, with_step(right), step=wrong)) == [(call, value)]


def times(factor: float) -> Change:
    return lambda x: x * factor


AS_IT_IS = times(1.0)


def beside(right: Change) -> Callable[..., nn.Module]:
    def made(step: Change = right, first: Change = AS_IT_IS) -> nn.Module:
        return Program(step=step, first=first)

    return made


@pytest.mark.parametrize("name", FAULTS | HELD_BACK)
def test_so_it_is_beside_a_cause_before_it(name: str, tmp_path: Path) -> None:
    wrong, right, call, value = (FAULTS | HELD_BACK)[name]
    findings = found(tmp_path, beside(right), step=wrong, first=times(1.001))
    assert said(findings)[0][0] == "Tensor.__mul__.0.forward"
    assert (call, value) in said(findings)


def test_the_line_of_such_a_call_is_known(tmp_path: Path) -> None:
    wrong, right, _, _ = FAULTS["another bound"]
    (finding,) = found(tmp_path, with_step(right), step=wrong)
    assert finding.line is not None and "x.clamp(-0.2, high)" in finding.line


@pytest.mark.parametrize("factor", [1.0, 1.001])
def test_what_leads_to_the_same_values_is_no_cause(factor: float, tmp_path: Path) -> None:
    """Bounds that nothing reaches, and another way to write the same index."""
    far, farther = (lambda x: x.clamp(-90, 90)), (lambda x: x.clamp(-99, 99))
    twins: list[tuple[Change, Change]] = [
        (far, farther),
        (lambda x: torch.exp(x[:, :16]), lambda x: torch.exp(x[:, 0:16])),
        (lambda x: x.reshape(32, -1).sin(), lambda x: x.reshape(-1, 16).sin()),
    ]
    for at, (one, other) in enumerate(twins):
        findings = found(tmp_path / str(at), beside(other), step=one, first=times(factor))
        causes = [] if factor == 1.0 else ["Tensor.__mul__.0.forward"]
        assert [name for name, _ in said(findings)] == causes


TARGET = torch.linspace(-1.3, 1.3, 512).reshape(32, 16)
TARGETS: dict[str, tuple[Change, Change, str]] = {
    "not bounded": (same, lambda t: t.clamp(0.0, 1.0), "Tensor.clamp.0.forward"),
    "bounded": (lambda t: t.clamp(0.0, 1.0), same, "Tensor.clamp.0.forward"),
    "another bound": (
        lambda t: t.clamp(0.0, 0.9),
        lambda t: t.clamp(0.0, 1.0),
        "Tensor.clamp.0.forward",
    ),
    "not turned": (same, lambda t: t.reshape(16, 32).t(), "Tensor.t.0.forward"),
}
TARGETS_HELD_BACK: dict[str, tuple[Change, Change, str]] = {
    "another row": (lambda t: t[8:24], lambda t: t[:16], "Tensor.__getitem__.0.forward"),
    "rolled back": (lambda t: t.roll(1, 0), lambda t: t.roll(-1, 0), "Tensor.roll.0.forward"),
}


def aiming(right: Change) -> Callable[..., nn.Module]:
    """Held against data that a call without values moved or bounded, far from what is computed."""

    def made(target: Change = right, first: Change = AS_IT_IS) -> nn.Module:
        def loss(x: Tensor) -> Tensor:
            aim = target(TARGET)
            return nn.functional.mse_loss(x[: len(aim)].reshape(aim.shape), aim)

        return Program(step=lambda x: torch.softmax(x, -1), first=first, then=loss)

    return made


@pytest.mark.parametrize("factor", [1.0, 3.0])
@pytest.mark.parametrize("name", TARGETS | TARGETS_HELD_BACK)
def test_data_that_went_another_way_is_named_beside_any_other_cause(
    name: str, factor: float, tmp_path: Path
) -> None:
    wrong, right, call = (TARGETS | TARGETS_HELD_BACK)[name]
    findings = found(tmp_path, aiming(right), target=wrong, first=times(factor))
    before = [] if factor == 1.0 else ["Tensor.__mul__.0.forward"]
    assert [finding.name for finding in findings] == [*before, call]


@pytest.mark.parametrize("factor", [1.0, 3.0])
def test_data_that_stays_the_same_is_not(factor: float, tmp_path: Path) -> None:
    far: Change = lambda t: t.clamp(-9.0, 9.0)  # noqa: E731  # one of a table of steps
    findings = found(tmp_path, aiming(same), target=far, first=times(factor))
    assert [f.name for f in findings] == ([] if factor == 1.0 else ["Tensor.__mul__.0.forward"])


def shrunk(x: Tensor, columns: slice) -> Tensor:
    """What a few columns hold is written anew, and small; the others stay as they were."""
    y = torch.exp(x).clone()
    y[:, columns] *= 1e-4
    return torch.tanh(y)


def test_what_was_written_in_part_is_not_all_that_the_writer_put_out(tmp_path: Path) -> None:
    step: Change = lambda x: shrunk(x, slice(0, 2))  # noqa: E731  # one of a table of steps
    findings = found(tmp_path, beside(step), first=times(1.01))
    assert [f.name for f in findings] == ["Tensor.__mul__.0.forward"]


def test_a_writer_of_a_part_that_scales_otherwise_is_named_beside_it(tmp_path: Path) -> None:
    right: Change = lambda x: shrunk(x, slice(0, 2))  # noqa: E731  # one of a table of steps
    wrong: Change = lambda x: shrunk(x, slice(2, 4))  # noqa: E731  # another of it
    findings = found(tmp_path, beside(right), step=wrong, first=times(1.01))
    assert findings[0].name == "Tensor.__mul__.0.forward"
    assert len(findings) == 2
