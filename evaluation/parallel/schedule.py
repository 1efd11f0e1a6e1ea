"""Runs the micro-batches of a step: at once, or through the stages of a pipeline."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.pipelining import PipelineStage, Schedule1F1B, ScheduleInterleaved1F1B

if TYPE_CHECKING:
    from evaluation.parallel.experiment import Experiment

MicroBatch = tuple[Tensor, Tensor, Tensor]


def run_schedule(run: Experiment, batches: list[MicroBatch]) -> None:
    """Forward and backward of all micro-batches; gradients accumulate."""
    if run.mesh.size("pp") == 1:
        for tokens, positions, labels in batches:
            run.loss_of(run.chunks[0](tokens, positions), labels).backward()
        return
    if run.mesh.layout.native == "schedule":
        _run_torchs_schedule(run, batches)
        return
    pipeline = Pipeline(run, batches)
    if run.mesh.layout.vpp > 1:
        pipeline.interleaved()
    else:
        pipeline.one_forward_one_backward()
    pipeline.finish()


def _run_torchs_schedule(run: Experiment, batches: list[MicroBatch]) -> None:
    """The same by torch's own pipeline, which runs a stage once more to learn its shapes."""
    tokens, positions, labels = (torch.cat(parts) for parts in zip(*batches, strict=True))
    if run.pipeline is None:
        run.pipeline = _torchs_schedule(run, len(batches))
    own, last = run.mesh.at("pp"), run.mesh.size("pp") - 1
    fed = [tokens] if own == 0 else []
    target = {"target": labels} if own == last else {}
    run.pipeline.step(*fed, positions=positions, **target)


def _torchs_schedule(run: Experiment, count: int) -> Schedule1F1B | ScheduleInterleaved1F1B:
    own, size = run.mesh.at("pp"), run.mesh.size("pp")
    stages = [
        PipelineStage(
            chunk,
            own + index * size,
            size * len(run.chunks),
            torch.device("cpu"),
            group=run.mesh.group("pp"),
        )
        for index, chunk in enumerate(run.chunks)
    ]
    if len(stages) == 1:
        return Schedule1F1B(stages[0], count, loss_fn=run.loss_of, scale_grads=False)
    return ScheduleInterleaved1F1B(stages, count, loss_fn=run.loss_of, scale_grads=False)


class Pipeline:
    """One process's part: receive, compute, send; virtual stage k lives on process k mod pp."""

    def __init__(self, run: Experiment, batches: list[MicroBatch]) -> None:
        self.run, self.batches = run, batches
        self.ranks, self.own = run.mesh.ranks("pp"), run.mesh.at("pp")
        self.stages = len(self.ranks) * run.mesh.layout.vpp
        self.kept: dict[tuple[int, int], tuple[Tensor | None, Tensor]] = {}
        self.sent: list[tuple[dist.Work, Tensor]] = []
        tokens = batches[0][0]
        self.shape = (*tokens.shape, run.size.hidden)
        if run.mesh.layout.sequence_parallel:
            self.shape = (tokens.shape[0], tokens.shape[1] // run.mesh.size("tp"), run.size.hidden)

    def one_forward_one_backward(self) -> None:
        """Warm up, then alternate, then drain."""
        count, stages = len(self.batches), len(self.ranks)
        warm = min(stages - self.own - 1, count)
        for index in range(warm):
            self.forward(self.own, index)
        for index in range(count - warm):
            self.forward(self.own, warm + index)
            self.backward(self.own, index)
        for index in range(count - warm, count):
            self.backward(self.own, index)

    def interleaved(self) -> None:
        """Every micro-batch goes round the stages, forward and then back."""
        mine = range(self.own, self.stages, len(self.ranks))
        for index in range(len(self.batches)):
            for virtual in mine:
                self.forward(virtual, index)
        for index in range(len(self.batches)):
            for virtual in reversed(mine):
                self.backward(virtual, index)

    def forward(self, virtual: int, index: int) -> None:
        """One micro-batch through one stage."""
        tokens, positions, labels = self.batches[index]
        came: Tensor | None = None
        if virtual > 0:
            came = torch.empty(self.shape, dtype=self.run.size.torch_dtype)
            dist.recv(came, self._rank(virtual - 1))
            came.requires_grad_()
        chunk = self.run.chunks[virtual // len(self.ranks)]
        result = chunk(tokens if came is None else came, positions)
        if virtual == self.stages - 1:
            result = self.run.loss_of(result, labels)
        else:
            self._send(result.detach().contiguous(), virtual + 1)
        self.kept[virtual, index] = (came, result)

    def backward(self, virtual: int, index: int) -> None:
        """The gradients of one micro-batch back through one stage."""
        came, result = self.kept.pop((virtual, index))
        if virtual == self.stages - 1:
            result.backward()
        else:
            gradient = torch.empty(self.shape, dtype=self.run.size.torch_dtype)
            dist.recv(gradient, self._rank(virtual + 1))
            result.backward(gradient)
        if came is not None:
            assert came.grad is not None
            self._send(came.grad, virtual - 1)

    def finish(self) -> None:
        """Wait until everything that was sent has arrived."""
        for work, _ in self.sent:
            work.wait()

    def _send(self, tensor: Tensor, virtual: int) -> None:
        work = dist.isend(tensor, self._rank(virtual))
        assert work is not None
        self.sent.append((work, tensor))  # a tensor that is gone cannot be sent

    def _rank(self, virtual: int) -> int:
        return self.ranks[virtual % len(self.ranks)]
