"""A small language model whose loss leaps, followed as trends; --config records steps, too.

python examples/loss_spike.py trends/sound
python examples/loss_spike.py trends/spiked --fault
python examples/loss_spike.py trends/spiked --fault --config config.json --dumps dumps/spiked
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F

from msprobe.pytorch import PrecisionDebugger, Trends, seed_all

VOCABULARY, WIDTH, LAYERS, STEPS, FAULT_FROM = 64, 32, 4, 160, 120


class Block(nn.Module):
    """A residual MLP."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.up = nn.Linear(WIDTH, 2 * WIDTH)
        self.down = nn.Linear(2 * WIDTH, WIDTH)
        self.scale = 1.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Add what the MLP makes of the normalised input."""
        hidden = F.gelu(self.up(self.norm(x)))
        if self.scale != 1.0:
            hidden = hidden * self.scale
        return x + self.down(hidden)


class Model(nn.Module):
    """Predicts the next token of an affine sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList([Block() for _ in range(LAYERS)])
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        """Logits of each position."""
        x = self.embed(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def batch(step: int) -> torch.Tensor:
    """Sequences of a step: each token is three times the one before, plus five, with some noise."""
    generator = torch.Generator().manual_seed(step)
    ids = torch.randint(0, VOCABULARY, (8, 1), generator=generator)
    for _ in range(16):
        noise = (torch.rand((8, 1), generator=generator) < 0.05).long()
        ids = torch.cat([ids, (ids[:, -1:] * 3 + 5 + noise) % VOCABULARY], 1)
    return ids


def main() -> None:
    """Train, with a fault from a step on if asked."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("trends", type=Path)
    parser.add_argument("--fault", action="store_true", help="layers.2 scales its hidden state")
    parser.add_argument("--config", type=Path, help="records the steps that it names")
    parser.add_argument("--dumps", type=Path, default=Path("dumps"))
    options = parser.parse_args()
    seed_all()
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    debugger = None
    if options.config is not None:
        config = {**json.loads(options.config.read_text()), "dump_path": str(options.dumps)}
        chosen = options.dumps.with_suffix(".json")
        chosen.parent.mkdir(parents=True, exist_ok=True)
        chosen.write_text(json.dumps(config))
        debugger = PrecisionDebugger(chosen)
    with Trends(options.trends, model, optimizer, activations="all") as trends:
        for step in range(STEPS):
            if options.fault and step == FAULT_FROM:
                model.layers[2].scale = 12.0
            if debugger is not None:
                debugger.start(model)
            ids = batch(step)
            logits = model(ids[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            if debugger is not None:
                debugger.stop()
                debugger.step()
            trends.step(loss=loss)


if __name__ == "__main__":
    main()
