"""Truncated training of a character model with its own LSTM cell; documents end inside the stream."""

import torch
from torch import nn
from torch.nn import functional as F

SYMBOLS, WIDTH, SPAN, END = 28, 40, 12, 0


class LSTMCell(nn.Module):
    def __init__(self, inside, width):
        super().__init__()
        self.from_input = nn.Linear(inside, 4 * width)
        self.from_hidden = nn.Linear(width, 4 * width, bias=False)

    def forward(self, x, hidden, cell):
        gates = self.from_input(x) + self.from_hidden(hidden)
        enter, update, forget, leave = gates.chunk(4, dim=-1)  # @answer
        cell = torch.sigmoid(forget) * cell + torch.sigmoid(enter) * torch.tanh(update)  # @answer
        return torch.sigmoid(leave) * torch.tanh(cell), cell


class CharacterModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(SYMBOLS, 24)
        self.lower = LSTMCell(24, WIDTH)
        self.upper = LSTMCell(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, SYMBOLS)

    def forward(self, symbols, state):
        low, low_cell, high, high_cell = state
        logits = []
        for now in symbols.unbind(1):
            fresh = (now != END)[:, None].float()
            low, low_cell = self.lower(self.embed(now), low * fresh, low_cell * fresh)
            high, high_cell = self.upper(low, high * fresh, high_cell * fresh)
            logits.append(self.head(high))
        return torch.stack(logits, dim=1), (low, low_cell, high, high_cell)


def build():
    torch.manual_seed(12)
    model = CharacterModel()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    state = [torch.zeros(3, WIDTH)] * 4
    stream = torch.randint(SYMBOLS, (3, 4 * SPAN), generator=torch.Generator().manual_seed(1))
    stream[:, 5], stream[1, 20] = END, END
    return model, optimizer, state, stream


def step(n, model, optimizer, state, stream):
    window = stream[:, n * SPAN : (n + 1) * SPAN + 1]
    logits, carried = model(window[:, :-1], state)
    loss = F.cross_entropy(logits.flatten(0, 1), window[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    state[:] = [part.detach() for part in carried]
    return loss


if __name__ == "__main__":
    state = build()
    for n in range(2):
        print(f"step {n}: {step(n, *state).item():.6f}")
