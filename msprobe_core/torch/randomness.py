"""Reports where a run draws random numbers: one CSV line per API and place.

It watches from `random_save` to the end of the process; torch stays as it is.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from msprobe_core.capture.stacks import StackBook
from msprobe_core.errors import ConfigError
from msprobe_core.format.csv_table import CsvTable
from msprobe_core.torch.fast_paths import FastPaths, OwnMode
from msprobe_core.torch.rank import current_rank

RANDOM_APIS = frozenset(
    """
    rand rand_like randn randn_like randint randint_like randperm normal bernoulli bernoulli_
    multinomial poisson binomial normal_ uniform_ exponential_ cauchy_ log_normal_ geometric_
    random_ dropout dropout1d dropout2d dropout3d dropout_ alpha_dropout feature_alpha_dropout
    alpha_dropout_ feature_dropout gumbel_softmax rrelu rrelu_ fractional_max_pool2d
    fractional_max_pool3d xavier_uniform_ xavier_normal_ kaiming_uniform_ kaiming_normal_
    trunc_normal_ orthogonal_ sparse_
    """.split()
)


class _Watch(OwnMode):
    """Writes a line for each new pair of API and stack."""

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._directory = directory
        self._file: Path | None = None
        self._stacks = StackBook()
        self._seen: set[tuple[str, int]] = set()

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: object,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        name = getattr(func, "__name__", "")
        if name in RANDOM_APIS:
            number = self._stacks.capture(sys._getframe(1), None, -1)
            if (name, number) not in self._seen:
                self._seen.add((name, number))
                self._write(name, self._stacks.text(self._stacks.text_number(number)))
        return func(*args, **(kwargs or {}))

    def _write(self, name: str, frames: list[str]) -> None:
        fresh = self._file is None
        if self._file is None:
            self._directory.mkdir(parents=True, exist_ok=True)
            self._file = self._directory / _file_name()
        with self._file.open("a", newline="", encoding="utf-8") as file:
            table = CsvTable(file, lineterminator="\r\n")
            if fresh:
                table.row(["api_name", "stack"])
            table.row([name, "\n".join(frames)])


def random_save(output_path: str = "./output") -> None:
    """Write the places of all calls of randomness APIs from here on to a CSV file.

    The file is `random_rank<ID>_<time>.csv`, or `random_proc<pid>_<time>.csv` without a rank.
    Raises ConfigError when `output_path` is no folder that can be made.
    """
    if not isinstance(output_path, (str, Path)) or not str(output_path):
        raise ConfigError(f"random_save: output_path is {output_path!r}", "give a folder")
    directory = Path(output_path)
    if directory.exists() and not directory.is_dir():
        raise ConfigError(f"random_save: {directory} is a file", "give a folder")
    FastPaths().start()
    _Watch(directory).__enter__()  # type: ignore[no-untyped-call]  # torch has no types there


def _file_name() -> str:
    rank = current_rank()
    who = f"proc{os.getpid()}" if rank is None else f"rank{rank}"
    return f"random_{who}_{time.strftime('%Y%m%d%H%M%S')}.csv"
