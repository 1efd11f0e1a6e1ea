"""What a configuration asks to write of each tensor, for any framework."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from msprobe_core.capture.earlier_checksums import entry_of, read_checksums
from msprobe_core.capture.selection import Selection
from msprobe_core.config import Config

SavesValue = Callable[[str, str], bool]
"""Whether the value at a path, with this record, is saved as a file beside it."""


@dataclass(frozen=True, slots=True)
class ValueOptions:
    """What is written of a tensor. `checksum` is `md5` (a CRC-32), `xor` or None."""

    statistics: bool = True
    checksum: str | None = None
    save: bool = False
    double: bool = False
    flow: bool = False
    sketch: bool = False
    rows: bool = False

    @classmethod
    def of(cls, config: Config) -> ValueOptions:
        """The options of a configuration."""
        return cls(
            statistics=config.summary_mode != "xor",
            checksum=None if config.summary_mode == "statistics" else config.summary_mode,
            save=config.task == "tensor" and config.bench_path is None,
            double=config.precision == "high",
            flow=config.flow,
            sketch=config.sketch and config.summary_mode != "xor",
            rows=config.rows,
        )


def saves_value(
    config: Config, selection: Selection, step: int, rank_dir: str
) -> SavesValue | None:
    """Which values of a statistics dump are saved as tensors beside their records."""
    if config.tensor_list:
        return lambda path, _: selection.saves(entry_of(path))
    if config.bench_path is not None:
        earlier = read_checksums(config.bench_path, step, rank_dir, config.diff_nums)
        return None if earlier is None else earlier.differs
    return None
