"""Torch's own wrappers of parallel training, used as programs use them: real code, real groups."""

from __future__ import annotations

import warnings
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.tensor.parallel import (
    ColwiseParallel,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)
from torch.nn.parallel import DistributedDataParallel

from evaluation.placements.case import case
from evaluation.placements.net import Net, loss_of, net
from evaluation.placements.run import Run

DP2, TP2, HYBRID = {"dp": 2}, {"tp": 2}, {"shard": 2, "replicate": 2}
_CLIPPED = 0.05


def _backward(run: Run, model: nn.Module, step: int) -> None:
    tokens, labels = run.batch(step, run.rank)
    loss_of(model(tokens), labels).backward()


def _sharded(run: Run, *, views: bool) -> FullyShardedDataParallel:
    model: nn.Module = net(run.dtype)
    assert isinstance(model, Net)
    for number, layer in enumerate(model.layers):
        model.layers[number] = _whole(layer, views=views)
    return _whole(model, views=views)


def _whole(module: nn.Module, *, views: bool) -> FullyShardedDataParallel:
    return FullyShardedDataParallel(
        module, use_orig_params=views, device_id=torch.device("cpu"), process_group=dist.group.WORLD
    )


@case("real", DP2, r"^optimizer$", r"^Optimizer\.", is_told=False)
def flat_shards_clipped_alone(run: Run) -> None:
    """Each process clips by the norm of its own flat shards; the right twin asks the wrapper."""
    model = _sharded(run, views=False)

    def work(step: int) -> None:
        _backward(run, model, step)
        if run.wrong:
            nn.utils.clip_grad_norm_(model.parameters(), _CLIPPED)
        else:
            model.clip_grad_norm_(_CLIPPED)

    run.train(model, work)


@case("real", DP2, r"layers\.1\.", is_told=False)
def flat_shard_keeps_its_own_gradient(run: Run) -> None:
    """One layer's gradients are each process's own when they are cut into shards."""
    model = _sharded(run, views=True)
    layer = model.module.layers[1]
    if run.wrong:
        layer._comm_hook, layer._comm_hook_state = _cut_alone, None

    def work(step: int) -> None:
        _backward(run, model, step)

    run.train(model, work)


def _cut_alone(state: object, whole: Tensor, shard: Tensor) -> None:
    """A hook in place of the sum: this process's part of its own gradients."""
    shard.copy_(whole.chunk(dist.get_world_size())[dist.get_rank()])


@case("real", DP2, r"^Module\.", r"^Optimizer\.", is_told=False)
def shards_of_a_copy_are_updated(run: Run) -> None:
    """The optimizer of one process holds a copy of its flat shards, which nobody gathers."""
    model = _sharded(run, views=False)
    own = list(model.parameters())

    def after(step: int) -> None:
        if run.wrong and run.rank == 1 and step == 0:
            with torch.no_grad():
                for parameter, before in zip(own, kept, strict=True):
                    parameter.copy_(before)

    kept = [p.detach().clone() for p in own]
    run.train(model, lambda step: _backward(run, model, step), after=after)


@case("real", DP2, r"Optimizer\.(module\.)?layers\.1\.up", r"layers\.1\.up", is_told=False)
def left_to_itself_by_ddp(run: Run) -> None:
    """One weight stands in the list that DDP is told to ignore."""
    model = net(run.dtype)
    if run.wrong:
        ignored = ["layers.1.up.weight"]
        DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(model, ignored)
    wrapped = DistributedDataParallel(model)
    run.train(wrapped, lambda step: _backward(run, wrapped, step))


@case("real", DP2, r"^Optimizer\.", r"^optimizer", is_told=False)
def hook_that_hands_buckets_back(run: Run) -> None:
    """A hook of DDP for communication gives back what it got on every second bucket."""
    wrapped = DistributedDataParallel(net(run.dtype), bucket_cap_mb=0)
    group = dist.group.WORLD

    def hook(state: Any, bucket: Any) -> Any:
        done: torch.futures.Future[Tensor] = torch.futures.Future()
        whole = bucket.buffer()
        if not run.wrong:
            dist.all_reduce(whole, group=group)
            whole.div_(2)
        done.set_result(whole)
        return done

    hook.__annotations__.clear()  # torch compares them with its own, and not with their names
    wrapped.register_comm_hook(None, hook)
    run.train(wrapped, lambda step: _backward(run, wrapped, step))


