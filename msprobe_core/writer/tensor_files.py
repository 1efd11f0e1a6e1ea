"""Saves tensors under `dump_tensor_data`, each tensor once: later names refer to the first."""

from __future__ import annotations

from pathlib import Path

import torch

from msprobe_core.writer.pt_file import write_pt


class TensorFiles:
    """Writes `<value name>.pt` files into one directory, created on the first save.

    `deferred` keeps copies on their devices until `finish`.
    """

    def __init__(self, directory: Path, deferred: bool) -> None:
        self.directory = directory
        self._deferred = deferred
        self._kept: list[tuple[torch.Tensor, str]] = []
        self.count = 0
        self.bytes = 0

    def save(self, tensor: torch.Tensor, path: str) -> str:
        """Write the tensor; its file name. Raises OSError as the file system does."""
        name = f"{path}.pt"
        # A copy holds the values alone: a view would carry its whole storage into the file.
        values = tensor.detach().resolve_conj().resolve_neg().contiguous()
        if self._deferred:
            self._kept.append((values.clone(), name))
        else:
            self._write(values, name)
        return name

    def finish(self) -> None:
        """Write what was kept. Raises OSError as the file system does."""
        while self._kept:
            self._write(*self._kept.pop(0))

    def _write(self, values: torch.Tensor, name: str) -> None:
        if not self.count:
            self.directory.mkdir(parents=True, exist_ok=True)
        if values.untyped_storage().nbytes() != values.numel() * values.element_size():
            values = values.clone()
        self.count += 1
        self.bytes += write_pt(self.directory / name, values.cpu())
