"""Parameters that lie in parts: FSDP2, hybrid sharding, flat buffers."""

from __future__ import annotations

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor

from evaluation.placements.case import case
from evaluation.placements.families.data import average, backward
from evaluation.placements.net import net
from evaluation.placements.run import Run

DP2, HYBRID = {"dp": 2}, {"shard": 2, "replicate": 2}


@case("first", DP2, r"Optimizer\.norm\.", is_told=False)
def norm_that_fsdp_ignores(run: Run) -> None:
    """The last norm is left out of FSDP; the right twin averages its gradient by hand."""
    model = net(run.dtype)
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("dp",))
    left = list(model.norm.parameters())
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh, ignored_params=set(left))

    def work(step: int) -> None:
        tokens, labels = run.batch(step, run.rank)
        nn.functional.cross_entropy(
            model(tokens).flatten(0, -2).float(), labels.flatten()
        ).backward()
        for parameter in left:
            if not run.wrong:
                dist.all_reduce(parameter.grad)
                parameter.grad.div_(2)  # type: ignore[union-attr]

    run.train(model, work)


@case("second", HYBRID, r"Optimizer\.", is_told=False)
def replicas_of_shards_drift(run: Run) -> None:
    """Gradients are reduced over the shards and not over their replicas."""
    model = net(run.dtype)
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp_replicate", "dp_shard"))
    for layer in model.layers:
        fully_shard(layer, mesh=mesh["dp_shard"] if run.wrong else mesh)
    fully_shard(model, mesh=mesh["dp_shard"] if run.wrong else mesh)

    def work(step: int) -> None:
        tokens, labels = run.batch(step, run.rank)
        nn.functional.cross_entropy(
            model(tokens).flatten(0, -2).float(), labels.flatten()
        ).backward()

    run.train(model, work)


@case("first", DP2, r"layers\.1\.up\.weight", r"layers\.1\.up")
def update_never_sent(run: Run) -> None:
    """Each process updates half of the parameters; one update stays with its owner."""
    model = net(run.dtype)
    named = list(model.named_parameters())
    optimizer = run.optimizer([p for n, (_, p) in enumerate(named) if n % 2 == run.rank])

    def work(step: int) -> None:
        backward(run, model, step)
        average(run, model)

    def send(step: int) -> None:
        for number, (name, parameter) in enumerate(named):
            if not (run.wrong and name == "layers.1.up.weight"):
                dist.broadcast(parameter.data, number % 2)

    run.train(model, work, optimizer, send)


class Flat:
    """One flat buffer of all parameters, cut over the processes; each updates its part."""

    def __init__(self, run: Run, model: nn.Module) -> None:
        self.run, self.parameters = run, list(model.parameters())
        self.sizes = [p.numel() for p in self.parameters]
        flat = torch.cat([p.detach().flatten() for p in self.parameters])
        self.share = (len(flat) + 1) // 2
        own = flat[run.rank * self.share : (run.rank + 1) * self.share]
        self.own = nn.Parameter(nn.functional.pad(own, (0, self.share - len(own))))
        self.optimizer = run.optimizer([self.own])

    def reduce(self, without: str = "") -> None:
        """Average gradients and keep this process's part."""
        flat = torch.cat([p.grad.flatten() for p in self.parameters if p.grad is not None])
        flat = nn.functional.pad(flat, (0, 2 * self.share - len(flat)))
        if not without:
            dist.all_reduce(flat)
            flat.div_(2)
        self.own.grad = flat[self.run.rank * self.share :][: self.share].clone()

    def send(self, stale: bool) -> None:
        """Give all processes the whole; where it is stale, what was before the update."""
        parts = [torch.empty_like(self.own.data) for _ in range(2)]
        dist.all_gather(parts, self.own.data)
        if stale and self.run.rank == 1:
            return
        pieces = torch.cat(parts)[: sum(self.sizes)].split(self.sizes)
        for parameter, piece in zip(self.parameters, pieces, strict=True):
            parameter.data.copy_(piece.view_as(parameter))


@case("second", DP2, r"^Module\.", r"^Optimizer\.", r"^Distributed\.all_gather")
def whole_buffer_stays(run: Run) -> None:
    """The second process keeps the parameters that it had before the update."""
    model = net(run.dtype)
    flat = Flat(run, model)

    def work(step: int) -> None:
        backward(run, model, step)
        flat.reduce()

    run.train(model, work, flat.optimizer, lambda step: flat.send(run.wrong))


@case("second", DP2, r"Optimizer\.", is_told=False)
def shard_keeps_its_own_gradient(run: Run) -> None:
    """One process changes a bias's gradient of a model whose replicas torch keeps."""
    model = net(run.dtype)
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("dp",))
    held = [p for layer in model.layers for p in layer.up.parameters() if p.ndim == 1]
    fully_shard(model, mesh=mesh, ignored_params=set(held))

    def work(step: int) -> None:
        tokens, labels = run.batch(step, run.rank)
        nn.functional.cross_entropy(
            model(tokens).flatten(0, -2).float(), labels.flatten()
        ).backward()
        for number, parameter in enumerate(held):
            assert not isinstance(parameter, DTensor)
            if not (run.wrong and number == 0):
                dist.all_reduce(parameter.grad)
                parameter.grad.div_(2)  # type: ignore[union-attr]

    run.train(model, work)
