"""Records small programs twice, each with one fault, and writes what every outlet says of them.

`python -m tests.e2e.faults FOLDER` writes a folder for each with what `outlets.py` asks for.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import torch
from torch import Tensor, nn

import builder
from msprobe.pytorch import PrecisionDebugger
from tests.e2e.outlets import write_outlets

Change = Callable[[Tensor], Tensor]


def _same(x: Tensor) -> Tensor:
    return x


def _loss(y: Tensor) -> Tensor:
    return y.square().mean()


@dataclass(frozen=True)
class Program:
    """A network of two layers and one step of its training, by what can be changed in it."""

    data: Change = _same
    inside: Change = _same
    between: Change = _same
    loss: Change = _loss
    seed: int = 0
    rate: float = 0.01
    clip: float = 1.0
    betas: tuple[float, float] = field(default=(0.9, 0.999))


class _Inner(nn.Module):
    def __init__(self, change: Change) -> None:
        super().__init__()
        self.project, self.change = nn.Linear(16, 16), change

    def forward(self, x: Tensor) -> Tensor:
        return self.change(torch.relu(self.project(x)))


class _Net(nn.Module):
    def __init__(self, program: Program) -> None:
        super().__init__()
        self.first, self.second = _Inner(program.inside), nn.Linear(16, 4)
        self.between = program.between

    def forward(self, x: Tensor) -> Tensor:
        return torch.tanh(self.second(self.between(self.first(x))))


def _unseen(x: Tensor) -> Tensor:
    with torch._C.DisableTorchFunction():
        return x * 1.5


def _scaled(factor: float) -> Change:
    def scaled(x: Tensor) -> Tensor:
        return x * factor

    return scaled


def _clamped(x: Tensor) -> Tensor:
    return x.clamp(min=0.2)


def _detached(x: Tensor) -> Tensor:
    return x.detach()


def _low(x: Tensor) -> Tensor:
    return x.bfloat16().float()


def _squared(x: Tensor) -> Tensor:
    return x.pow(2)


def _doubled(x: Tensor) -> Tensor:
    return x.mul(2).add(0)


def _moved(x: Tensor) -> Tensor:
    return x + 1


def _nothing(x: Tensor) -> Tensor:
    return torch.log(x - x.max())


def _larger_loss(y: Tensor) -> Tensor:
    return y.square().mean() * 2


def _summed(y: Tensor) -> Tensor:
    return y.square().sum()


def _roundabout(x: Tensor) -> Tensor:
    return x.neg().neg()


_PLAIN = Program()
FAULTS: dict[str, tuple[Program, Program]] = {
    "equal": (_PLAIN, _PLAIN),
    "argument": (Program(inside=_scaled(1.5)), Program(inside=_scaled(1.0))),
    "extra": (Program(inside=_clamped), _PLAIN),
    "missing": (_PLAIN, Program(inside=_clamped)),
    "replaced": (Program(inside=_squared), Program(inside=_doubled)),
    "detached": (Program(between=_detached), _PLAIN),
    "coarse": (Program(between=_low), _PLAIN),
    "unseen": (Program(inside=_unseen), _PLAIN),
    "data": (Program(data=_moved), _PLAIN),
    "weights": (Program(seed=1), _PLAIN),
    "nan": (Program(inside=_nothing), Program(inside=_scaled(1.0))),
    "loss": (Program(loss=_larger_loss), _PLAIN),
    "reduction": (Program(loss=_summed), _PLAIN),
    "clipping": (replace(_PLAIN, clip=0.01), _PLAIN),
    "momentum": (replace(_PLAIN, betas=(0.5, 0.999)), _PLAIN),
    "roundabout": (Program(inside=_roundabout), _PLAIN),
}


def main(folder: Path) -> None:
    """Record, build and ask for all."""
    for name, sides in FAULTS.items():
        place = folder / name
        dumps = [
            _recorded(place / side, program)
            for side, program in zip(("problem", "benchmark"), sides, strict=True)
        ]
        options = builder.BuildOptions(workers=1)
        write_outlets(builder.build(dumps[0], dumps[1], place / "built", options).path, place)


def _recorded(path: Path, program: Program) -> Path:
    torch.manual_seed(program.seed)
    model = _Net(program)
    torch.manual_seed(9)
    x = program.data(torch.randn(32, 16))
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=program.rate, betas=program.betas, foreach=False
    )
    debugger = PrecisionDebugger(level="mix", dump_path=str(path))
    with debugger.recording(model):
        program.loss(model(x)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), program.clip, foreach=False)
        optimizer.step()
    debugger.close()
    return path


if __name__ == "__main__":
    main(Path(sys.argv[1]))
