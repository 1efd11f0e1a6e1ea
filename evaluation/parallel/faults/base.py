"""What faults are made of: the list they join, and the parts of an experiment they change."""

from __future__ import annotations

import re
from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from evaluation.parallel.experiment import Experiment, layers_of
from evaluation.parallel.fault import Fault
from evaluation.parallel.layout import Layout
from evaluation.parallel.model import Transformer
from evaluation.parallel.size import Size

TP = Layout(tp=2)
SP = Layout(tp=2, sequence_parallel=True)
DP = Layout(dp=2)
ZERO = Layout(dp=2, zero=True)
CP = Layout(cp=2)
ZIGZAG = Layout(cp=2, zigzag=True)
PP = Layout(pp=2, micro_batches=4)
VPP = Layout(pp=2, vpp=2, micro_batches=2)
EP = Layout(dp=2, ep=2)
TRANSPOSED = Layout(transposed=True)
EXPERTS = Size(experts=4)
CLIPPED = Size(clip=True)
TIED = Size(tied=True)
GROUPED = Size(grouped=True)
FAULTS: list[Fault] = []
Change = Callable[[Experiment], None]


def fault(
    layout: Layout,
    *culprits: str,
    ranks: tuple[int, ...] = (),
    size: Size = Size(),  # noqa: B008 - frozen
    threads: str = "",
    benchmark: Layout = Layout(),  # noqa: B008 - frozen
) -> Callable[[Change], Change]:
    def add(change: Change) -> Change:
        name = change.__name__
        FAULTS.append(Fault(name, layout, change, culprits, ranks, size, threads, benchmark))
        return change

    return add


def layer_of(run: Experiment, index: int) -> nn.Module:
    """A layer by its real number; an empty one where another process has it."""
    for chunk, layers in zip(run.chunks, own_layers(run), strict=True):
        if index in layers:
            inner = chunk.module if hasattr(chunk, "module") else chunk
            assert isinstance(inner, Transformer)
            return inner.layers[index - layers.start]
    raise LookupError(index)


def own_layers(run: Experiment) -> list[range]:
    return layers_of(run.size, run.mesh.layout, run.mesh.at("pp"))


def has_layer(run: Experiment, index: int) -> bool:
    return any(index in layers for layers in own_layers(run))


def model_of(run: Experiment) -> Transformer:
    chunk = run.chunks[0]
    inner = chunk.module if hasattr(chunk, "module") else chunk
    assert isinstance(inner, Transformer)
    return inner


def without(run: Experiment, work: str, *parts: str) -> None:
    """Leave the gradients of some parameters out of a reduction."""
    whole = run.after_backward[work]

    def reduced() -> None:
        kept = {
            name: parameter.grad.clone()
            for name, parameter in run.parameters()
            if parameter.grad is not None and any(re.search(part, name) for part in parts)
        }
        whole()
        for name, parameter in run.parameters():
            if name in kept:
                assert parameter.grad is not None
                parameter.grad.copy_(kept[name])

    run.after_backward[work] = reduced


def nudge(parameter: Tensor) -> None:
    with torch.no_grad():
        parameter.mul_(1.1)


def stays(run: Experiment, step: str, axis: str, place: int, *parts: str) -> None:
    """Let some parameters on one place of an axis keep what they were before the optimizer."""
    kept = [
        (_local(parameter), _local(parameter).detach().clone())
        for name, parameter in run.parameters()
        if run.mesh.at(axis) == place and any(re.search(part, name) for part in parts)
    ]

    def forget() -> None:
        for parameter, before in kept:
            parameter.data.copy_(before)

    run.after_step[step] = forget


def _local(parameter: Tensor) -> Tensor:
    return parameter.to_local() if isinstance(parameter, DTensor) else parameter
