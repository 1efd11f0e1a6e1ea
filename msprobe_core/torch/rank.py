"""Which rank this process has in torch.distributed."""

from __future__ import annotations

import sys


def current_rank() -> int | None:
    """The rank of this process in torch.distributed, None when it has none (yet)."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    return int(distributed.get_rank())
