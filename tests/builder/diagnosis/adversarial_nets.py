"""Two nets that train against each other, with a penalty on gradients: one step has two optimizers.

The pass that makes the gradients of the penalty is differentiated itself, and reaches an embedding
that it had left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

import builder
from builder.work.outcome import StoredFinding
from msprobe_core import PrecisionDebugger

WIDTH, CLASSES, ROWS = 6, 5, 24


@dataclass(frozen=True)
class Fault:
    """What is wrong in a run; as it stands, nothing."""

    over: int = 1
    centre: float = 1.0
    weight: float = 10.0
    slope: float = 0.2
    forgets: str = ""
    """The last layer of this net is not given to its optimizer."""


class Maker(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem, self.last = nn.Linear(4, 16), nn.Linear(16, WIDTH)
        self.label = nn.Embedding(CLASSES, 16)

    def forward(self, noise: Tensor, label: Tensor) -> Tensor:
        made: Tensor = self.last(torch.relu(self.stem(noise) + self.label(label)))
        return made


class Judge(nn.Module):
    def __init__(self, slope: float) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(WIDTH, 16), nn.LeakyReLU(slope), nn.Linear(16, 16))
        self.label, self.last = nn.Embedding(CLASSES, 16), nn.Linear(16, 1)

    def forward(self, x: Tensor, label: Tensor) -> Tensor:
        hidden = self.body(x)
        score: Tensor = self.last(hidden).squeeze(-1) + (self.label(label) * hidden).sum(-1)
        return score


def penalty(judge: nn.Module, real: Tensor, fake: Tensor, label: Tensor, fault: Fault) -> Tensor:
    alpha = torch.rand(len(real), 1)
    mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    (slope,) = torch.autograd.grad(judge(mixed, label).sum(), mixed, create_graph=True)
    return (slope.norm(2, dim=fault.over) - fault.centre).pow(2).mean()


class Training:
    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.nets = nn.ModuleDict({"maker": Maker(), "judge": Judge(fault.slope)})
        self.optimizers = {name: self.optimizer(name) for name in ("maker", "judge")}

    def optimizer(self, name: str) -> torch.optim.Optimizer:
        net = self.nets[name]
        kept = [p for key, p in net.named_parameters() if not self.forgets(name, key)]
        return torch.optim.Adam(kept, lr=1e-2, betas=(0.5, 0.9), foreach=False)

    def forgets(self, name: str, key: str) -> bool:
        return name == self.fault.forgets and key.startswith("last.")

    def judged(self, real: Tensor, label: Tensor) -> None:
        maker, judge = self.nets["maker"], self.nets["judge"]
        with torch.no_grad():
            fake = maker(torch.randn(len(real), 4), label)
        loss = judge(fake, label).mean() - judge(real, label).mean()
        loss = loss + self.fault.weight * penalty(judge, real, fake, label, self.fault)
        self.optimizers["judge"].zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self.optimizers["judge"].step()

    def made(self, label: Tensor) -> None:
        fake = self.nets["maker"](torch.randn(len(label), 4), label)
        loss = -self.nets["judge"](fake, label).mean()
        self.optimizers["maker"].zero_grad()
        loss.backward()
        self.optimizers["maker"].step()


def recorded(path: Path, fault: Fault) -> Path:
    torch.manual_seed(0)
    training = Training(fault)
    debugger = PrecisionDebugger(level="mix", dump_path=str(path))
    for _ in range(2):
        real, label = torch.randn(ROWS, WIDTH), torch.randint(0, CLASSES, (ROWS,))
        with debugger.recording(training.nets):
            training.judged(real, label)
            training.made(label)
    debugger.close()
    return path


def found(tmp_path: Path, problem: Fault, benchmark: Fault) -> tuple[StoredFinding, ...]:
    sides = (("problem", problem), ("benchmark", benchmark))
    ours, theirs = (recorded(tmp_path / name, fault) for name, fault in sides)
    return builder.build(ours, theirs, tmp_path / "o").findings
