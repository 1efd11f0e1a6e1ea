"""Small models whose flow leaves what is recorded by default, and dumps of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import torch
from torch import nn
from torch.nn import functional as F

from msprobe_core import PrecisionDebugger


class Model(NamedTuple):
    """A model, what it is called with, and the level at which it is recorded."""

    make: Callable[[], nn.Module]
    inputs: Callable[[], Sequence[torch.Tensor]]
    level: str = "mix"
    autocast: bool = False


class Skips(nn.Module):
    """Encoder and decoder with skips that are joined, as a U-Net has them."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.ModuleList([nn.Conv1d(2, 4, 3, padding=1), nn.Conv1d(4, 8, 3, padding=1)])
        self.up = nn.ModuleList([nn.Conv1d(16, 4, 3, padding=1), nn.Conv1d(8, 3, 3, padding=1)])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        kept = []
        for block in self.down:
            x = torch.tanh(block(x))
            kept.append(x)
            x = F.avg_pool1d(x, 2)
        for block in self.up:
            x = torch.cat([F.interpolate(x, scale_factor=2.0), kept.pop()], dim=1)
            x = torch.tanh(block(x))
        return x


class Branches(nn.Module):
    """Four branches of one input, joined; the outputs of each but its last stay inside."""

    def __init__(self) -> None:
        super().__init__()
        sizes = [(3,), (4, 3), (5, 4, 3), (2,)]
        self.branches = nn.ModuleList()
        for wide in sizes:
            widths = [6, *wide]
            layers = [nn.Linear(a, b) for a, b in pairwise(widths)]
            self.branches.append(nn.Sequential(*layers))
        self.head = nn.Linear(11, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.as_tensor(self.head(torch.cat([each(x) for each in self.branches], dim=-1)))


class Attention(nn.Module):
    """One product for queries, keys and values, cut into three; heads by view and transpose."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.norm, self.qkv = nn.LayerNorm(width), nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        parts = self.qkv(self.norm(x)).chunk(3, dim=-1)
        q, k, v = (part.unflatten(-1, (2, -1)).transpose(1, 2) for part in parts)
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        return x + torch.as_tensor(self.out(mixed))


class Experts(nn.Module):
    """Each token to one of three experts, put back by index_add."""

    def __init__(self, width: int = 6) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.experts = nn.ModuleList(nn.Linear(width, width) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        h = self.norm(x)
        out = torch.zeros_like(h)
        for at, expert in enumerate(self.experts):
            chosen = torch.arange(len(h)) % 3 == at
            index = chosen.nonzero()[:, 0]
            out = out.index_add(0, index, torch.tanh(expert(h[index])))
        return x + out


class Layers(nn.Module):
    """Two layers of pre-norm residuals; at level L0 nobody sees the sums."""

    class Layer(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.norm1, self.mix = nn.LayerNorm(width), nn.Linear(width, width)
            self.norm2, self.ffn = nn.LayerNorm(width), nn.Linear(width, width)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = x + self.mix(self.norm1(x))
            return x + torch.as_tensor(self.ffn(self.norm2(x)))

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.embed = nn.Linear(5, width)
        self.layers = nn.ModuleList(Layers.Layer(width) for _ in range(2))
        self.norm = nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return torch.as_tensor(self.norm(x))


class Crossing(nn.Module):
    """A decoder of two layers that reads the encoder's output in each."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.encode, self.decode = nn.Linear(4, width), nn.Linear(3, width)
        self.cross = nn.ModuleList(nn.MultiheadAttention(width, 2) for _ in range(2))

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        memory = torch.tanh(self.encode(source)).transpose(0, 1)
        x = self.decode(target).transpose(0, 1)
        for cross in self.cross:
            x = x + cross(x, memory, memory, need_weights=False)[0]
        return torch.as_tensor(x)


class Dense(nn.Module):
    """Each layer reads all that came before it, joined anew."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(4 + 3 * at, 3) for at in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.tanh(x)
        for layer in self.layers:
            x = torch.cat([x, torch.relu(layer(x))], dim=-1)
        return x * 2


class Grouped(nn.Module):
    """Rotary queries and keys, whose halves are cut by index; keys repeated for groups of heads."""

    def __init__(self) -> None:
        super().__init__()
        self.q, self.k = nn.Linear(8, 16), nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q = self.q(x).unflatten(-1, (4, -1)).transpose(1, 2)
        k = self.k(x).unflatten(-1, (2, -1)).transpose(1, 2)
        q, k = (one * 0.9 + torch.cat((-one[..., 2:], one[..., :2]), -1) * 0.4 for one in (q, k))
        k = k.repeat_interleave(2, dim=1)
        return q @ k.transpose(2, 3)


class Patches(nn.Module):
    """Patches behind a learnt token, which alone is read at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.patch, self.token = nn.Conv1d(2, 8, 2, 2), nn.Parameter(torch.randn(1, 1, 8))
        self.mix, self.head = nn.Linear(8, 8), nn.Linear(8, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.patch(x).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], dim=1)
        return torch.as_tensor(self.head(torch.tanh(self.mix(x))[:, 0]))


