"""Training of the tiny transformer under a layout, every part replaceable by a fault."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Protocol

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.pipelining import Schedule1F1B, ScheduleInterleaved1F1B
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import loss_parallel
from torch.nn import functional

from evaluation.parallel.layout import Layout, Mesh
from evaluation.parallel.llama import llama, parallelized
from evaluation.parallel.model import Transformer, build, shard, stage
from evaluation.parallel.schedule import run_schedule
from evaluation.parallel.size import Size

STEPS = 2
CLIP = 0.05
# Gradients of half precision would vanish; the scale is taken out of them before the optimizer.
HALF_SCALE = 1024.0
IGNORED = -100
Gradients = Callable[[], None]


class Recorder(Protocol):
    """What a dumper must offer."""

    def start(self, model: object, parallel: dict[str, object] | None = None) -> None: ...
    def stop(self) -> None: ...
    def step(self) -> None: ...


@dataclass
class Experiment:
    """`chunks` are this process's parts of the model, `after_backward` what follows in order."""

    size: Size
    mesh: Mesh
    chunks: list[nn.Module]
    optimizer: torch.optim.Optimizer
    seed: int
    loss_scale: float = 1.0
    after_backward: dict[str, Gradients] = field(default_factory=dict)
    before_step: list[Callable[[int], None]] = field(default_factory=list)
    after_step: dict[str, Gradients] = field(default_factory=dict)
    batch: Callable[[int], tuple[Tensor, Tensor, Tensor]] | None = None
    loss: Callable[[Tensor, Tensor], Tensor] | None = None
    losses: list[float] = field(default_factory=list)
    pipeline: Schedule1F1B | ScheduleInterleaved1F1B | None = None  # torch's own, once it has run

    def train(self, recorder: Recorder, header: bool) -> None:
        """Run all steps, each recorded from the forward pass to the optimizer's update."""
        for step in range(STEPS):
            for prepare in self.before_step:
                prepare(step)
            model = self.chunks if len(self.chunks) > 1 else self.chunks[0]
            if header:
                recorder.start(model, parallel=self.header())
            else:
                recorder.start(model)
            with self._loss_context():
                run_schedule(self, self.micro_batches(step))
            for gradients in list(self.after_backward.values()):
                gradients()
            self.optimizer.step()
            for update in list(self.after_step.values()):
                update()
            recorder.stop()
            recorder.step()
            self.optimizer.zero_grad()

    def header(self) -> dict[str, object]:
        """The layout as the dumper is told it, the real numbers of the layers with it."""
        layout = self.mesh.layout
        chunks = [
            {
                "index": index,
                "layers": {f"layers.{n}": layer for n, layer in enumerate(layers)},
            }
            for index, layers in enumerate(layers_of(self.size, layout, self.mesh.at("pp")))
        ]
        header = dict(self.mesh.header)
        if layout.pp > 1:
            header["chunks"] = chunks
        if layout.ep > 1:
            share = self.size.experts // layout.ep
            first = share * self.mesh.at("dp")
            header["experts"] = {"first": first, "count": share}
        return header

    def micro_batches(self, step: int) -> list[tuple[Tensor, Tensor, Tensor]]:
        """The process's tokens, positions and labels of each micro-batch of a step."""
        assert self.batch is not None
        tokens, positions, labels = self.batch(step)
        layout, mesh = self.mesh.layout, self.mesh
        count = layout.micro_batches * layout.dp
        own = slice(mesh.at("dp"), None, layout.dp)  # Megatron's order: i·dp + r
        cut = [
            [mesh.sequence_part(part) for part in whole.chunk(count)[own]]
            for whole in (tokens, positions, labels)
        ]
        return list(zip(*cut, strict=True))

    def loss_of(self, logits: Tensor, labels: Tensor) -> Tensor:
        """The mean over this process's tokens, divided by the number of micro-batches.

        Where gradients are divided by the tokens later, it is their sum.
        """
        assert self.loss is not None
        if self.mesh.layout.padded:
            logits = logits[..., : self.size.vocabulary]
        loss = self.loss(logits, labels)
        self.losses.append(float(loss.detach()))
        count = 1 if self.mesh.layout.per_token else self.mesh.layout.micro_batches
        return loss * (self.loss_scale / count)

    def _loss_context(self) -> AbstractContextManager[None]:
        return loss_parallel() if self.mesh.layout.loss_parallel else nullcontext()

    def parameters(self) -> list[tuple[str, nn.Parameter]]:
        """The parameters of all chunks with their names."""
        return [pair for chunk in self.chunks for pair in chunk.named_parameters()]


def cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """The usual loss."""
    return functional.cross_entropy(logits.flatten(0, -2), labels.flatten())


