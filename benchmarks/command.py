"""Runs a command and measures it from its start: seconds, peak memory and what it wrote."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Measured:
    """`seconds` on the clock, `memory` = resident peak of the largest process in bytes."""

    seconds: float
    memory: int
    written: int


def measure(
    command: Sequence[object],
    repeats: int = 1,
    output: bool = True,
    codes: Sequence[int] = (0,),
) -> Measured:
    """The fastest of several runs; with `output` a fresh `-o FOLDER` is appended to each.

    Raises CalledProcessError with the command's own words when it ends with none of `codes`.
    """
    runs = (_run(command, output, codes) for _ in range(repeats))
    return min(runs, key=lambda m: m.seconds)


def _run(command: Sequence[object], output: bool, codes: Sequence[int]) -> Measured:
    folder = Path(tempfile.mkdtemp(prefix="bench-"))
    words = [str(word) for word in command] + (["-o", str(folder / "out")] if output else [])
    with (folder / "log").open("w+") as log:
        began = time.perf_counter()
        process = subprocess.Popen(words, stdout=log, stderr=log)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - began
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode not in codes:
            log.seek(0)
            raise subprocess.CalledProcessError(process.returncode, words, log.read()[-2000:])
    written = sum(path.stat().st_size for path in folder.rglob("*.vis.db"))
    shutil.rmtree(folder)
    return Measured(seconds, usage.ru_maxrss * 1024, written)
