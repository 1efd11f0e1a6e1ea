"""A training that either tool's monitors follow: `python monitored_training.py v1|v2 CONFIG`.

Five steps of two micro-batches each. Run by the Python of either tool: `msprobe` is that of the
environment. The first monitor writes below MONITOR_OUTPUT_DIR, the second where CONFIG says.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

STEPS, MICRO_BATCHES = 5, 2


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.fc1, self.fc2 = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        return x + self.fc2(F.relu(self.fc1(self.norm(x))))


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.emb = nn.Embedding(16, 8)
        self.layers = nn.ModuleList([Block(8) for _ in range(2)])
        self.head = nn.Linear(8, 16)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.emb(ids)
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def first(config: str, model: nn.Module, optimizer: torch.optim.Optimizer) -> Callable[[], None]:
    """Begin the first monitor; what ends it."""
    from msprobe.pytorch import TrainerMon

    TrainerMon(config, params_have_main_grad=False).set_monitor(
        model, optimizer, grad_acc_steps=MICRO_BATCHES
    )
    return lambda: None


def second(config: str, model: nn.Module, optimizer: torch.optim.Optimizer) -> Callable[[], None]:
    """Begin the second monitor; what ends it."""
    from msprobe.core.monitor_v2.trainer import TrainerMonitorV2

    monitor: Any = TrainerMonitorV2(config)
    monitor.start(model=model, optimizer=optimizer, grad_acc_steps=MICRO_BATCHES)
    return monitor.stop  # type: ignore[no-any-return]


def main(which: str, config: str) -> None:
    """Train under a monitor to the end."""
    torch.manual_seed(1)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    stop = {"v1": first, "v2": second}[which](config, model, optimizer)
    for _ in range(STEPS):
        for _ in range(MICRO_BATCHES):
            ids, wanted = torch.randint(0, 16, (2, 4)), torch.randint(0, 16, (2, 4))
            loss = F.cross_entropy(model(ids).reshape(-1, 16), wanted.reshape(-1))
            (loss / MICRO_BATCHES).backward()
        optimizer.step()
        optimizer.zero_grad()
    stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
