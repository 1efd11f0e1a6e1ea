"""Saves tensors under `dump_tensor_data`, each tensor once: later names refer to the first."""

from __future__ import annotations

from pathlib import Path

import torch


class TensorFiles:
    """Writes `<value name>.pt` files into one directory, created on the first save."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.count = 0
        self.bytes = 0

    def save(self, tensor: torch.Tensor, path: str) -> str:
        """Write the tensor; its file name. Raises OSError as the file system does."""
        if not self.count:
            self.directory.mkdir(parents=True, exist_ok=True)
        name = f"{path}.pt"
        target = self.directory / name
        # A clone holds the values alone: a view would carry its whole storage into the file.
        torch.save(tensor.detach().to("cpu", copy=True).contiguous(), target)
        self.count += 1
        self.bytes += target.stat().st_size
        return name
