"""Faults hardly larger than what bfloat16 rounds: they are no other way, and not silent."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

import builder
from builder.work.outcome import StoredFinding
from msprobe.pytorch import PrecisionDebugger

WIDTH, LENGTH, CLASSES = 32, 12, 50


class Decoder(nn.Module):
    """Layers of tokens in bfloat16; what a subclass changes is wrong where the run is."""

    def __init__(self, wrong: bool) -> None:
        super().__init__()
        self.wrong = wrong
        self.embed, self.inner = nn.Embedding(CLASSES, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, CLASSES)

    def between(self, x: Tensor) -> Tensor:
        return x

    def forward(self, tokens: Tensor) -> Tensor:
        embedded = self.embed(tokens)
        return self.head(self.between(embedded + torch.tanh(self.inner(embedded))))  # type: ignore[no-any-return]  # torch's modules return anything

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        return functional.cross_entropy(logits.flatten(0, 1), labels.flatten())


class OtherEpsilon(Decoder):
    def between(self, x: Tensor) -> Tensor:
        return x / (x.norm(dim=-1, keepdim=True) + (0.1 if self.wrong else 1e-6))


class OtherVariance(Decoder):
    def between(self, x: Tensor) -> Tensor:
        spread = x.var(-1, keepdim=True, unbiased=self.wrong)
        return (x - x.mean(-1, keepdim=True)) / (spread + 1e-5).sqrt()


class FirstTokenLeftOut(Decoder):
    """The loss is rounded to the same number; gradients are off by a third."""

    def loss(self, logits: Tensor, labels: Tensor) -> Tensor:
        if self.wrong:
            logits, labels = logits[:, 1:], labels[:, 1:]
        return super().loss(logits, labels)


class CutInTime(Decoder):
    """Earlier calls of a recurrent cell get no gradient; later ones add up to more than they."""

    def __init__(self, wrong: bool) -> None:
        super().__init__(wrong)
        self.cell = nn.GRUCell(WIDTH, WIDTH)

    def between(self, x: Tensor) -> Tensor:
        state, states = torch.zeros(len(x), WIDTH, dtype=x.dtype), []
        for time in range(x.shape[1]):
            state = self.cell(x[:, time].detach(), state)
            if self.wrong and time == LENGTH // 2:
                state = state.detach()
            states.append(state)
        return x + states[-1][:, None]


def findings(tmp_path: Path, program: type[Decoder]) -> tuple[StoredFinding, ...]:
    sides = []
    for wrong in (True, False):
        torch.manual_seed(0)
        model = program(wrong).to(torch.bfloat16)
        tokens = torch.randint(0, CLASSES, (8, LENGTH + 1))
        debugger = PrecisionDebugger(level="mix", dump_path=str(tmp_path / str(wrong)))
        with debugger.recording(model):
            loss = model.loss(model(tokens[:, :-1]), tokens[:, 1:])
            loss.backward()  # type: ignore[no-untyped-call]  # torch declares no types here
        debugger.close()
        sides.append(tmp_path / str(wrong))
    return builder.build(*sides, tmp_path / "o").findings


@pytest.mark.parametrize(
    ("program", "call"),
    [
        (OtherEpsilon, "Tensor.__add__.1.forward"),
        (OtherVariance, "Tensor.var.0.forward"),
        (FirstTokenLeftOut, "Tensor.__getitem__."),
        (CutInTime, "Tensor.detach."),
    ],
)
def test_a_fault_is_named_and_does_not_heal(
    tmp_path: Path, program: type[Decoder], call: str
) -> None:
    (found,) = findings(tmp_path, program)
    assert found.name.startswith(call)
    assert not found.heals
