"""Small models that need torch alone: cells that run over time, and messages along a graph."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from benchmarks.models.sizes import WIDTH, WORDS


class Recurrent(nn.Module):
    """Words through a cell of a GRU, and from there through one of an LSTM: dynamo unrolls cells,
    and makes no graph of the layers.
    """

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.head = nn.Embedding(WORDS, WIDTH), nn.Linear(WIDTH, WORDS)
        self.gru, self.lstm = nn.GRUCell(WIDTH, WIDTH), nn.LSTMCell(WIDTH, WIDTH)

    def forward(self, ids: Tensor) -> Tensor:
        words = self.embed(ids)
        hidden = last = state = torch.zeros_like(words[:, 0])
        made = []
        for at in range(ids.shape[1]):
            hidden = self.gru(words[:, at], hidden)
            last, state = self.lstm(hidden, (last, state))
            made.append(last)
        return self.head(torch.stack(made, 1))  # type: ignore[no-any-return]


class Messages(nn.Module):
    """Two rounds of messages along the edges of a graph, and attention of nodes to their edges."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(WORDS, WIDTH)
        self.rounds = nn.ModuleList(_Round() for _ in range(2))
        self.head = nn.Linear(WIDTH, 3)

    def forward(self, nodes: Tensor, edges: Tensor) -> Tensor:
        x = self.embed(nodes)
        for each in self.rounds:
            x = each(x, edges)
        return self.head(x.mean(0))  # type: ignore[no-any-return]


class _Round(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.message, self.weigh = nn.Linear(2 * WIDTH, WIDTH), nn.Linear(WIDTH, 1)
        self.update, self.norm = nn.GRUCell(WIDTH, WIDTH), nn.LayerNorm(WIDTH)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        source, target = edges
        sent = self.message(torch.cat([x[source], x[target]], -1)).relu()
        score = self.weigh(sent).squeeze(-1)
        largest = torch.full_like(x[:, 0], -torch.inf).scatter_reduce(0, target, score, "amax")
        share = (score - largest[target]).exp()
        total = torch.zeros_like(x[:, 0]).index_add(0, target, share)
        mean = torch.zeros_like(x).index_add(
            0, target, sent * (share / total[target]).unsqueeze(-1)
        )
        return self.norm(self.update(mean, x))  # type: ignore[no-any-return]