def summed_cross_entropy(logits: Tensor, labels: Tensor) -> Tensor:
    """The same, not divided by the number of tokens."""
    return functional.cross_entropy(logits.flatten(0, -2), labels.flatten(), reduction="sum")


def optimizer_of(size: Size, parameters: list[nn.Parameter]) -> torch.optim.Optimizer:
    """AdamW; in half precision, in which squares of gradients vanish, SGD."""
    if size.precision == "float16":
        return torch.optim.SGD(parameters, lr=0.3)
    return torch.optim.AdamW(parameters, lr=1e-2, eps=1e-5)


def layers_of(size: Size, layout: Layout, place: int) -> list[range]:
    """The layers of each chunk of one pipeline stage; chunks go round the stages."""
    share = size.layers // (layout.pp * layout.vpp)
    firsts = [(chunk * layout.pp + place) * share for chunk in range(layout.vpp)]
    return [range(first, first + share) for first in firsts]


def experiment(size: Size, mesh: Mesh, seed: int) -> Experiment:
    """A sound experiment under the mesh's layout."""
    layout = mesh.layout
    chunks = [_plain(size, mesh, seed)] if size.apart else _chunks(size, mesh, seed)
    parameters = [p for chunk in chunks for p in chunk.parameters()]
    made = Experiment(
        size,
        mesh,
        chunks,
        optimizer_of(size, parameters),
        seed,
        batch=lambda step: batch_of(size, seed, step),
        loss=summed_cross_entropy if layout.per_token else cross_entropy,
    )
    if size.precision == "float16":
        made.loss_scale = HALF_SCALE
        made.after_backward["unscale"] = lambda: scale_gradients(made, 1.0 / HALF_SCALE)
    _add_gradient_work(made)
    if layout.zero:
        _share_updates(made)
    return made


def _plain(size: Size, mesh: Mesh, seed: int) -> nn.Module:
    whole = llama(size, seed)
    return parallelized(whole, mesh) if mesh.layout.native == "plan" else whole


def _chunks(size: Size, mesh: Mesh, seed: int) -> list[nn.Module]:
    whole, layout = build(size, seed), mesh.layout
    parts = [
        stage(whole, size, layers) if layout.pp > 1 else whole
        for layers in layers_of(size, layout, mesh.at("pp"))
    ]
    for part in parts:
        shard(part, mesh)
    return _native(parts, mesh)


def scale_gradients(run: Experiment, factor: float) -> None:
    """Multiply what all parameters of a process have for gradients."""
    for _, parameter in run.parameters():
        assert parameter.grad is not None
        parameter.grad.mul_(factor)


def batch_of(size: Size, seed: int, step: int) -> tuple[Tensor, Tensor, Tensor]:
    """The global batch of a step: tokens, positions, labels."""
    generator = torch.Generator().manual_seed(1000 * seed + step)
    shape = (size.batch, size.sequence)
    tokens = torch.randint(0, size.vocabulary, shape, generator=generator)
    labels = torch.randint(0, size.vocabulary, shape, generator=generator)
    if size.masked:
        # Ever more of a row, so that no two shares of the batch have as many.
        length = torch.arange(size.batch)[:, None] % size.sequence
        labels[torch.arange(size.sequence)[None] < length] = IGNORED
    return tokens, torch.arange(size.sequence).expand(shape).contiguous(), labels


def _native(parts: list[Transformer], mesh: Mesh) -> list[nn.Module]:
    if mesh.layout.native in ("", "schedule"):
        return list(parts)
    from evaluation.parallel.native import wrapped

    return [wrapped(part, mesh) for part in parts]


def _add_gradient_work(made: Experiment) -> None:
    mesh = made.mesh
    if mesh.layout.native not in ("dtensor", "fsdp2", "plan"):
        if mesh.size("tp") > 1:
            made.after_backward["tp"] = lambda: _sum_over_tp(made)
        if mesh.size("cp") > 1:
            made.after_backward["cp"] = lambda: _average(made, "cp")
        if mesh.size("dp") > 1 and mesh.layout.native != "ddp":
            made.after_backward["dp"] = lambda: _average(made, "dp")
        if mesh.layout.per_token:
            made.after_backward["tokens"] = lambda: divide_by_tokens(made)
        if mesh.size("pp") > 1 and made.size.tied:
            made.after_backward["tied"] = lambda: _sum_tied(made)
        if made.size.clip:
            made.after_backward["clip"] = lambda: clip(made)
    elif made.size.clip:
        made.after_backward["clip"] = lambda: _clip_native(made)


