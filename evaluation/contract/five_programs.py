"""Five unlike programs that both tools record: `python five_programs.py PROGRAM OUT [RANK STORE]`.

Step 0 is sound; in step 1, from the same weights and data, one call in the middle is half as large
again. Run by the Python of either tool: `msprobe.pytorch` is that of the environment.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch import Tensor, nn

FAULT = 1.5


class Attention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.heads = heads

    def forward(self, x: Tensor, mask: Tensor | None = None) -> tuple[Tensor, None]:
        b, t, w = x.shape
        q, k, v = (
            part.view(b, t, self.heads, -1).transpose(1, 2) for part in self.qkv(x).chunk(3, -1)
        )
        weights = q @ k.transpose(-2, -1) / (w // self.heads) ** 0.5
        if mask is not None:
            weights = weights.masked_fill(mask, float("-inf"))
        mixed = F.dropout(F.softmax(weights, dim=-1), p=0.0) @ v
        return self.out(mixed.transpose(1, 2).reshape(b, t, w)), None


class Transformer(nn.Module):
    """Causal attention, gated feed-forward parts, tied embedding, gradients and an optimizer."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(31, 16)
        self.blocks = nn.ModuleList(
            nn.ModuleDict(
                {
                    "norm": nn.LayerNorm(16),
                    "attention": Attention(16, 2),
                    "norm2": nn.LayerNorm(16),
                    "up": nn.Linear(16, 32),
                    "down": nn.Linear(32, 16),
                }
            )
            for _ in range(2)
        )
        self.norm = nn.LayerNorm(16)
        self.fault = False

    def forward(self, ids: Tensor, labels: Tensor) -> Tensor:
        mask = torch.triu(torch.ones(ids.shape[1], ids.shape[1], dtype=torch.bool), diagonal=1)
        x = self.embed(ids) + torch.arange(ids.shape[1]).unsqueeze(-1) * 0.01
        for number, block in enumerate(self.blocks):
            x = x + block["attention"](block["norm"](x), mask=mask)[0]
            hidden = F.gelu(block["up"](block["norm2"](x)), approximate="tanh")
            if number == 1 and self.fault:
                hidden = hidden * FAULT
            x = x + block["down"](hidden)
        logits = F.linear(self.norm(x), self.embed.weight)
        return F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)


class Convolutions(nn.Module):
    """Batch norm behind convolutions with a bias, pooling, a residual and a flattened head."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU())
        self.second = nn.Conv2d(8, 8, 3, stride=2, padding=1, bias=True)
        self.norm = nn.BatchNorm2d(8)
        self.head = nn.Linear(8 * 4 * 4, 5)
        self.fault = False

    def forward(self, images: Tensor, labels: Tensor) -> Tensor:
        x = self.first(images)
        y = F.relu_(self.norm(self.second(x)))
        if self.fault:
            y = y * FAULT
        y = y + F.avg_pool2d(x, 2)
        pooled, places = F.max_pool2d(y, 2, return_indices=True)
        assert places.dtype is torch.int64
        return F.cross_entropy(self.head(torch.flatten(pooled, 1)), labels)


class Recurrent(nn.Module):
    """Integers, truth values, slices, one-element tensors and what is no tensor at all."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(11, 6, padding_idx=0)
        self.cell = nn.GRU(6, 6, batch_first=True)
        self.head = nn.Linear(6, 3)
        self.fault = False

    def forward(self, ids: Tensor, labels: Tensor) -> dict[str, Any]:
        lengths = (ids != 0).sum(dim=1)
        states, last = self.cell(self.embed(ids))
        if self.fault:
            states = states * FAULT
        picked = states[torch.arange(len(ids)), lengths - 1]
        kept = torch.cat([picked[:, :3], picked[..., 3:]], dim=-1).clamp(min=-0.9, max=0.9)
        scores = self.head(kept.to(torch.float64).to(torch.float32))
        best, place = scores.topk(2, dim=-1, sorted=True)
        loss = F.nll_loss(F.log_softmax(scores, -1), labels, reduction="sum") / lengths.sum()
        return {"loss": loss, "best": (best, place), "last": [last, None], "count": len(ids)}


class Shares(nn.Module):
    """Each rank has half of a batch; what they find is added up and gathered."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(6, 12), nn.Linear(12, 6)
        self.fault = False

    def forward(self, x: Tensor, labels: Tensor) -> Tensor:
        hidden = torch.tanh(self.first(x))
        if self.fault and dist.get_rank() == 1:
            hidden = hidden * FAULT
        out = self.second(hidden)
        total = out.detach().clone()
        dist.all_reduce(total)
        parts = [torch.empty_like(total) for _ in range(dist.get_world_size())]
        dist.all_gather(parts, out.detach() + total)
        dist.broadcast(total, src=0)
        return (out - labels).square().mean() + torch.stack(parts).mean() * 0


def _tokens(words: int, *shape: int) -> Tensor:
    return torch.randint(1, words, shape)


PROGRAMS: dict[str, tuple[type[nn.Module], dict[str, Any], Callable[[], tuple[Tensor, Tensor]]]] = {
    "transformer": (
        Transformer,
        {"task": "statistics", "level": "mix"},
        lambda: (_tokens(31, 2, 7), _tokens(31, 2, 7)),
    ),
    "cnn": (
        Convolutions,
        {"task": "statistics", "level": "mix"},
        lambda: (torch.randn(4, 3, 16, 16), _tokens(5, 4)),
    ),
    "md5": (
        Recurrent,
        {"task": "statistics", "level": "mix", "statistics": {"summary_mode": "md5"}},
        lambda: (_tokens(11, 3, 5), _tokens(3, 3)),
    ),
    "tensors": (
        Recurrent,
        {"task": "tensor", "level": "mix"},
        lambda: (_tokens(11, 3, 5), _tokens(3, 3)),
    ),
    "ranks": (
        Shares,
        {"task": "statistics", "level": "mix"},
        lambda: (torch.randn(3, 6), torch.randn(3, 6)),
    ),
}


def main() -> None:
    name, out = sys.argv[1], Path(sys.argv[2])
    rank = 0
    if len(sys.argv) > 3:
        rank = int(sys.argv[3])
        dist.init_process_group(
            "gloo", init_method=f"file://{sys.argv[4]}", rank=rank, world_size=2
        )
    from msprobe.pytorch import PrecisionDebugger

    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    kind, config, data = PROGRAMS[name]
    config = {"dump_path": str(out), "rank": [], "step": [], **config}
    config.setdefault(config["task"], {"list": []})
    path = out.with_name(f"{out.name}-{rank}.json")
    path.write_text(json.dumps(config))
    torch.manual_seed(5)
    model = kind()
    start = {key: value.clone() for key, value in model.state_dict().items()}
    torch.manual_seed(7 + rank)
    inputs = data()
    debugger = PrecisionDebugger(config_path=str(path))
    for fault in (False, True):
        model.load_state_dict(start)
        model.zero_grad()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
        model.fault = fault
        debugger.start(model=model)
        found = model(*inputs)
        (found["loss"] if isinstance(found, dict) else found).backward()
        optimizer.step()
        debugger.stop()
        debugger.step()
    if rank or len(sys.argv) > 3:
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
