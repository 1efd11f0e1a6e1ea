"""Sound runs have no row that is an error: what rounds otherwise, and what is there once more."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests.builder.dumps import backward, forward, tensor, write_dump
from tests.builder.tables.programs import compared, recorded, spoken

REPLACED = tuple(f"Functional.{name}.{n}.backward" for name in ("linear", "conv2d") for n in (0, 1))


class Normed(nn.Module):
    """A bias before a norm over the same channels: its gradient is zero but for rounding."""

    def __init__(self, kind: str) -> None:
        super().__init__()
        torch.manual_seed(1)
        if kind == "batch":
            self.inner: nn.Module = nn.Conv2d(3, 6, 3)
            self.norm: nn.Module = nn.BatchNorm2d(6)
        elif kind == "instance":
            self.inner = nn.Conv2d(3, 6, 3)
            self.norm = nn.InstanceNorm2d(6, affine=True)
        else:
            self.inner = nn.Linear(8, 6)
            self.norm = nn.BatchNorm1d(6)
        self.head = nn.Linear(6, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = F.gelu(self.norm(self.inner(x)))
        pooled = y.mean(dim=(2, 3)) if y.dim() == 4 else y
        return F.cross_entropy(self.head(pooled), torch.arange(len(x)) % 2)


@pytest.mark.parametrize("task", ["statistics", "tensor"])
@pytest.mark.parametrize("kind", ["batch", "instance", "linear"])
def test_a_bias_before_a_norm_under_another_rounding(
    tmp_path: Path, task: str, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.manual_seed(0)
    x = torch.randn(16, 8) if kind == "linear" else torch.randn(16, 3, 12, 12)
    steps = []
    for name in ("problem", "benchmark"):
        if name == "benchmark":
            for function in ("linear", "conv2d"):
                monkeypatch.setattr(F, function, _rounded_once(getattr(F, function)))
        model = Normed(kind)
        steps.append(recorded(tmp_path / name, lambda m=model: m(x), model, task=task))
    rows, result = compared(*steps, tmp_path / "tables")
    assert len(rows) > 40
    bias = next(r for r in rows if "parameters_grad" in r["NPU Name"] and "bias" in r["NPU Name"])
    assert bias["NPU l2norm"] != bias["Bench l2norm"]
    assert {row["Result"] for row in rows if row["Score"] == "0.0"} == {"pass"}
    errors = [row["NPU Name"] for row in rows if row["Result"] == "error"]
    # A replaced function has a graph of its own, whose last node shows other gradients.
    assert [name for name in errors if not name.startswith(REPLACED)] == []
    assert result.findings == ()


def _rounded_once(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    def rounded(*args: object) -> torch.Tensor:
        wide = (a.double() if isinstance(a, torch.Tensor) else a for a in args)
        return function(*wide).float()

    return rounded


class Twice(nn.Module):
    """Calls something once more than it needs, just before the call whose result it uses."""

    def __init__(self, form: str, extra: bool) -> None:
        super().__init__()
        torch.manual_seed(1)
        self.first, self.last = nn.Linear(6, 6), nn.Linear(6, 6)
        self.act, self.form, self.extra = nn.GELU(), form, extra

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.first(x)
        return self.last(self._activated(h)).square().mean()

    def _activated(self, h: torch.Tensor) -> torch.Tensor:
        if self.form == "function":
            return [F.gelu(h) for _ in range(1 + self.extra)][-1]
        if self.form == "after":
            kept, *_ = [F.gelu(h) for _ in range(1 + self.extra)]
            return kept
        if self.form == "other data":
            given = [torch.ones_like(h)] * self.extra + [h]
            return [F.gelu(each) for each in given][-1]
        if self.form == "detached":
            with torch.no_grad():
                for _ in range(self.extra):
                    F.gelu(h)
            return F.gelu(h)
        return [self.act(h) for _ in range(1 + self.extra)][-1]


@pytest.mark.parametrize("level", ["L1", "mix"])
@pytest.mark.parametrize("passes_back", [True, False])
@pytest.mark.parametrize("side", ["problem", "benchmark"])
@pytest.mark.parametrize("form", ["function", "after", "other data", "detached", "module"])
def test_a_call_more_whose_result_nothing_uses(
    tmp_path: Path, form: str, side: str, level: str, passes_back: bool
) -> None:
    torch.manual_seed(0)
    x = torch.randn(4, 6)
    steps = []
    for name in ("problem", "benchmark"):
        model = Twice(form, extra=name == side)
        steps.append(
            recorded(
                tmp_path / name,
                lambda m=model: m(x),
                model,
                level=level,
                passes_back=passes_back,
                extra_info=form != "detached",
            )
        )
    rows, _ = compared(*steps, tmp_path / "tables")
    said = spoken(rows)
    assert {name for name in said if ".backward" in name or "parameters_grad" in name} == set()
    assert {json.loads(text)[0].partition(":")[0] for text in said.values()} <= {"warning"}
    assert len(said) <= 6


@pytest.mark.parametrize("side", ["problem", "benchmark"])
def test_null_beside_nothing_is_no_difference(tmp_path: Path, side: str) -> None:
    for name in ("problem", "benchmark"):
        outputs: list[object] = [tensor(), None] if name == side else [tensor()]
        call = "Module.a.Attention.backward.0"
        data = {"Torch.exp.0.forward": forward([tensor()], [tensor()])}
        write_dump(tmp_path / name, {**data, call: backward([tensor()], outputs)}, {call: None})
    rows, _ = compared(tmp_path / "problem", tmp_path / "benchmark", tmp_path / "tables")
    assert spoken(rows) == {}


def test_a_value_that_is_not_compared_is_no_warning_also_beside_an_error(tmp_path: Path) -> None:
    """What beta = 0 leaves unread has a reason and passes; the output of that call does not."""
    for name, factor in (("problem", 3.0), ("benchmark", 1.0)):
        inputs = [tensor(factor), tensor(), tensor()]
        call = forward(inputs, [tensor(factor * factor)])
        call["input_kwargs"] = {"beta": {"type": "float", "value": 0.0}}
        write_dump(tmp_path / name, {"Torch.addmm.0.forward": call}, {})
    rows, _ = compared(tmp_path / "problem", tmp_path / "benchmark", tmp_path / "tables")
    said = spoken(rows)
    assert "Torch.addmm.0.forward.output.0" in said
    assert "Torch.addmm.0.forward.input.0" not in said
    (unread,) = [row for row in rows if row["NPU Name"] == "Torch.addmm.0.forward.input.0"]
    assert (unread["Result"], unread["Err_message"]) == ("pass", "[]")
    assert "does not read it" in unread["Reason"]
