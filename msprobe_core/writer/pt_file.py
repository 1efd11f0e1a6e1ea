"""Writes one tensor as a `.pt` file, the form that `torch.load` reads."""

from __future__ import annotations

from pathlib import Path

import torch


def write_pt(target: Path, values: torch.Tensor) -> int:
    """Write a contiguous tensor on the CPU; the file's size in bytes. Raises OSError."""
    try:
        torch.save(values, target)
    except RuntimeError as error:  # torch says so when the disk is full
        raise OSError(f"cannot write {target}: {error}") from None
    return target.stat().st_size
