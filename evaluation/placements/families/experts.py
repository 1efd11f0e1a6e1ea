"""Experts of their own on each process, whose answers are summed or sent."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional

from evaluation.parallel.collective import AllToAll, Copy, Reduce
from evaluation.placements.case import case
from evaluation.placements.net import WIDTH, Layer, Net, loss_of, net, with_layers
from evaluation.placements.run import Run

TP2, EP2 = {"tp": 2}, {"ep": 2}
EXPERTS = 4


class Expert(nn.Module):
    """Up, activation, down."""

    def __init__(self) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(functional.gelu(self.up(x)))


class Mixture(nn.Module):
    """A router and this process's experts; `reduces` sums up the answers of all processes.

    All processes read the same tokens.
    """

    def __init__(self, run: Run, axis: str, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        router, experts = nn.Linear(WIDTH, EXPERTS, bias=False), [Expert() for _ in range(EXPERTS)]
        share = EXPERTS // run.size(axis)
        self.first, self.group = share * run.at(axis), run.group(axis)
        self.router = router.to(run.dtype)
        own = experts[self.first : self.first + share]
        self.experts = nn.ModuleList(own).to(run.dtype)
        self.reduces = True

    def forward(self, x: Tensor) -> Tensor:
        inner = Copy.apply(x, self.group)
        chances = torch.softmax(self.router(x).float(), -1).to(x.dtype)
        weights = Copy.apply(chances, self.group)
        best = chances.argmax(-1)
        out = torch.zeros_like(x)
        for place, expert in enumerate(self.experts):
            number = self.first + place
            chosen = (best == number).unsqueeze(-1).to(x.dtype)
            out = out + expert(inner) * chosen * weights[..., number : number + 1]
        return Reduce.apply(out, self.group) if self.reduces else out


class Mixed(nn.Module):
    """A norm and a mixture, added to what came in."""

    def __init__(self, layer: Layer, run: Run, axis: str, seed: int) -> None:
        super().__init__()
        self.norm, self.mixture = layer.norm, Mixture(run, axis, seed)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.mixture(self.norm(x))


def mixed(run: Run, axis: str) -> Net:
    """A network of mixtures."""
    return with_layers(net(run.dtype), lambda layer, seed: Mixed(layer, run, axis, seed))


def backward(run: Run, model: nn.Module, step: int, share: int = 0) -> None:
    """Forward and backward on a share of the batch."""
    tokens, labels = run.batch(step, share)
    loss_of(model(tokens), labels).backward()  # type: ignore[no-untyped-call]


@case("first", TP2, r"layers\.0\.(mixture|norm)", r"layers\.0\b")
def answers_not_summed(run: Run) -> None:
    """No mixture sums up the answers of the processes' experts."""
    model = mixed(run, "tp")
    for layer in model.layers:
        assert isinstance(layer, Mixed)
        layer.mixture.reduces = not run.wrong
    run.train(model, lambda step: backward(run, model, step))


class Sent(nn.Module):
    """A router and this process's experts, to which the tokens of all processes are sent."""

    def __init__(self, run: Run, seed: int) -> None:
        super().__init__()
        torch.manual_seed(seed)
        router, experts = nn.Linear(WIDTH, EXPERTS, bias=False), [Expert() for _ in range(EXPERTS)]
        self.share = EXPERTS // run.size("ep")
        self.first, self.group = self.share * run.at("ep"), run.group("ep")
        self.router = router.to(run.dtype)
        self.experts = nn.ModuleList(experts[self.first : self.first + self.share]).to(run.dtype)

    def forward(self, x: Tensor) -> Tensor:
        rows = x.flatten(0, -2)
        best, owner = torch.softmax(self.router(rows).float(), -1).max(-1)
        order = owner.argsort(stable=True)
        counts = torch.bincount(owner, minlength=EXPERTS)
        listed = [torch.empty_like(counts) for _ in range(self.group.size())]
        dist.all_gather(listed, counts, group=self.group)
        coming = torch.stack(listed)[:, self.first : self.first + self.share]
        sent = counts.view(-1, self.share).sum(1).tolist()
        got = coming.sum(1).tolist()
        arrived = AllToAll.apply(rows[order], self.group, sent, got)
        pieces = list(arrived.split(coming.flatten().tolist()))
        answers = [self.experts[n % self.share](piece) for n, piece in enumerate(pieces)]
        back = AllToAll.apply(torch.cat(answers), self.group, got, sent)
        out = torch.zeros_like(rows).index_copy(0, order, back)
        return (out * best.to(x.dtype).unsqueeze(-1)).view_as(x)


