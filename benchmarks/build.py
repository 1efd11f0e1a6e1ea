"""Measures comparing large dumps, and with --peer the same with mindstudio-probe in the same run.

`python -m benchmarks.build [--peer /tmp/peer] [--only TEXT] [--scale]`
"""

from __future__ import annotations

import argparse
import platform
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.command import Measured, measure
from benchmarks.generate import Size, generate

MEGA, GIGA = 1e6, 1e9
LIBRARIES = ("numpy", "msgspec")
OURS = (sys.executable, "-m", "msprobe")
BLOCKS = (20_000, 100_000, 300_000, 1_000_000)


@dataclass(frozen=True, slots=True)
class Work:
    """One row of the table; `size` of None is `msprobe --help`. `repeats` apply to ours alone."""

    name: str
    size: Size | None
    repeats: int = 3


WORKS = (
    Work("compare 2 x 20k entries, statistics", Size(20_000)),
    Work("compare 2 x 100k entries, statistics", Size(100_000), repeats=2),
    Work("compare 2 x 20k entries, most values equal", Size(20_000, equal=True)),
    Work("compare 2 x 100k entries, most values equal", Size(100_000, equal=True), repeats=2),
    Work("8 ranks x 2 x 20k entries", Size(20_000, ranks=8), repeats=2),
    Work("one module of 20,000 calls", Size(20_000, wide=True)),
    Work("compare 2 x 20k entries, NaN from the middle on", Size(20_000, nan=True)),
    Work("tensors, 2 x 1.4 GB in 2,440 files a side", Size(950, tensor_elements=150_000)),
    Work("tensors, 2 x 12,700 tiny ones", Size(4_950, tensor_elements=64)),
    Work("msprobe --help", None, repeats=5),
)


def main() -> None:
    """Print the table row by row."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.build", description=__doc__)
    parser.add_argument("--peer", type=Path, help="virtual environment of mindstudio-probe")
    parser.add_argument("--only", default="", help="only rows whose name contains this text")
    parser.add_argument("--scale", action="store_true", help="cost per entry up to 1 M entries")
    options = parser.parse_args()
    peer = options.peer / "bin" / "msprobe" if options.peer else None
    if peer is not None and not peer.is_file():
        print(f"{peer}: not there; measuring ours alone", file=sys.stderr)
        peer = None
    print(f"{platform.machine()}, {_processors()}, Python {platform.python_version()}")
    print(f"SQLite {sqlite3.sqlite_version}, {_versions(Path(sys.executable), *LIBRARIES)}")
    if peer is not None:
        print(f"peer: {_versions(peer.with_name('python'), 'mindstudio-probe', 'torch')}")
    print()
    if options.scale:
        _print_scale()
        return
    _print_table([work for work in WORKS if options.only in work.name], peer)


def _print_table(works: Sequence[Work], peer: Path | None) -> None:
    print("| work | ours | memory | file | peer | memory | file | peer / ours |")
    print("|---|---|---|---|---|---|---|---|")
    for work in works:
        ours, theirs = _with_dumps(work, lambda words, work=work: _both(work, words, peer))
        ratio = f"{theirs.seconds / ours.seconds:.1f}" if theirs is not None else ""
        print(f"| {work.name} | {_cells(ours)} | {_cells(theirs)} | {ratio} |", flush=True)


def _both(
    work: Work, words: Sequence[object], peer: Path | None
) -> tuple[Measured, Measured | None]:
    output = work.size is not None
    if peer is None:
        return measure([*OURS, *words], work.repeats, output), None
    # The peer runs between ours, so that a busy moment of the machine hits both.
    before = measure([*OURS, *words], work.repeats - 1, output)
    theirs = measure([peer, *words], 1, output)
    after = measure([*OURS, *words], 1, output)
    return min(before, after, key=lambda measured: measured.seconds), theirs


def _with_dumps(
    work: Work, act: Callable[[Sequence[object]], tuple[Measured, Measured | None]]
) -> tuple[Measured, Measured | None]:
    if work.size is None:
        return act(["--help"])
    folder = Path(tempfile.mkdtemp(prefix="bench-dumps-"))
    try:
        _generate(folder, work.size)
        return act(_compare(folder))
    finally:
        shutil.rmtree(folder)


def _generate(folder: Path, size: Size) -> int:
    # In a process of its own: a command's peak memory counts what the process that starts it held.
    with ProcessPoolExecutor(1) as alone:
        return alone.submit(generate, folder, size).result()


def _compare(folder: Path) -> list[object]:
    return ["graph_visualize", "-tp", folder / "problem", "-gp", folder / "benchmark"]


def _print_scale() -> None:
    print("| entries a side | seconds | microseconds per entry | memory | file |")
    print("|---|---|---|---|---|")
    for entries in BLOCKS:
        folder = Path(tempfile.mkdtemp(prefix="bench-dumps-"))
        try:
            count = _generate(folder, Size(entries))
            made = measure([*OURS, *_compare(folder)])
        finally:
            shutil.rmtree(folder)
        each = made.seconds / count * 1e6
        row = f"{made.seconds:.2f} | {each:.0f} | {_memory(made)} | {made.written / MEGA:.0f} MB"
        print(f"| {count} | {row} |", flush=True)


def _cells(measured: Measured | None) -> str:
    if measured is None:
        return " | | "
    size = f"{measured.written / MEGA:.1f} MB" if measured.written else ""
    return f"{measured.seconds:.2f} s | {_memory(measured)} | {size}"


def _memory(measured: Measured) -> str:
    return f"{measured.memory / GIGA:.2f} GB"


def _versions(python: Path, *names: str) -> str:
    code = "import sys; from importlib.metadata import version\n"
    code += "print(', '.join(f'{name} {version(name)}' for name in sys.argv[1:]))"
    command = [str(python), "-c", code, *names]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def _processors() -> str:
    listed = subprocess.run(["lscpu"], capture_output=True, text=True, check=False).stdout
    model = next((line for line in listed.splitlines() if line.startswith("Model name")), "")
    cores = next((line for line in listed.splitlines() if line.startswith("CPU(s):")), "")
    return " x ".join(part.partition(":")[2].strip() for part in (cores, model) if part)


if __name__ == "__main__":
    main()
