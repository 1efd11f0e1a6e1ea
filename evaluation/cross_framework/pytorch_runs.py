"""Records the benchmarks: python -m evaluation.cross_framework.pytorch_runs OUT [RUN …]"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

from evaluation.cross_framework import given
from evaluation.cross_framework import pytorch_models as models
from msprobe.pytorch import PrecisionDebugger, seed_all

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "cross_framework"
Loss = Callable[[Tensor, Tensor], Tensor]
Step = Callable[[int], tuple[given.Floats | given.Ints, given.Floats | given.Ints]]


def classes(scores: Tensor, wanted: Tensor) -> Tensor:
    return F.cross_entropy(scores.reshape(-1, scores.shape[-1]), wanted.reshape(-1).long())


def numbers(found: Tensor, wanted: Tensor) -> Tensor:
    return F.mse_loss(found, wanted)


def picture(found: Tensor, _: Tensor) -> Tensor:
    return F.mse_loss(found, torch.zeros_like(found))


def record(
    out: Path,
    model: nn.Module,
    loss_of: Loss,
    batch: Step,
    adam: bool = False,
    last: bool = False,
    summed: bool = False,
) -> None:
    """Record two steps of training; `last` adds one that evaluates, `summed` sums over ranks."""
    shapes = {k: tuple(v.shape) for k, v in model.state_dict().items() if "num_batches" not in k}
    drawn = {name: torch.from_numpy(value) for name, value in given.weights(shapes).items()}
    model.load_state_dict(drawn, strict=False)
    kind = torch.optim.Adam if adam else torch.optim.SGD
    optimizer = kind(model.parameters(), lr=0.01 if adam else 0.1)
    debugger = PrecisionDebugger(dump_path=str(out), level="mix")
    for step in range(2):
        inputs, wanted = map(torch.from_numpy, batch(step))
        debugger.start(model)
        loss_of(model(inputs), wanted).backward()
        for parameter in model.parameters() if summed else ():
            dist.all_reduce(parameter.grad)
        optimizer.step()
        optimizer.zero_grad()
        debugger.stop()
        debugger.step()
    if last:
        debugger.start(model.eval())
        model(torch.from_numpy(batch(2)[0]))
        debugger.stop()
        debugger.step()
    debugger.close()


def ranks(out: Path) -> None:
    """Two ranks with a batch each, under torchrun."""
    dist.init_process_group("gloo")
    first = 10 * dist.get_rank()
    record(out, models.Named(), classes, lambda step: given.vectors(first + step), summed=True)
    dist.destroy_process_group()


def transformer(out: Path, seed: int) -> None:
    sys.path.insert(0, str(EXAMPLE))
    import in_pytorch

    in_pytorch.train(str(out), seed)


RUNS: Mapping[str, Callable[[Path], None]] = {
    "transformer": lambda out: transformer(out, 7),
    "seed": lambda out: transformer(out, 8),
    "cnn": lambda out: record(out, models.Cnn(), classes, given.images, last=True),
    "lstm": lambda out: record(out, models.Recurrent(), numbers, given.sequences),
    "attention": lambda out: record(out, models.Attending(), classes, given.vectors),
    "tied": lambda out: record(out, models.Tied(), classes, given.words),
    "ranks": ranks,
    "names": lambda out: record(out, models.Named(), classes, given.vectors),
    "autoencoder": lambda out: record(out, models.Autoencoder(), picture, given.images),
    "gru": lambda out: record(out, models.BothWays(), numbers, given.sequences),
    "separable": lambda out: record(out, models.Separable(), classes, given.images),
    "vision": lambda out: record(out, models.Vision(), classes, given.images),
    "text": lambda out: record(out, models.TextCnn(), numbers, given.sequences),
    "unrolled": lambda out: record(out, models.Unrolled(), classes, given.vectors),
    "experts": lambda out: record(out, models.Experts(), classes, given.vectors),
    "mint": lambda out: record(out, models.Gated(), classes, given.vectors, adam=True),
}


def main() -> None:
    out, *names = sys.argv[1:]
    torch.set_num_threads(1)
    for name in names or [run for run in RUNS if run != "ranks"]:
        seed_all(1)
        RUNS[name](Path(out) / name)


if __name__ == "__main__":
    main()
