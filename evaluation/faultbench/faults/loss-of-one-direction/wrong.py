"""Contrastive training of two towers: vectors of pictures and words that belong together."""

import math

import torch
from torch import nn
from torch.nn import functional as F


class QuickGELU(nn.Module):
    def forward(self, x):
        return x * torch.sigmoid(1.702 * x)


class Tower(nn.Module):
    def __init__(self, inside):
        super().__init__()
        self.up, self.act, self.down = nn.Linear(inside, 96), QuickGELU(), nn.Linear(96, 24)

    def forward(self, x):
        return F.normalize(self.down(self.act(self.up(x))), dim=-1)


class Contrastive(nn.Module):
    def __init__(self):
        super().__init__()
        self.pictures, self.words = Tower(50), Tower(30)
        self.log_scale = nn.Parameter(torch.tensor(math.log(1 / 0.07)))

    def forward(self, pictures, words):
        left, right = self.pictures(pictures), self.words(words)
        return self.log_scale.exp() * left @ right.T


def build():
    torch.manual_seed(64)
    model = Contrastive()
    return model, torch.optim.NAdam(model.parameters(), lr=0.01)


def step(n, model, optimizer):
    data = torch.Generator().manual_seed(n)
    pictures = 2 * torch.randn(12, 50, generator=data)
    words = pictures[:, :30] + torch.randn(12, 30, generator=data)
    logits = model(pictures, words)
    matches = torch.arange(len(logits))
    loss = (F.cross_entropy(logits, matches) + F.cross_entropy(logits, matches)) / 2  # @answer
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss


if __name__ == "__main__":
    state = build()
    for n in range(2):
        print(f"step {n}: {step(n, *state).item():.6f}")