class Steps(nn.Module):
    """A recurrence over unbound steps, stacked again."""

    def __init__(self) -> None:
        super().__init__()
        self.put, self.cell, self.out = nn.Linear(3, 5), nn.Linear(10, 5), nn.Linear(5, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state, seen = torch.zeros(len(x), 5), []
        for step in torch.tanh(self.put(x)).unbind(1):
            state = torch.tanh(self.cell(torch.cat([step, state], dim=-1)))
            seen.append(state)
        return torch.as_tensor(self.out(torch.stack(seen, dim=1)))


class Masked(nn.Module):
    """A mask that is made by calls without values, and padding."""

    def __init__(self) -> None:
        super().__init__()
        self.mix, self.conv = nn.Linear(6, 6), nn.Conv1d(6, 4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        scores = self.mix(x)
        mask = torch.triu(torch.ones(6, 6), 1).bool()
        x = scores.masked_fill(mask, -4.0).detach()
        return torch.relu(torch.as_tensor(self.conv(F.pad(x, (1, 1)))))


class Targets(nn.Module):
    """A loss of logits and of the ids that follow, each flattened right before it, or ids alone."""

    def __init__(self, both: bool) -> None:
        super().__init__()
        self.both, self.embed, self.head = both, nn.Embedding(7, 6), nn.Linear(6, 7)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        if self.both:
            logits = self.head(torch.tanh(self.embed(ids[:, :-1])))
            return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
        logits = self.head(torch.tanh(self.embed(ids[:, :-1].flatten())))
        return F.cross_entropy(logits, ids[:, 1:].flatten())


class Grow(nn.Module):
    """Joins what was given to what a convolution makes of it; at the end of the module itself."""

    def __init__(self, before: int) -> None:
        super().__init__()
        self.norm, self.conv = nn.GroupNorm(1, before), nn.Conv1d(before, 3, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([x, self.conv(torch.relu(self.norm(x)))], dim=1)


class Growing(nn.Module):
    """Blocks that grow in a row, and two heads, of which one reads the middle.

    Both heads have biases of one length, whose gradients are equal: one sum leads to both.
    """

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv1d(2, 4, 3, padding=1)
        self.blocks = nn.ModuleList(nn.Sequential(Grow(n), Grow(n + 3)) for n in (4, 10))
        self.small, self.out = nn.Linear(10, 3), nn.Linear(16, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = middle = self.blocks[0](self.stem(x))
        x = self.blocks[1](x)
        return torch.as_tensor(self.out(x.mean(2)) + self.small(middle.mean(2)))


class Three(nn.Module):
    """What was given and two functions of it, joined or stacked."""

    def __init__(self, how: Callable[..., torch.Tensor], axis: int) -> None:
        super().__init__()
        self.how, self.axis = how, axis
        self.one, self.other = nn.Linear(5, 5), nn.Linear(5, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.how([x, self.one(x), torch.tanh(self.other(x))], dim=self.axis)


class Shared(nn.Module):
    """A part of a product read by two modules, and both outputs of a recurrent one joined."""

    def __init__(self) -> None:
        super().__init__()
        self.put, self.read = nn.Linear(5, 8), nn.GRU(4, 4, batch_first=True)
        self.gate, self.out = nn.Linear(4, 4), nn.Linear(8, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        one, other = self.put(x).chunk(2, dim=-1)
        steps, last = self.read(one)
        ends = torch.cat([steps.mean(1), last[-1]], dim=-1)
        return torch.as_tensor(self.out(ends)) + torch.sigmoid(self.gate(other)).mean()


def rows(*shape: int) -> Callable[[], Sequence[torch.Tensor]]:
    return lambda: [torch.randn(*shape)]


def _ids() -> Sequence[torch.Tensor]:
    return [torch.randint(0, 7, (2, 5))]


BUILT_WITH = {
    "skips": Model(Skips, rows(2, 2, 8)),
    "branches": Model(Branches, rows(5, 6)),
    "chunks": Model(lambda: nn.Sequential(Attention(), Attention()), rows(2, 5, 8)),
    "experts": Model(Experts, rows(12, 6)),
    "residuals": Model(Layers, rows(2, 3, 5), level="L0"),
    "crossing": Model(Crossing, lambda: [torch.randn(2, 6, 4), torch.randn(2, 3, 3)]),
    "targets": Model(lambda: Targets(both=True), _ids),
    "labels": Model(lambda: Targets(both=False), _ids),
    "casts": Model(Layers, rows(2, 3, 5), autocast=True),
    "growing": Model(Growing, rows(2, 2, 8)),
    "three": Model(lambda: nn.Sequential(nn.Linear(5, 5), Three(torch.cat, -1)), rows(4, 5)),
}
"""What the rules were found with."""

HELD_BACK = {
    "dense": Model(Dense, rows(3, 4)),
    "grouped": Model(Grouped, rows(2, 3, 8)),
    "patches": Model(Patches, rows(2, 2, 8)),
    "steps": Model(Steps, rows(2, 3, 3)),
    "masked": Model(Masked, rows(2, 6, 6)),
    "stacked": Model(
        lambda: nn.Sequential(nn.Linear(5, 5), Three(torch.stack, 1), nn.Linear(5, 2)), rows(4, 5)
    ),
    "shared": Model(Shared, rows(2, 3, 5)),
}
"""What they were judged by, once."""


def record(
    model: Model,
    folder: Path,
    *,
    risk_level: str = "FOCUS",
    task: str = "statistics",
    watch: AbstractContextManager[object] | None = None,
) -> Path:
    """The dump of one step of a model, forward and backward, always the same.

    `watch` is open while the forward pass runs.
    """
    torch.manual_seed(3)
    made, inputs = model.make(), model.inputs()
    settings = folder / "config.json"
    settings.write_text(
        f'{{"task": "{task}", "level": "{model.level}", "risk_level": "{risk_level}", '
        f'"dump_path": "{folder}"}}'
    )
    debugger = PrecisionDebugger(config_path=str(settings))
    debugger.start(model=made)
    with torch.autocast("cpu", torch.bfloat16, enabled=model.autocast), watch or nullcontext():
        out = made(*inputs)
    out.float().square().sum().backward()
    debugger.stop()
    debugger.step()
    return next(folder.glob("step0/*"))
