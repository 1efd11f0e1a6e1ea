"""Compares two saved models, whatever layout each was saved in, one parameter at a time.

Nothing here loads torch before a comparison runs.
"""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from msprobe.errors import CheckError
from msprobe_core.format.installation import install_command

if TYPE_CHECKING:
    from msprobe.checkpoints.checkpoint_comparison import CheckpointComparison

__all__ = ["compare_checkpoints"]


def compare_checkpoints(
    first: str | Path, second: str | Path, mapping: str | Path | None = None
) -> CheckpointComparison:
    """Compare the parameters of two checkpoints; `mapping` is a YAML file of unequal names.

    Memory: at most four times the largest parameter, whatever the size of the checkpoints.
    Raises CheckError for a path that holds no checkpoint and for one that is incomplete.
    """
    if find_spec("torch") is None:
        raise CheckError(f"{first}: needs torch", install_command("checkpoints"))
    from msprobe.checkpoints.checkpoint_comparison import compare

    return compare(Path(first), Path(second), None if mapping is None else Path(mapping))
