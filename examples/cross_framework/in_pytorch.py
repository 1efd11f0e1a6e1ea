"""The small transformer in PyTorch: python examples/cross_framework/in_pytorch.py OUT"""

from __future__ import annotations

import argparse

import torch
import torch.nn.functional as F
from torch import nn
from weights import BLOCKS, VOCABULARY, WIDTH, batch, weights

from msprobe.pytorch import PrecisionDebugger, seed_all


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value, self.out = (nn.Linear(WIDTH, WIDTH) for _ in range(4))

    def forward(self, x_BLD: torch.Tensor) -> torch.Tensor:
        heads = [
            part(x_BLD).reshape(*x_BLD.shape[:2], 2, WIDTH // 2).transpose(1, 2)
            for part in (self.query, self.key, self.value)
        ]
        scores = torch.matmul(heads[0], heads[1].transpose(-1, -2)) * (WIDTH // 2) ** -0.5
        mixed = torch.matmul(F.softmax(scores, -1), heads[2])
        return self.out(mixed.transpose(1, 2).reshape(x_BLD.shape))


class Mlp(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc1, self.act = nn.Linear(WIDTH, 4 * WIDTH), nn.GELU()
        self.fc2 = nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x_BLD: torch.Tensor) -> torch.Tensor:
        return self.fc2(self.act(self.fc1(x_BLD)))


class Block(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(WIDTH), Attention()
        self.norm2, self.mlp = nn.LayerNorm(WIDTH), Mlp()

    def forward(self, x_BLD: torch.Tensor) -> torch.Tensor:
        x_BLD = x_BLD + self.attention(self.norm1(x_BLD))
        return x_BLD + self.mlp(self.norm2(x_BLD))


class SmallTransformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Block() for _ in range(BLOCKS))
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens_BL: torch.Tensor) -> torch.Tensor:
        x_BLD = self.embed(tokens_BL)
        for layer in self.layers:
            x_BLD = layer(x_BLD)
        return self.head(self.norm(x_BLD))


def train(out: str, seed: int = 7) -> None:
    """Record two steps from the weights of a seed."""
    seed_all(1)
    model = SmallTransformer()
    model.load_state_dict({name: torch.from_numpy(value) for name, value in weights(seed).items()})
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    debugger = PrecisionDebugger(dump_path=out, level="mix")
    tokens = torch.from_numpy(batch()).long()
    for _ in range(2):
        debugger.start(model)
        logits = model(tokens).reshape(-1, VOCABULARY)
        loss = F.cross_entropy(logits, tokens.reshape(-1))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        debugger.stop()
        debugger.step()
        print(f"loss {loss.item():.6f}")
    debugger.close()


if __name__ == "__main__":
    parse = argparse.ArgumentParser(description=__doc__)
    parse.add_argument("out")
    train(parse.parse_args().out)