def is_partial_over_tp(name: str, sequence_parallel: bool) -> bool:
    """Whether each tp process has a part of a whole parameter's gradient only."""
    if "norm_q" in name:
        return True
    whole = "norm" in name or name.endswith(("out.bias", "down.bias")) or "position" in name
    return sequence_parallel and whole


def is_cut_over_tp(name: str) -> bool:
    """Whether each tp process has a part of the parameter."""
    cut = ("qkv.", "up.", "head.", "out.weight", "down.weight", "embedding.weight")
    return any(part in name for part in cut)


def _sum_over_tp(made: Experiment) -> None:
    group = made.mesh.group("tp")
    for name, parameter in made.parameters():
        if is_partial_over_tp(name, made.mesh.layout.sequence_parallel):
            assert parameter.grad is not None
            dist.all_reduce(parameter.grad, group=group)


def _sum_tied(made: Experiment) -> None:
    """Embedding and head are one parameter with a copy on the first and one on the last stage."""
    for name, parameter in made.parameters():
        if name in ("embedding.weight", "head.weight"):
            dist.all_reduce(parameter.grad, group=made.mesh.group("pp"))


def divide_by_tokens(made: Experiment, axes: tuple[str, ...] = ("cp", "dp")) -> None:
    """Divide gradients by the number of labels that count in the whole step."""
    step = len(made.losses) // made.mesh.layout.micro_batches - 1
    counts = [(labels != IGNORED).sum() for _, _, labels in made.micro_batches(step)]
    total = torch.stack(counts).sum()
    for axis in axes:
        if made.mesh.size(axis) > 1:
            dist.all_reduce(total, group=made.mesh.group(axis))
    scale_gradients(made, 1.0 / float(total))


def _average(made: Experiment, axis: str) -> None:
    """The mean over an axis, or the sum where tokens are counted instead."""
    group = made.mesh.group(axis)
    size = 1 if made.mesh.layout.per_token else made.mesh.size(axis)
    for name, parameter in made.parameters():
        assert parameter.grad is not None
        if not (axis == "dp" and made.mesh.layout.ep > 1 and "experts." in name):
            dist.all_reduce(parameter.grad, group=group)
        parameter.grad.div_(size)


def norm_of(made: Experiment, counted: Callable[[str], float] | None = None) -> Tensor:
    """The gradient's norm over the whole model; `counted` weighs whole parameters on a process."""
    mesh = made.mesh
    total = torch.zeros(())
    for name, parameter in made.parameters():
        assert parameter.grad is not None
        cut = mesh.size("tp") > 1 and is_cut_over_tp(name)
        share = 1.0 if cut else 1.0 / mesh.size("tp")
        cut_over_dp = mesh.layout.ep > 1 and "experts." in name
        if mesh.layout.ep > 1 and not cut_over_dp:
            share /= mesh.size("dp")
        share = share if counted is None else counted(name)
        total += share * parameter.grad.float().square().sum()
    for axis in ("tp", "pp", *(("dp",) if mesh.layout.ep > 1 else ())):
        if mesh.size(axis) > 1:
            dist.all_reduce(total, group=mesh.group(axis))
    return total.sqrt()


def clip(made: Experiment, norm: Tensor | None = None) -> None:
    """Scale all gradients so that the norm of the whole is at most CLIP."""
    with torch.no_grad():
        factor = (CLIP / (norm_of(made) if norm is None else norm)).clamp(max=1.0)
        for _, parameter in made.parameters():
            assert parameter.grad is not None
            parameter.grad.mul_(factor)


def _clip_native(made: Experiment) -> None:
    whole = [
        p.grad.full_tensor() if isinstance(p.grad, DTensor) else p.grad
        for _, p in made.parameters()
    ]
    with torch.no_grad():
        norm = torch.stack([g.float().square().sum() for g in whole if g is not None]).sum().sqrt()
        factor = float((CLIP / norm).clamp(max=1.0))
        for _, parameter in made.parameters():
            assert parameter.grad is not None
            parameter.grad.mul_(factor)


def _share_updates(made: Experiment) -> None:
    """ZeRO 1: each dp process updates every n-th parameter and sends it to the others."""
    mesh = made.mesh
    size, own = mesh.size("dp"), mesh.at("dp")
    parameters = [parameter for _, parameter in made.parameters()]
    made.optimizer = optimizer_of(made.size, parameters[own::size])

    def clear() -> None:
        for parameter in parameters:
            parameter.grad = None

    def send() -> None:
        for index, parameter in enumerate(parameters):
            owner = mesh.ranks("dp")[index % size]
            dist.broadcast(parameter.data, owner, group=mesh.group("dp"))
        clear()

    made.after_step["send"] = send
