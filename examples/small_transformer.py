"""A small GPT-like training run that dumps its two steps: python examples/small_transformer.py OUT

With --fault the MLP of layer 2 scales its activation wrongly; all else stays the same.
"""

from __future__ import annotations

import argparse

import torch
import torch.nn.functional as F
from torch import nn

from msprobe.pytorch import PrecisionDebugger, seed_all

VOCABULARY, LENGTH, BATCH, WIDTH, HEADS, LAYERS = 64, 16, 4, 32, 4, 4
FAULTY_LAYER = 2


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.qkv = nn.Linear(WIDTH, 3 * WIDTH)
        self.proj = nn.Linear(WIDTH, WIDTH)

    def forward(self, x_BLD: torch.Tensor) -> torch.Tensor:
        parts = [
            part.unflatten(-1, (HEADS, -1)).transpose(1, 2) for part in self.qkv(x_BLD).chunk(3, -1)
        ]
        mixed = F.scaled_dot_product_attention(*parts, is_causal=True)
        return self.proj(mixed.transpose(1, 2).flatten(2))


class MLP(nn.Module):
    def __init__(self, faulty: bool) -> None:
        super().__init__()
        self.fc1 = nn.Linear(WIDTH, 4 * WIDTH)
        self.fc2 = nn.Linear(4 * WIDTH, WIDTH)
        self.faulty = faulty

    def forward(self, x_BLD: torch.Tensor) -> torch.Tensor:
        hidden = F.gelu(self.fc1(x_BLD))
        if self.faulty:
            hidden = hidden * 1.5
        return self.fc2(hidden)


class Block(nn.Module):
    def __init__(self, faulty: bool) -> None:
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attn, self.mlp = Attention(), MLP(faulty)

    def forward(self, x_BLD: torch.Tensor) -> torch.Tensor:
        x_BLD = x_BLD + self.attn(self.ln1(x_BLD))
        return x_BLD + self.mlp(self.ln2(x_BLD))


class SmallTransformer(nn.Module):
    def __init__(self, fault: bool) -> None:
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Embedding(LENGTH, WIDTH)
        self.layers = nn.ModuleList(Block(fault and n == FAULTY_LAYER) for n in range(LAYERS))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids_BL: torch.Tensor) -> torch.Tensor:
        x_BLD = self.tokens(ids_BL) + self.positions(torch.arange(ids_BL.shape[1]))
        for layer in self.layers:
            x_BLD = layer(x_BLD)
        return self.head(self.norm(x_BLD))


def train(out: str, fault: bool, steps: int = 2, task: str = "statistics") -> float:
    """Train and dump; the last loss."""
    torch.set_num_threads(1)
    seed_all(1234)
    debugger = PrecisionDebugger(task=task, dump_path=out, level="mix")
    model = SmallTransformer(fault)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    data = torch.Generator().manual_seed(7)
    loss = torch.tensor(0.0)
    for _ in range(steps):
        ids_BL = torch.randint(0, VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        debugger.start(model=model)
        optimizer.zero_grad()
        logits = model(ids_BL[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), ids_BL[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        debugger.stop()
        debugger.step()
    debugger.close()
    return loss.item()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", help="the folder that receives the dump")
    parser.add_argument("--fault", action="store_true", help="compute wrongly in layers.2.mlp")
    parser.add_argument("--task", default="statistics", choices=("statistics", "tensor"))
    arguments = parser.parse_args()
    print(f"loss {train(arguments.out, arguments.fault, task=arguments.task):.6f}")


if __name__ == "__main__":
    main()
