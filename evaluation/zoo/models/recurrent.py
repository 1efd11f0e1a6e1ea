"""A recurrent model: an LSTM over the sequence, then a GRU cell unrolled by hand."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from evaluation.zoo.experiment import Experiment, tokens

VOCABULARY, HIDDEN, LENGTH = 40, 24, 6


class Unrolled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(HIDDEN, HIDDEN)

    def forward(self, x: Tensor) -> Tensor:
        state = self.initial(x)
        states = []
        for moment in range(x.shape[1]):
            state = self.advance(x[:, moment], state, moment)
            states.append(state)
        return torch.stack(states, dim=1)

    def initial(self, x: Tensor) -> Tensor:
        return torch.zeros_like(x[:, 0])

    def advance(self, x: Tensor, state: Tensor, moment: int) -> Tensor:
        del moment  # for faults that strike at one time step
        return self.cell(x, state)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, HIDDEN)
        self.lstm = nn.LSTM(HIDDEN, HIDDEN, batch_first=True)
        self.unrolled = Unrolled()
        self.norm = nn.LayerNorm(HIDDEN)
        self.head = nn.Linear(HIDDEN, VOCABULARY)

    def forward(self, ids: Tensor) -> Tensor:
        x, _ = self.lstm(self.scale(self.embed(ids)))
        return self.head(self.join(x, self.norm(self.unrolled(x))))

    def scale(self, x: Tensor) -> Tensor:
        return x * HIDDEN**0.5

    def join(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y


def recurrent(dtype: torch.dtype) -> Experiment:
    """Next-token prediction with Adam and gradient clipping."""
    model = Recurrent().to(dtype)
    return Experiment(
        model=model,
        optimizer=torch.optim.Adam(model.parameters(), lr=1e-2),
        inputs=lambda step: (tokens(step, (4, LENGTH + 1), VOCABULARY)[:, :-1],),
        labels=lambda step: tokens(step, (4, LENGTH + 1), VOCABULARY)[:, 1:],
        clip=0.5,
    )
