"""Layers that real models have and that do more than multiply: adapters, norms on weights, experts.

Written from what such models do, not from what follows them.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.ao.quantization import FakeQuantize
from torch.nn.utils.parametrizations import orthogonal, spectral_norm, weight_norm

from benchmarks.situations.families.trainings import stepped
from benchmarks.situations.situation import Made, normal, situation, tokens


def learning(model: nn.Module, *shape: int, lr: float = 0.05) -> Made:
    """Other numbers in each step, mean squares, SGD."""

    def work(n: int) -> Any:
        model.zero_grad()
        out = model(normal(*shape, seed=n))
        loss = out.square().mean()
        loss.backward()
        return out, loss

    return stepped(model, work, lr)


class Adapted(nn.Module):
    """A frozen layer and a product of low rank, which is added to its weight to evaluate."""

    def __init__(self) -> None:
        super().__init__()
        self.base = nn.Linear(6, 6).requires_grad_(False)
        self.down, self.up = nn.Parameter(torch.randn(2, 6)), nn.Parameter(torch.zeros(6, 2))
        self.is_merged = False

    def merge(self, sign: int) -> None:
        self.base.weight.data += sign * (self.up @ self.down)
        self.is_merged = sign > 0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.base(x)
        return out if self.is_merged else out + x @ self.down.T @ self.up.T  # type: ignore[no-any-return]


@situation("an adapter that is merged and taken out", later=True, core=True, steps=3)
def adapter() -> Made:
    model = nn.Sequential(Adapted(), nn.Tanh(), Adapted())

    def work(n: int) -> Any:
        model.zero_grad()
        loss = (model(normal(4, 6, seed=n)) - 1).square().mean()
        loss.backward()
        with torch.no_grad():
            for sign in (1, -1):
                for layer in (model[0], model[2]):
                    layer.merge(sign)  # type: ignore[operator]
                if sign > 0:
                    judged = model(normal(4, 6, seed=9))
        return loss, judged

    return stepped(model, work)


@situation("norms on weights, trained", later=True)
def normed_weights() -> Made:
    model = nn.Sequential(
        weight_norm(nn.Linear(4, 6)), nn.Tanh(), spectral_norm(nn.Linear(6, 6)), nn.Tanh(),
        orthogonal(nn.Linear(6, 6)), nn.Linear(6, 1),
    )  # fmt: skip
    return learning(model, 5, 4)


class Experts(nn.Module):
    """Each row goes to one of four; some get none."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(4, 4)
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        chances = self.gate(x).softmax(-1)
        chosen = chances.argmax(-1)
        out = torch.zeros_like(x)
        for k, expert in enumerate(self.experts):
            rows = (chosen == k).nonzero().squeeze(-1)
            if len(rows):
                out = out.index_add(0, rows, expert(x[rows]) * chances[rows, k, None])
        return out


@situation("experts of which some get no token", later=True, steps=4)
def experts() -> Made:
    return learning(nn.Sequential(nn.Linear(4, 4), Experts(), nn.Linear(4, 2)), 3, 4)


@situation("an embedding that bounds its rows while it is read", later=True)
def bounded_rows() -> Made:
    model = nn.Sequential(nn.Embedding(16, 4, padding_idx=0, max_norm=0.5), nn.Linear(4, 2))

    def work(n: int) -> Any:
        model.zero_grad()
        out = model(tokens(seed=n))
        out.square().mean().backward()
        return out

    return stepped(model, work)


@situation("bags of sparse rows", later=True)
def bags() -> Made:
    model = nn.ModuleDict({"bag": nn.EmbeddingBag(16, 4, mode="sum", sparse=True)})
    optimizer = torch.optim.SparseAdam(list(model.parameters()), lr=0.05)

    def step(n: int) -> Any:
        optimizer.zero_grad()
        out = model["bag"](tokens(seed=n).flatten(), torch.tensor([0, 5, 8]))
        out.square().sum().backward()
        optimizer.step()
        return out

    return model, step, optimizer


