"""Finds what MindSpore dumps of a static graph by itself: one file for a value of a kernel.

They lie in `rank_<r>/<net>/<graph>/<iteration>/`; `rank_<r>/execution_order/` lists the kernels of
a graph by their full names. In the name of a file the slashes of a full name are underscores.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from msprobe_core.format.regular_file import read_regular

_FILE = re.compile(
    r"(?P<kind>[^.]+)\.(?P<kernel>.+)\.\d+\.\d+\.(?P<time>\d+)\.(?P<role>input|output)\."
    r"(?P<slot>\d+)\.[^.]+\.(?P<dtype>[^.]+)\.npy",
    re.ASCII,
)
_RANK = re.compile(r"rank_(\d+)", re.ASCII)
# An iteration from what a user names: itself, its graph, the net, the rank, all ranks.
_BELOW = ("", "[0-9]*", "[0-9]*/[0-9]*", "*/[0-9]*/[0-9]*", "rank_[0-9]*/*/[0-9]*/[0-9]*")


@dataclass(frozen=True, slots=True)
class KernelFile:
    """One value of a kernel by its file; `kernel` has underscores for slashes, `time` is in µs."""

    path: Path
    kind: str
    kernel: str
    role: Literal["input", "output"]
    slot: int
    time: int
    dtype: str


@dataclass(frozen=True, slots=True)
class Iteration:
    """The folder of one iteration of the first graph that has it, on one rank."""

    number: int
    rank: int
    path: Path


def kernel_files(folder: Path) -> list[KernelFile]:
    """The values that lie in the folder of one iteration of one graph, in their order of time."""
    found = (_file(child) for child in folder.iterdir())
    return sorted((each for each in found if each is not None), key=lambda each: each.time)


def is_iteration(folder: Path) -> bool:
    """Whether a folder holds the values of one iteration of one graph."""
    if not (folder.name.isdigit() and folder.absolute().parent.name.isdigit()):
        return False
    return any(_file(child) is not None for child in folder.iterdir())


def find_iterations(path: Path) -> list[Iteration]:
    """The iterations below a folder, or the one that it is, by number and rank."""
    found: dict[tuple[int, int], Path] = {}
    for folder in _iterations(path):
        key = (int(folder.name), _rank(folder))
        first = found.setdefault(key, folder)
        if int(folder.absolute().parent.name) < int(first.absolute().parent.name):
            found[key] = folder
    return [Iteration(number, rank, folder) for (number, rank), folder in sorted(found.items())]


def graphs_of(iteration: Path) -> list[Path]:
    """The folders of the same iteration of all graphs of the net, by the graphs' numbers."""
    iteration = iteration.absolute()
    graphs = (child for child in iteration.parent.parent.iterdir() if child.name.isdigit())
    folders = (graph / iteration.name for graph in sorted(graphs, key=lambda one: int(one.name)))
    return [folder for folder in folders if folder.is_dir()]


def full_names(graph: Path) -> list[str]:
    """The kernels of a graph in the order of their execution; empty where nothing tells."""
    name = f"ms_execution_order_graph_{graph.name}.csv"
    file = graph.parent.parent / "execution_order" / name
    try:
        lines = read_regular(file).decode(errors="replace").splitlines()
    except OSError:
        return []
    return [line.strip() for line in lines[1:] if line.strip()]


def source_frames(graph: Path) -> dict[str, list[str]]:
    """The stack of each kernel of a graph by its full name, as stack.json has it."""
    file = graph.parent.parent / "graphs" / f"ms_output_trace_code_graph_{graph.name}.ir"
    try:
        text = read_regular(file).decode(errors="replace")
    except OSError:
        return {}
    found: dict[str, list[str]] = {}
    frames, within = list[str](), "construct"
    for line in map(str.strip, text.splitlines()):
        place = _PLACE.fullmatch(line)
        if line.startswith(_NAMED):
            name, within = line.removeprefix(_NAMED).rstrip(")"), "construct"
            frames = found.setdefault(name, [])
        elif place is None:
            frames = []
        elif (function := _FUNCTION.match(place["code"].strip())) is not None:
            within = function[1]
        else:
            code = place["code"].strip()
            frame = f"File {place['file']}, line {place['line']}, in {within}, {code}"
            frames.insert(0, frame)
    return found


_NAMED = "# Fullname with scope: ("
_PLACE = re.compile(r"# In file (?P<file>.+?):(?P<line>\d+)(~\d+)?, \d+~\d+/(?P<code>.*)/")
_FUNCTION = re.compile(r"def (\w+)")


def _file(path: Path) -> KernelFile | None:
    parts = _FILE.fullmatch(path.name)
    if parts is None:
        return None
    role: Literal["input", "output"] = "input" if parts["role"] == "input" else "output"
    slot, time = int(parts["slot"]), int(parts["time"])
    return KernelFile(path, parts["kind"], parts["kernel"], role, slot, time, parts["dtype"])


def _iterations(path: Path) -> Iterator[Path]:
    for pattern in _BELOW:
        folders = sorted(path.glob(pattern)) if pattern else [path]
        yield from (folder for folder in folders if folder.is_dir() and is_iteration(folder))


def _rank(folder: Path) -> int:
    named = (_RANK.fullmatch(part) for part in reversed(folder.absolute().parts))
    return next((int(match[1]) for match in named if match is not None), 0)
