"""A training that both monitors follow on each subset of its ranks in turn: DIR KIND.

Beside the tables of a case each rank writes `true<rank>.json`: norms in float64 of the pieces that
it holds, of gradients as the optimizer takes them and of weights after its step.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn

from msprobe.core.monitor_v2.trainer import TrainerMonitorV2
from msprobe.pytorch import TrainerMon
from tests.msprobe.pytorch.trend_followers import LIMIT, STEPS, WIDTH, make

KINDS = ("xy_distribution", "wg_distribution", "mv_distribution", "param_distribution")
MONITORS = ("module", "weight_grad", "optimizer", "param")


def norm(tensor: torch.Tensor) -> float | None:
    """Of this rank's piece; None where it holds nothing."""
    piece = tensor.to_local() if hasattr(tensor, "to_local") else tensor
    return piece.detach().double().norm().item() if piece.numel() else None


def begin(folder: Path, model: nn.Module, optimizer: torch.optim.Optimizer) -> list[object]:
    """Both monitors, with everything that they measure, collectives included."""
    folder.mkdir(parents=True, exist_ok=True)
    one, other = folder / f"v1-{dist.get_rank()}.json", folder / f"v2-{dist.get_rank()}.json"
    asked = {**dict.fromkeys(KINDS, True), "cc_distribution": {"enable": True}}
    one.write_text(json.dumps({"targets": {}, "ops": ["norm"], "ndigits": 12, **asked}))
    monitors = {name: {"enabled": True, "ops": ["norm"]} for name in MONITORS}
    other.write_text(json.dumps({"output_dir": str(folder / "v2"), "monitors": monitors}))
    os.environ["MONITOR_OUTPUT_DIR"] = str(folder / "v1")
    first, second = TrainerMon(one), TrainerMonitorV2(other)
    first.set_monitor(model, optimizer)
    second.start(model=model, optimizer=optimizer)
    return [first.close, second.stop]


def train(folder: Path, kind: str, followers: tuple[int, ...]) -> None:
    rank = dist.get_rank()
    model = make(kind, dist.get_world_size())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    ends = begin(folder, model, optimizer) if rank in followers else []
    torch.manual_seed(rank)
    true: list[dict[str, list[float | None]]] = []
    for _ in range(STEPS):
        optimizer.zero_grad()
        model(torch.randn(4, WIDTH)).square().sum().backward()
        taken = {name: norm(p.grad) for name, p in model.named_parameters() if p.grad is not None}
        optimizer.step()
        true.append({name: [taken[name], norm(p)] for name, p in model.named_parameters()})
    for end in ends:
        end()  # type: ignore[operator]
    (folder.parent / f"{folder.name}-true{rank}.json").write_text(json.dumps(true))


def subsets(world: int) -> list[tuple[int, ...]]:
    """All of them but the empty one."""
    counts = range(1, world + 1)
    return [each for count in counts for each in itertools.combinations(range(world), count)]


def main(directory: str, kind: str) -> None:
    dist.init_process_group("gloo", timeout=LIMIT)
    for followers in subsets(dist.get_world_size()):
        train(Path(directory) / "".join(map(str, followers)), kind, followers)


if __name__ == "__main__":
    main(*sys.argv[1:])
