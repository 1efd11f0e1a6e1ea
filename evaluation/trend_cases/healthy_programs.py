"""Twelve kinds of training in which nothing is wrong, each as a whole program of its own."""

from __future__ import annotations

import itertools
import math
from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

import torch
from torch import nn
from torch.nn import functional as F

from evaluation.trend_cases.models import (
    Dropped,
    Experts,
    Language,
    Recurrent,
    Vision,
    next_token,
    real_text,
    shapes,
    table,
)
from msprobe.pytorch.trends import Trends


class Follow(Protocol):
    """Begins the trends of a model and its optimizers."""

    def __call__(self, model: nn.Module, *optimizers: torch.optim.Optimizer) -> Trends: ...


Program = Callable[[Follow, int], None]


def perceptron(*widths: int, last: bool = False) -> nn.Sequential:
    """Linear layers with ReLU in between (and behind the last one)."""
    made: list[nn.Module] = []
    for one, other in itertools.pairwise(widths):
        made += [nn.Linear(one, other), nn.ReLU()]
    return nn.Sequential(*(made if last else made[:-1]))


def _update(loss: torch.Tensor, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()


def _clipped(loss: torch.Tensor, model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()


def _text(model: nn.Module, follow: Follow, steps: int, peak: float) -> None:
    """A model of characters with warm-up, a cosine and clipping."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=peak)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer,
        lambda step: min(1.0, (step + 1) / 50) * (0.55 + 0.45 * math.cos(math.pi * step / steps)),
    )
    data = real_text()
    with follow(model, optimizer) as trends:
        for _ in range(steps):
            loss = next_token(model, next(data))
            _clipped(loss, model, optimizer)
            schedule.step()
            trends.step(loss=loss)


def language(follow: Follow, steps: int) -> None:
    """Decoder layers over characters of real text."""
    _text(Language(layers=2), follow, steps, 3e-3)


def mixture(follow: Follow, steps: int) -> None:
    """Two of four experts a token."""
    _text(Language(layers=2, inner=Experts), follow, steps, 3e-3)


def recurrent(follow: Follow, steps: int) -> None:
    """An LSTM over characters."""
    _text(Recurrent(), follow, steps, 1e-2)


def vision(follow: Follow, steps: int) -> None:
    """Residual convolutions with batch norm; the rate falls to a tenth twice."""
    model = Vision()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.MultiStepLR(optimizer, [steps // 2, 3 * steps // 4])
    data = shapes()
    with follow(model, optimizer) as trends:
        for _ in range(steps):
            pictures, wanted = next(data)
            loss = F.cross_entropy(model(pictures), wanted)
            _update(loss, optimizer)
            schedule.step()
            trends.step(loss=loss)


def adversarial(follow: Follow, steps: int) -> None:
    """A generator and a critic in turn, over points on a ring of eight."""
    model = nn.ModuleDict({"maker": perceptron(4, 32, 32, 2), "critic": perceptron(2, 32, 32, 1)})
    maker, critic = model["maker"], model["critic"]
    first, second = (
        torch.optim.Adam(part.parameters(), lr=1e-3, betas=(0.5, 0.999)) for part in (maker, critic)
    )
    with follow(model, first, second) as trends:
        for _ in range(steps):
            angle = torch.randint(0, 8, (32,)) * (math.pi / 4)
            real = torch.stack([angle.cos(), angle.sin()], 1) + 0.05 * torch.randn(32, 2)
            made = maker(torch.randn(32, 4))
            told = F.softplus(-critic(real)).mean() + F.softplus(critic(made.detach())).mean()
            _update(told, second)
            fooled = F.softplus(-critic(made)).mean()
            _update(fooled, first)
            trends.step(loss=told, fooled=fooled.item())


def reinforcement(follow: Follow, steps: int) -> None:
    """Q-learning of a pole on a cart, with replay and a target network copied every 100 steps."""
    model = nn.ModuleDict({"online": perceptron(4, 48, 48, 2), "target": perceptron(4, 48, 48, 2)})
    online, target = model["online"], model["target"]
    target.load_state_dict(online.state_dict())
    optimizer = torch.optim.Adam(online.parameters(), lr=1e-3)
    seen: deque[tuple[torch.Tensor, int, float, torch.Tensor, float]] = deque(maxlen=2000)
    state = 0.05 * torch.randn(4)
    with follow(model, optimizer) as trends:
        for step in range(steps + 64):
            chance = max(0.05, 1 - step / (steps / 2))
            with torch.no_grad():
                greedy = int(online(state).argmax())
            action = int(torch.randint(0, 2, ())) if float(torch.rand(())) < chance else greedy
            after = _pole(state, action)
            fell = bool(after[0].abs() > 2.4 or after[2].abs() > 0.21)
            seen.append((state, action, 1.0, after, float(fell)))
            state = 0.05 * torch.randn(4) if fell else after
            if step < 64:
                continue
            rows = [seen[int(at)] for at in torch.randint(0, len(seen), (32,))]
            states, afters = (torch.stack([row[i] for row in rows]) for i in (0, 3))  # type: ignore[misc]
            actions = torch.tensor([row[1] for row in rows])
            rewards, ends = (torch.tensor([row[i] for row in rows]) for i in (2, 4))
            wanted = rewards + 0.95 * (1 - ends) * target(afters).max(1).values.detach()
            found = online(states).gather(1, actions[:, None])[:, 0]
            loss = F.smooth_l1_loss(found, wanted)
            _update(loss, optimizer)
            if step % 100 == 0:
                target.load_state_dict(online.state_dict())
            trends.step(loss=loss)


def _pole(state: torch.Tensor, action: int) -> torch.Tensor:
    """The next state of the classic cart with a pole, 0.02 s later."""
    at, pace, angle, turn = state.tolist()
    force = 10.0 if action else -10.0
    pushed = (force + 0.05 * turn**2 * math.sin(angle)) / 1.1
    bend = (9.8 * math.sin(angle) - math.cos(angle) * pushed) / (
        0.5 * (4 / 3 - 0.1 * math.cos(angle) ** 2 / 1.1)
    )
    drive = pushed - 0.05 * bend * math.cos(angle) / 1.1
    moved = (at + 0.02 * pace, pace + 0.02 * drive, angle + 0.02 * turn, turn + 0.02 * bend)
    return torch.tensor(moved)


def diffusion(follow: Follow, steps: int) -> None:
    """The noise in points of two moons is told from the noisy point and its time."""
    model = perceptron(10, 64, 64, 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
    with follow(model, optimizer) as trends:
        for _ in range(steps):
            angle, lower = math.pi * torch.rand(64), torch.randint(0, 2, (64,))
            side = 1.0 - 2 * lower
            points = torch.stack([angle.cos() + lower, side * angle.sin() + 0.5 * lower], 1)
            time, noise = torch.rand(64, 1), torch.randn(64, 2)
            kept = torch.cos(time * math.pi / 2)
            waves = [f(time * 2**k) for k in range(4) for f in (torch.sin, torch.cos)]
            noisy = kept * points + (1 - kept**2).clamp_min(0).sqrt() * noise
            loss = F.mse_loss(model(torch.cat([noisy, *waves], 1)), noise)
            _update(loss, optimizer)
            trends.step(loss=loss)


class Towers(nn.Module):
    """Two views of one thing in one space, with a temperature that is learnt."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.other = perceptron(16, 48, 16), perceptron(24, 48, 16)
        self.scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, one: torch.Tensor, other: torch.Tensor) -> torch.Tensor:
        near = F.normalize(self.one(one), dim=1) @ F.normalize(self.other(other), dim=1).T
        return near * self.scale.exp()


def contrastive(follow: Follow, steps: int) -> None:
    """Pairs of views told from all others of their batch."""
    model, views = Towers(), (torch.randn(6, 16), torch.randn(6, 24))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    with follow(model, optimizer) as trends:
        for _ in range(steps):
            hidden = torch.randn(32, 6)
            one, other = (hidden @ view + 0.3 * torch.randn(32, view.shape[1]) for view in views)
            near, own = model(one, other), torch.arange(32)
            loss = (F.cross_entropy(near, own) + F.cross_entropy(near.T, own)) / 2
            _update(loss, optimizer)
            trends.step(loss=loss)


def curriculum(follow: Follow, steps: int) -> None:
    """Sequences of 8 characters, then of 16, 32 and 64."""
    model = Language(layers=2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    data = real_text(8, 64)
    with follow(model, optimizer) as trends:
        for step in range(steps):
            length = 8 << (4 * step // steps)
            ids, wanted = next(data)
            loss = next_token(model, (ids[:, :length], wanted[:, :length]))
            _clipped(loss, model, optimizer)
            trends.step(loss=loss)


def restarts(follow: Follow, steps: int) -> None:
    """A cosine that begins anew every 400 steps: the rate leaps a thousand times up."""
    model = Dropped()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    schedule = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, 400, eta_min=5e-5)
    data = table()
    with follow(model, optimizer) as trends:
        for _ in range(steps):
            x, wanted = next(data)
            loss = F.cross_entropy(model(x), wanted)
            _update(loss, optimizer)
            schedule.step()
            trends.step(loss=loss)


def sparse(follow: Follow, steps: int) -> None:
    """Bags of words whose counts fall as one by their rank, in tables with sparse gradients."""
    words = nn.EmbeddingBag(2000, 16, sparse=True)
    head = perceptron(16, 32, 2)
    model = nn.ModuleDict({"words": words, "head": head})
    first = torch.optim.SparseAdam(list(words.parameters()), lr=2e-3)
    second = torch.optim.Adam(head.parameters(), lr=2e-3)
    shares, kinds = 1 / torch.arange(1.0, 2001), torch.randint(0, 2, (2000,))
    with follow(model, first, second) as trends:
        for _ in range(steps):
            bags = torch.multinomial(shares.expand(32, -1), 12, replacement=True)
            wanted = (kinds[bags].float().mean(1) > 0.5).long()
            loss = F.cross_entropy(head(words(bags)), wanted)
            for optimizer in (first, second):
                optimizer.zero_grad()
            loss.backward()
            for optimizer in (first, second):
                optimizer.step()
            trends.step(loss=loss)


def fine_tuning(follow: Follow, steps: int) -> None:
    """A trained model on other text: its head alone, from a third on its last layer as well, from
    two thirds on all of it.
    """
    model = Language(layers=2)
    _text(model, _nobody, 400, 3e-3)
    for parameter in model.parameters():
        parameter.requires_grad_(False)
    optimizer = torch.optim.AdamW(model.head.parameters(), lr=1e-3)
    model.head.requires_grad_(True)
    data = real_text()
    with follow(model, optimizer) as trends:
        for step in range(steps):
            for at, part in ((steps // 3, model.layers[1]), (2 * steps // 3, model.layers[0])):
                if step == at:
                    part.requires_grad_(True)
                    optimizer.add_param_group({"params": list(part.parameters()), "lr": 3e-4})
            ids, wanted = next(data)
            loss = next_token(model, (127 - ids, 127 - wanted))
            _clipped(loss, model, optimizer)
            trends.step(loss=loss)


class _NoTrends:
    def __enter__(self) -> _NoTrends:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def step(self, loss: object = None, **scalars: float) -> None:
        return


def _nobody(model: nn.Module, *optimizers: torch.optim.Optimizer) -> Trends:
    return _NoTrends()  # type: ignore[return-value]


PROGRAMS: dict[str, Program] = {
    each.__name__: each
    for each in (
        *(language, vision, mixture, adversarial, reinforcement, recurrent, curriculum, restarts),
        *(diffusion, contrastive, sparse, fine_tuning),
    )
}
HELD = ("diffusion", "contrastive", "sparse", "fine_tuning")
"""Those that were looked at only when rules had been made."""


def programs(held: bool) -> Iterator[tuple[str, Program]]:
    """Those that rules may be made on, or those that were held back."""
    return ((name, each) for name, each in PROGRAMS.items() if (name in HELD) is held)
