"""Experts with one or more of them per token, on one process or spread over several."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil

import torch
import torch.distributed as dist
from torch import Tensor, nn

from evaluation.parallel.collective import AllToAll, Group
from evaluation.parallel.layout import Mesh


class Router(nn.Module):
    """Which expert each token goes to, and how much its answer counts."""

    def __init__(self, hidden: int, experts: int, top: int = 1) -> None:
        super().__init__()
        self.top, self.is_normalised = top, False
        self.weight = nn.Parameter(torch.randn(experts, hidden) / hidden**0.5)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        chances = torch.softmax(x @ self.weight.t(), -1)
        if self.top == 1:
            best, chosen = chances.max(-1)
            return best, chosen
        best, chosen = chances.topk(self.top, -1)
        return (best / best.sum(-1, keepdim=True) if self.is_normalised else best), chosen


class Experts(nn.Module):
    """Sorts tokens by expert; `experts` are those of this process.

    With a `capacity` the tokens behind so many times an even share are dropped: they get zeros.
    """

    def __init__(self, experts: Sequence[nn.Module], capacity: float = 0.0) -> None:
        super().__init__()
        self.capacity, self.keeps_dropped = capacity, False
        self.experts = nn.ModuleList(experts)
        self.total = len(experts)
        self.group: Group = None

    def spread(self, mesh: Mesh) -> None:
        """Keep this process's share of the experts."""
        share = self.total // mesh.layout.ep
        first = share * mesh.at("dp")
        self.experts = nn.ModuleList(self.experts[first : first + share])
        self.group = mesh.group("dp")

    def forward(self, x: Tensor, best: Tensor, chosen: Tensor) -> Tensor:
        top = 1 if chosen.ndim < x.ndim else chosen.shape[-1]
        rows, owner = x.flatten(0, -2), chosen.flatten()
        if top > 1:
            rows = rows.repeat_interleave(top, 0)
        order = owner.argsort(stable=True)
        counts = torch.bincount(owner, minlength=self.total)
        if self.capacity:
            order, counts = self._within_capacity(order, counts)
        sorted_back = self._answers(rows[order], counts)
        empty = rows.clone() if self.keeps_dropped else torch.zeros_like(rows)
        answers = empty.index_copy(0, order, sorted_back)
        if top == 1:
            return answers.view_as(x) * best.unsqueeze(-1)
        return (answers.view(*chosen.shape, -1) * best.unsqueeze(-1)).sum(-2)

    def _within_capacity(self, order: Tensor, counts: Tensor) -> tuple[Tensor, Tensor]:
        most = ceil(self.capacity * len(order) / self.total)
        first = counts.cumsum(0) - counts
        place = torch.arange(len(order)) - first.repeat_interleave(counts)
        return order[place < most], counts.clamp(max=most)

    def _answers(self, rows: Tensor, counts: Tensor) -> Tensor:
        if self.group is None:
            parts = rows.split(counts.tolist())
            return torch.cat([e(part) for e, part in zip(self.experts, parts, strict=True)])
        size, share = self.group.size(), len(self.experts)
        listed = [torch.empty_like(counts) for _ in range(size)]
        dist.all_gather(listed, counts, group=self.group)
        own = self.group.rank() * share
        coming = torch.stack(listed)[:, own : own + share]  # by source and expert
        sent, got = counts.view(size, share).sum(1).tolist(), coming.sum(1).tolist()
        arrived = AllToAll.apply(rows, self.group, sent, got)
        answered = self._by_expert(arrived, coming)
        return AllToAll.apply(answered, self.group, got, sent)

    def _by_expert(self, arrived: Tensor, coming: Tensor) -> Tensor:
        """Answers in the order of arrival: by source, then expert."""
        parts = arrived.split(coming.flatten().tolist())
        sources, share = coming.shape
        answers: list[list[Tensor]] = []
        for index, expert in enumerate(self.experts):
            own = [parts[source * share + index] for source in range(sources)]
            answer = expert(torch.cat(own))
            answers.append(list(answer.split([len(part) for part in own])))
        return torch.cat([answers[e][s] for s in range(sources) for e in range(share)])