@case("real", DP2, r"^Optimizer\.", r"^Module\.", r"^Distributed\.broadcast", is_told=False)
def inner_optimizer_of_zero(run: Run) -> None:
    """The step of the optimizer inside ZeRO is taken, which sends its updates to nobody."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of torch's own scripts
        from torch.distributed.optim import ZeroRedundancyOptimizer

    wrapped = DistributedDataParallel(net(run.dtype))
    optimizer = ZeroRedundancyOptimizer(
        wrapped.parameters(), optimizer_class=torch.optim.AdamW, lr=1e-2, eps=1e-5
    )
    taken = optimizer.optim if run.wrong else optimizer
    run.train(wrapped, lambda step: _backward(run, wrapped, step), taken)


def _planned(run: Run, *, summed: bool = True, norm_in_plan: bool = True) -> Net:
    """Layers whose norms lie along the sequence, by torch's plans of tensor parallelism."""
    from torch.distributed.tensor import Replicate, Shard

    model = net(run.dtype)
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("tp",))
    for layer in model.layers:
        plan = {
            "norm": SequenceParallel(),
            "up": ColwiseParallel(input_layouts=Shard(1)),
            "down": RowwiseParallel(output_layouts=Shard(1)),
        }
        parallelize_module(layer, mesh, plan)
    head = {
        "embedding": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
        **({"norm": SequenceParallel()} if norm_in_plan else {}),
        "head": ColwiseParallel(input_layouts=Shard(1), output_layouts=Replicate()),
    }
    parallelize_module(model, mesh, head)
    return model


@case("real", TP2, r"Optimizer\.norm\.", r"^Module\.norm", is_told=False)
def norm_left_out_of_the_plan(run: Run) -> None:
    """The last norm works on a part of the sequence and stands in no plan: nobody adds up."""
    model = _planned(run, norm_in_plan=not run.wrong)

    def work(step: int) -> None:
        tokens, labels = run.batch(step)
        loss_of(model(tokens), labels).backward()

    run.train(model, work)


@case("real", DP2, r"^Optimizer\.", r"^optimizer$", is_told=False)
def accumulated_without_a_last_sum(run: Run) -> None:
    """The last micro-batch runs under `no_sync` as the others do."""
    wrapped = DistributedDataParallel(net(run.dtype))

    def work(step: int) -> None:
        for micro in range(2):
            tokens, labels = run.batch(step, run.rank, micro)
            with wrapped.no_sync() if run.wrong or micro == 0 else torch.enable_grad():
                (loss_of(wrapped(tokens), labels) / 2).backward()

    run.train(wrapped, work)


@case("real", DP2, r"Optimizer\.embedding", r"^Module\.embedding", is_told=False)
def one_module_not_wrapped(run: Run) -> None:
    """The embedding is ignored by `fully_shard`; the right twin averages it by hand."""
    model = net(run.dtype)
    mesh = init_device_mesh("cpu", (2,), mesh_dim_names=("dp",))
    left = set(model.embedding.parameters())
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh, ignored_params=left)

    def work(step: int) -> None:
        _backward(run, model, step)
        for parameter in left:
            if not run.wrong and parameter.grad is not None:
                dist.all_reduce(parameter.grad)
                parameter.grad.div_(2)

    run.train(model, work)


@case("real late", HYBRID, r"Optimizer\.layers\.0\.", r"^Module\.layers\.0", is_told=False)
def replicas_of_one_layer_left_apart(run: Run) -> None:
    """Between micro-batches one layer's sum over replicas is switched off, and never on again."""
    model = net(run.dtype)
    mesh = init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp_replicate", "dp_shard"))
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    if run.wrong:
        model.layers[0].set_requires_all_reduce(False)  # type: ignore[operator]
    run.train(model, lambda step: _backward(run, model, step))