class Sending(nn.Module):
    """A norm and experts to which tokens are sent, added to what came in."""

    def __init__(self, layer: Layer, run: Run, seed: int) -> None:
        super().__init__()
        self.norm, self.mixture = layer.norm, Sent(run, seed)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.mixture(self.norm(x))


def sending(run: Run) -> Net:
    """A network of such layers."""
    return with_layers(net(run.dtype), lambda layer, seed: Sending(layer, run, seed))


def average(run: Run, model: nn.Module, *without: str) -> None:
    """The mean over the processes of all gradients but those named."""
    for name, parameter in model.named_parameters():
        if parameter.grad is None or any(part in name for part in without):
            continue
        dist.all_reduce(parameter.grad, group=run.group("ep"))
        parameter.grad.div_(run.size("ep"))


@case("first", EP2, r"Optimizer\.layers\.\d\.mixture\.experts", r"^Distributed\.all_reduce")
def experts_averaged_over_all(run: Run) -> None:
    """The gradients of experts are averaged over processes that hold other experts."""
    model = sending(run)

    def work(step: int) -> None:
        backward(run, model, step, run.at("ep"))
        average(run, model, *(() if run.wrong else ("experts.",)))

    run.train(model, work)


@case("second", EP2, r"Optimizer\.layers\.\d\.mixture\.router")
def routers_left_out(run: Run) -> None:
    """The gradients of routers are taken for those of experts and not averaged."""
    model = sending(run)

    def work(step: int) -> None:
        backward(run, model, step, run.at("ep"))
        average(run, model, "experts.", *(("mixture.router",) if run.wrong else ()))

    run.train(model, work)


@case("second", TP2, r"Optimizer\.layers\.\d\.mixture\.router", r"layers\.1\.mixture")
def part_of_the_routers_gradient(run: Run) -> None:
    """The chances that weigh answers go in as they are: their gradient stays a part of a sum."""
    model = mixed(run, "tp")
    if run.wrong:
        for layer in model.layers:
            assert isinstance(layer, Mixed)
            _enter_alone(layer.mixture)
    run.train(model, lambda step: backward(run, model, step))


def _enter_alone(mixture: Mixture) -> None:
    group = mixture.group

    def forward(x: Tensor) -> Tensor:
        inner = Copy.apply(x, group)
        chances = torch.softmax(mixture.router(x).float(), -1).to(x.dtype)
        best, out = chances.argmax(-1), torch.zeros_like(x)
        for place, expert in enumerate(mixture.experts):
            number = mixture.first + place
            chosen = (best == number).unsqueeze(-1).to(x.dtype)
            out = out + expert(inner) * chosen * chances[..., number : number + 1]
        return Reduce.apply(out, group)

    mixture.forward = forward  # type: ignore[method-assign]


class _Noisy(nn.Module):
    """A router with noise on its scores, of a generator that tensor-parallel processes share."""

    def __init__(self, router: nn.Module, seed: int) -> None:
        super().__init__()
        self.weight, self.seed = router.weight, seed

    def forward(self, x: Tensor) -> Tensor:
        scores = nn.functional.linear(x, self.weight)  # type: ignore[arg-type]
        torch.manual_seed(self.seed)
        return scores + torch.randn_like(scores)


@case("second", TP2, r"layers\.\d\.mixture")
def noise_of_each_router(run: Run) -> None:
    """Processes that work on the same tokens draw the noise of a router each for itself."""
    model = mixed(run, "tp")
    for layer in model.layers:
        assert isinstance(layer, Mixed)
        layer.mixture.router = _Noisy(layer.mixture.router, run.rank if run.wrong else 0)
    run.train(model, lambda step: backward(run, model, step))
