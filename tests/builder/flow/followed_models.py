"""Small models of which tensors are followed from call to call: growing lists, heads, zeros."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import torch
from torch import nn
from torch.nn import functional as F

from tests.builder.flow.recorded_models import Model, rows


class Listing(nn.Module):
    """Layers that are given the list of all before them, and join it; begins with one alone."""

    class Layer(nn.Module):
        def __init__(self, before: int, made: int) -> None:
            super().__init__()
            self.norm, self.conv = nn.BatchNorm1d(before), nn.Conv1d(before, made, 3, padding=1)

        def forward(self, features: list[torch.Tensor]) -> torch.Tensor:
            return torch.as_tensor(self.conv(torch.tanh(self.norm(torch.cat(features, 1)))))

    def __init__(self, made: int, layers: int) -> None:
        super().__init__()
        self.stem = nn.Conv1d(2, 4, 3, padding=1)
        self.layers = nn.ModuleList(Listing.Layer(4 + made * at, made) for at in range(layers))
        self.out = nn.Linear(4 + made * layers, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        features = [self.stem(x)]
        for layer in self.layers:
            features.append(layer(features))
        return torch.as_tensor(self.out(torch.cat(features, 1).mean(2)))


class Heads(nn.Module):
    """Queries and keys of one shape, joined from halves or repeated by calls that leave no values.

    `apart`: the halves of both are made before either is joined; `scaled`: queries are read first.
    """

    def __init__(self, how: str) -> None:
        super().__init__()
        self.how = how
        self.q, self.k, self.v = (nn.Linear(8, 8) for _ in range(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (f(x).unflatten(-1, (2, -1)).transpose(1, 2) for f in (self.q, self.k, self.v))
        if self.how == "repeat":
            k, v = (one.repeat_interleave(2, dim=1) for one in (k[:, :1] * 0.9, v[:, :1] * 0.9))
        elif self.how in ("apart", "scaled"):
            halves = [(one[..., :2] * 0.9, one[..., 2:] * 0.4) for one in (q, k)]
            q, k = (torch.cat(pair, -1) for pair in halves)
        else:
            join = torch.stack if self.how == "stack" else torch.cat
            q, k = (join([one[..., :2] * 0.9, one[..., 2:] * 0.4], -1).flatten(3) for one in (q, k))
        q = q * 0.5 if self.how == "scaled" else q
        return F.scaled_dot_product_attention(q, k, v)


HEADS = ("stack", "cat", "apart", "scaled", "repeat")


class Gated(nn.Module):
    """Blocks whose modulation starts at zero, and a cut whose parts are all zeros."""

    class Block(nn.Module):
        def __init__(self, width: int) -> None:
            super().__init__()
            self.norm, self.mod = nn.LayerNorm(width), nn.Linear(width, 3 * width)
            self.one, self.other = nn.Linear(width, width), nn.Linear(width, width)
            nn.init.zeros_(self.mod.weight)
            nn.init.zeros_(self.mod.bias)

        def forward(self, x: torch.Tensor, given: torch.Tensor) -> torch.Tensor:
            shift, scale, gate = self.mod(F.silu(given)).chunk(3, -1)
            h = self.norm(x) * (1 + scale) + shift
            return x + gate * torch.as_tensor(self.other(torch.tanh(self.one(h))))

    def __init__(self) -> None:
        super().__init__()
        self.put, self.given = nn.Linear(5, 8), nn.Linear(2, 8)
        self.blocks = nn.ModuleList(Gated.Block(8) for _ in range(2))
        self.zero = nn.Linear(8, 4)
        nn.init.zeros_(self.zero.weight)
        nn.init.zeros_(self.zero.bias)

    def forward(self, x: torch.Tensor, given: torch.Tensor) -> torch.Tensor:
        x, given = self.put(x), self.given(given)
        for block in self.blocks:
            x = block(x, given)
        one, other = self.zero(x).chunk(2, -1)
        return torch.as_tensor(x.sum(-1, keepdim=True) + torch.relu(one) * torch.sigmoid(other))


class Filled(nn.Module):
    """What was given joined to what lets nothing through."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.out = nn.Linear(4, 3), nn.Linear(7, 2)
        nn.init.constant_(self.one.bias, -9.0)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.tanh(x)
        return torch.as_tensor(self.out(torch.cat([x, torch.relu(self.one(x))], dim=-1)))


def _conditioned() -> Sequence[torch.Tensor]:
    return [torch.randn(3, 5), torch.randn(3, 2)]


class Bounded(nn.Module):
    """A ratio and what bounds made of it, read one behind the other; a cast changes nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.put = nn.Linear(6, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        ratio = torch.exp(self.put(x).float())
        bounded = torch.clamp(ratio, 0.8, 1.2)
        one = ratio * 0.7
        return torch.minimum(one, bounded * 0.7)


class Ranked(nn.Module):
    """A cast of the one output of a call stands before what reads the other."""

    def __init__(self) -> None:
        super().__init__()
        self.put = nn.Linear(6, 6)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        weights, chosen = torch.topk(torch.softmax(self.put(x), -1), 2, -1)
        weights = weights.to(x.dtype)
        return (chosen == 1) * 1.5 + weights


class Flattened(nn.Module):
    """Constants of the module that are flattened one after the other and joined."""

    def __init__(self) -> None:
        super().__init__()
        self.put = nn.Linear(12, 6)
        self.kept = [torch.randn(2, 2) for _ in range(3)]

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        joined = torch.cat([one.flatten() for one in self.kept])
        return torch.as_tensor(self.put(x + joined * 0.5))


FOLLOWED = {
    "listing": Model(lambda: Listing(3, layers=4), rows(2, 2, 8)),
    # A layer makes as much as was there, and more layers than pieces are tried at once.
    "listing alike": Model(lambda: Listing(4, layers=3), rows(2, 2, 8)),
    "listing long": Model(lambda: Listing(3, layers=10), rows(2, 2, 8)),
    **{f"heads {how}": Model(partial(Heads, how), rows(2, 3, 8)) for how in HEADS},
    "gated": Model(Gated, _conditioned),
    "filled": Model(Filled, rows(3, 4)),
    "bounded": Model(Bounded, rows(3, 6)),
    "ranked": Model(Ranked, rows(3, 6)),
    "flattened": Model(Flattened, rows(3, 12)),
}
"""Of which every edge is held to what really went: lists, heads, zeros."""
