"""Small models of which most calls leave no values: joined, cut, turned, bounded, written in place.

Those of `HELD_BACK` were written after the recorder was done.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import torch
from torch import nn
from torch.nn import functional as F

from tests.builder.flow.recorded_models import Model, rows

Step = Callable[[torch.Tensor], torch.Tensor]


class Of(nn.Module):
    """A linear layer, and what a function makes of its output."""

    def __init__(self, step: Step) -> None:
        super().__init__()
        self.put, self.step = nn.Linear(8, 8), step

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.step(self.put(x))


def joined(x: torch.Tensor) -> torch.Tensor:
    a, b = torch.sin(x), torch.cos(x)
    return torch.tanh(torch.cat([b, a], dim=-1)) * torch.stack((a, b), 1).flatten(1)


def cut(x: torch.Tensor) -> torch.Tensor:
    a, b = x.chunk(2, dim=-1)
    c, d, e = torch.split(torch.sin(x), [2, 2, 4], dim=-1)
    return torch.exp(b) * a + e * torch.cat((d, c), -1)


def turned(x: torch.Tensor) -> torch.Tensor:
    y = x.reshape(-1, 2, 4).permute(0, 2, 1)
    z = x.view(-1, 4, 2).transpose(1, 2).contiguous().transpose(1, 2)
    return torch.sin(y) * z + torch.tanh(y.expand(-1, -1, 2))


def alike(x: torch.Tensor) -> torch.Tensor:
    one, other = x.reshape(-1, 2, 4), x.reshape(-1, 2, 4)
    return torch.sin(other) + torch.exp(one)


def indexed(x: torch.Tensor) -> torch.Tensor:
    last, first = x[:, -4:], x[:, :4]
    chosen = x[torch.tensor([1, 0]), 2:6]
    return torch.sin(first)[:2] * chosen + torch.cos(last)[:2]


def written(x: torch.Tensor) -> torch.Tensor:
    y = torch.zeros_like(x)
    y[:, :4] = torch.sin(x)[:, :4]
    y[:, 4:] = 2.0
    return torch.exp(y)


def bounded(x: torch.Tensor) -> torch.Tensor:
    kept = torch.where(x > 0, x.clamp(-0.5, 0.5), torch.sin(x))
    return torch.tanh(kept.masked_fill(x > 1, 0.0).float())


def rearranged(x: torch.Tensor) -> torch.Tensor:
    """What `rearrange` and `repeat` of einops do."""
    heads = x.reshape(-1, 2, 2, 2).permute(2, 0, 1, 3).reshape(2, -1, 4)
    spread = heads.unsqueeze(2).expand(-1, -1, 3, -1).reshape(2, -1, 4)
    return torch.sin(spread) + torch.cos(heads).repeat_interleave(3, dim=1)


def looped(x: torch.Tensor) -> torch.Tensor:
    parts, state = [], x[:, :2]
    for at in range(4):
        state = torch.tanh(state + x[:, 2 * at : 2 * at + 2])
        parts.append(state)
    return torch.exp(torch.stack(parts, dim=1)).flatten(1)


def scattered(x: torch.Tensor) -> torch.Tensor:
    at = torch.arange(2)
    out = torch.zeros(2, 8).index_put_((at,), torch.sin(x)[:2])
    return torch.cos(out.index_add(0, at, x[:2]))


def copied(x: torch.Tensor) -> torch.Tensor:
    y = torch.empty_like(x)
    y.copy_(torch.sin(x))
    return torch.exp(y.t()).t() * x.unflatten(-1, (4, 2)).flatten(1)


def unbound(x: torch.Tensor) -> torch.Tensor:
    a, b, *_ = x.unbind(dim=-1)
    h, v = torch.hstack((b, a)), torch.vstack((a, b))
    return torch.sin(h).sum() * torch.cos(v)


def padded(x: torch.Tensor) -> torch.Tensor:
    return torch.sin(F.pad(x, (1, 1))).narrow(-1, 1, 8) * x.roll(1, -1).flip(0)


def in_a_thread(x: torch.Tensor) -> torch.Tensor:
    found: list[torch.Tensor] = []

    def work(part: torch.Tensor) -> None:
        found.append(torch.sin(part))

    thread = threading.Thread(target=work, args=(x.chunk(2, -1)[1],))
    thread.start()
    thread.join()
    return torch.cat([found[0], x[:, :4]], -1)


_STEPS = {
    step.__name__: step
    for step in (joined, cut, turned, alike, indexed, written, bounded, rearranged, looped)
}
_HELD_BACK = {step.__name__: step for step in (scattered, copied, unbound, padded)}
MODELS = {name: Model(lambda step=step: Of(step), rows(3, 8)) for name, step in _STEPS.items()}
HELD_BACK = {
    name: Model(lambda step=step: Of(step), rows(3, 8)) for name, step in _HELD_BACK.items()
}
IN_A_THREAD = Model(lambda: Of(in_a_thread), rows(3, 8))
