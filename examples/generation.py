"""Generation: the first to the third token of a loop: python examples/generation.py OUT"""

from __future__ import annotations

import torch
from net import out_folder
from torch import nn

from msprobe.pytorch import PrecisionDebugger, seed_all

seed_all()
debugger = PrecisionDebugger(dump_path=out_folder(), level="mix")  # once, before the loop


class NextToken(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding, self.head = nn.Embedding(16, 8), nn.Linear(8, 16)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(self.embedding(ids).mean(1))


def generate(model: nn.Module, ids: torch.Tensor, tokens: int) -> torch.Tensor:
    with torch.inference_mode():
        for _ in range(tokens):
            ids = torch.cat([ids, model(ids).argmax(-1, keepdim=True)], dim=1)
    return ids


model = NextToken()
debugger.start(model=model, token_range=[1, 3])
output = generate(model, torch.tensor([[1, 2, 3]]), tokens=8)
debugger.stop()
debugger.step()
