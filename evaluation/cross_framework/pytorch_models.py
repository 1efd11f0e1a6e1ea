"""The models of the pairs in PyTorch, which are the benchmark of every pair."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class Cnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1, self.norm1 = nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.BatchNorm2d(8)
        self.conv2, self.norm2 = nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16)
        self.act, self.pool, self.drop = nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.0)
        self.head = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.act(self.norm1(self.conv1(x)))
        x = self.pool(self.act(self.norm2(self.conv2(x))))
        return self.head(self.drop(x.reshape(x.shape[0], -1)))


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.lstm = nn.LSTM(8, 12, num_layers=2, batch_first=True)
        self.head = nn.Linear(12, 1)

    def forward(self, tokens: Tensor) -> Tensor:
        hidden, _ = self.lstm(self.embed(tokens))
        return self.head(hidden[:, -1])


class Attending(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)
        self.head = nn.Linear(16, 5)

    def forward(self, x: Tensor) -> Tensor:
        normal = self.norm(x)
        mixed, _ = self.attention(normal, normal, normal)
        return self.head(x + mixed)


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed, self.fc, self.norm = nn.Embedding(30, 16), nn.Linear(16, 16), nn.LayerNorm(16)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        x = self.norm(x + torch.tanh(self.fc(x)))
        return torch.matmul(x, self.embed.weight.transpose(0, 1))


class Stage(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(16), nn.Linear(16, 32), nn.Linear(32, 16)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.down(F.relu(self.up(self.norm(x))))


class Named(nn.Module):
    """A stack of blocks whose partner in MindSpore has other names throughout."""

    def __init__(self) -> None:
        super().__init__()
        self.stages = nn.ModuleList(Stage() for _ in range(2))
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 5)

    def forward(self, x: Tensor) -> Tensor:
        for stage in self.stages:
            x = stage(x)
        return self.head(self.norm(x))


class Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down, self.norm = nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.GroupNorm(2, 8)
        self.act, self.up = nn.PReLU(), nn.ConvTranspose2d(8, 3, 2, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        return self.up(self.act(self.norm(self.down(x))))


class BothWays(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.gru = nn.GRU(8, 6, bidirectional=True, batch_first=True)
        self.head = nn.Linear(12, 1)

    def forward(self, tokens: Tensor) -> Tensor:
        hidden, _ = self.gru(self.embed(tokens))
        return self.head(torch.mean(hidden, 1))


class Gated(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(16)
        self.gate, self.up, self.down = nn.Linear(16, 24), nn.Linear(16, 24), nn.Linear(24, 16)
        self.head = nn.Linear(16, 5, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        normal = self.norm(x)
        mixed = torch.mul(F.silu(self.gate(normal)), self.up(normal))
        return self.head(torch.add(x, self.down(mixed)))


class Separable(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.deep, self.point = nn.Conv2d(3, 6, 3, padding=1, groups=3), nn.Conv2d(6, 12, 1)
        self.act, self.pool, self.gate = nn.LeakyReLU(), nn.AvgPool2d(2), nn.SiLU()
        self.flat, self.head = nn.Flatten(), nn.Linear(12 * 16, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.flat(self.gate(self.pool(self.act(self.point(self.deep(x)))))))


class Vision(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 16, 4, stride=4)
        self.token = nn.Parameter(torch.zeros(1, 1, 16))
        self.places = nn.Parameter(torch.zeros(1, 5, 16))
        self.stages = nn.Sequential(*[Stage() for _ in range(2)])
        self.norm, self.head = nn.LayerNorm(16), nn.Linear(16, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(x.shape[0], 1, 16), x), 1) + self.places
        return self.head(self.norm(self.stages(x))[:, 0])


class TextCnn(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 8)
        self.convs = nn.ModuleList(nn.Conv1d(8, 6, size) for size in (2, 3))
        self.head = nn.Linear(12, 1)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens).transpose(1, 2)
        found = [F.relu(conv(x)) for conv in self.convs]
        return self.head(torch.cat([each.amax(2) for each in found], 1))


class Unrolled(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell, self.norm, self.head = nn.GRUCell(16, 12), nn.LayerNorm(12), nn.Linear(12, 5)

    def forward(self, x: Tensor) -> Tensor:
        hidden, told = torch.zeros(x.shape[0], 12), []
        for step in range(x.shape[1]):
            hidden = self.cell(x[:, step], hidden)
            told.append(self.head(self.norm(hidden)))
        return torch.stack(told, 1)


class Experts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.gate, self.head = nn.Linear(16, 3), nn.Linear(16, 5)
        self.experts = nn.ModuleList(
            nn.Sequential(nn.Linear(16, 8), nn.Tanh(), nn.Linear(8, 16)) for _ in range(3)
        )

    def forward(self, x: Tensor) -> Tensor:
        shares = F.softmax(self.gate(x), -1)
        made = torch.stack([expert(x) for expert in self.experts], -1)
        return self.head(x + torch.sum(made * shares.unsqueeze(-2), -1))
