"""Experts with one of them per token, on one process or spread over several."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.distributed as dist
from torch import Tensor, nn

from tests.parallel.collective import AllToAll, Group
from tests.parallel.layout import Mesh


class Router(nn.Module):
    """Which expert each token goes to, and how much its answer counts."""

    def __init__(self, hidden: int, experts: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.randn(experts, hidden) / hidden**0.5)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        chances = torch.softmax(x @ self.weight.t(), -1)
        best, chosen = chances.max(-1)
        return best, chosen


class Experts(nn.Module):
    """Sorts tokens by expert; `experts` are those of this process."""

    def __init__(self, experts: Sequence[nn.Module]) -> None:
        super().__init__()
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
        rows, owner = x.flatten(0, -2), chosen.flatten()
        order = owner.argsort(stable=True)
        counts = torch.bincount(owner, minlength=self.total)
        sorted_back = self._answers(rows[order], counts)
        answers = torch.zeros_like(sorted_back).index_copy(0, order, sorted_back)
        return answers.view_as(x) * best.unsqueeze(-1)

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