@situation("letters from frames, by all ways between them", later=True)
def frames() -> Made:
    model = nn.ModuleDict({"cell": nn.GRU(4, 6), "head": nn.Linear(6, 5)})
    ways = nn.CTCLoss(zero_infinity=True)

    def work(n: int) -> Any:
        model.zero_grad()
        scores = model["head"](model["cell"](normal(8, 2, 4, seed=n))[0]).log_softmax(-1)
        wanted = tokens(2, 3, below=4, seed=n) + 1
        loss = ways(scores, wanted, torch.tensor([8, 6]), torch.tensor([3, 2]))
        loss.backward()
        return loss

    return stepped(model, work)


class Rounded(nn.Module):
    """Rounds weights and outputs as a quantised model would, with gradients through it."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.Linear(4, 4)
        self.weight, self.out = FakeQuantize(), FakeQuantize()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        rounded = self.weight(self.inner.weight)
        return self.out(nn.functional.linear(x, rounded, self.inner.bias))  # type: ignore[no-any-return]


@situation("training that rounds as it will be quantised", later=True)
def rounding() -> Made:
    return learning(nn.Sequential(Rounded(), nn.ReLU(), Rounded()), 5, 4)


@situation("a traced and a scripted layer, trained", later=True)
def traced() -> Made:
    layer = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
    model = nn.Sequential(
        torch.jit.trace(layer, normal(2, 4)), torch.jit.script(nn.Sequential(nn.Linear(4, 2)))
    )
    return learning(model, 5, 4)


class Twice(torch.autograd.Function):
    """x³ with a derivative that has one of its own."""

    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return grads[0] * 3 * x**2  # type: ignore[no-any-return]


@situation("a function of the user's, differentiated twice", later=True, core=True)
def differentiated_twice() -> Made:
    model = nn.ModuleList([nn.Linear(4, 4), nn.Linear(4, 1)])

    def work(n: int) -> Any:
        model.zero_grad()
        x = normal(3, 4, seed=n).requires_grad_()
        out = model[1](Twice.apply(model[0](x))).sum()  # type: ignore[no-untyped-call]
        (slope,) = torch.autograd.grad(out, x, create_graph=True)
        loss = out + slope.square().sum()
        loss.backward()
        return loss

    return stepped(model, work)


@situation("parameters that are complex", later=True)
def complex_parameters() -> Made:
    model = nn.ModuleDict({"turn": nn.Linear(4, 4).to(torch.complex64), "head": nn.Linear(4, 1)})

    def work(n: int) -> Any:
        model.zero_grad()
        waves = model["turn"](torch.fft.fft(normal(3, 4, seed=n)))
        loss = model["head"](torch.fft.ifft(waves).real).square().mean()
        loss.backward()
        return loss

    return stepped(model, work)


@situation("a body in eval below a head that is trained", later=True)
def still_body() -> Made:
    body = nn.Sequential(nn.Linear(4, 6), nn.BatchNorm1d(6), nn.Dropout(0.5)).requires_grad_(False)
    model = nn.Sequential(body, nn.Linear(6, 2))
    made = learning(model, 5, 4)
    model.train()
    body.eval()
    return made


class Searching(nn.Module):
    """Runs its layer until the numbers say that it is enough."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(6):
            x = torch.tanh(self.layer(x)) + x
            if float(x.detach().abs().max()) > 3:
                break
        return x


@situation("a layer that is run until it is enough", later=True, steps=3)
def until() -> Made:
    return learning(nn.Sequential(Searching(), nn.Linear(4, 1)), 3, 4)


@situation("dimensions that a compiler is told of", later=True, steps=3)
def told_dimensions() -> Made:
    model = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 1))
    call = torch.compile(model, backend="aot_eager")

    def work(n: int) -> Any:
        model.zero_grad()
        x = normal(3 + n, 4, seed=n)
        torch._dynamo.mark_dynamic(x, 0)
        loss = call(x).square().mean()
        loss.backward()
        return loss

    return stepped(model, work)
