"""Writes a pair of large dumps, OUT/problem and OUT/benchmark, that differ from one seeded call on.

`python -m benchmarks.generate OUT --entries 20000 [--ranks 8] [--steps 1] [--wide] [--tensor]
[--nan] [--equal]`
"""

from __future__ import annotations

import argparse
import hashlib
import math
import struct
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from benchmarks.dump_text import Describe, entry_text, stacks_text, tensor_text
from benchmarks.recording import Entry, Module, Side, Value, record, transformer, wide
from benchmarks.tensors import TensorFiles
from msprobe_core.format import CONSTRUCT_FILE, DUMP_FILE, STACK_FILE, TENSOR_DIR

ENTRIES_PER_BLOCK = 50
FAULT_FACTOR = 1.3
ROUNDING = 1e-7


@dataclass(frozen=True, slots=True)
class Size:
    """What to write: entries per (step, rank) and side, and the shape of the recording."""

    entries: int
    ranks: int = 1
    steps: int = 1
    wide: bool = False
    nan: bool = False
    equal: bool = False
    tensor_elements: int = 0


def generate(out: Path, size: Size) -> int:
    """Write both sides below `out`; returns the number of entries in each rank's dump.json."""
    model = _model(size)
    count = 0
    for side in ("benchmark", "problem"):
        for step in range(size.steps):
            for rank in range(size.ranks):
                folder = out / side / f"step{step}" / f"rank{rank}"
                folder.mkdir(parents=True, exist_ok=True)
                count = _write(folder, record(model), _describer(folder, side, size, step, rank))
    return count


def main() -> None:
    """Command line of the generator."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.generate", description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--entries", type=int, default=20_000, help="per rank, step and side")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--steps", type=int, default=1)
    parser.add_argument("--wide", action="store_true", help="all calls in one module")
    parser.add_argument("--nan", action="store_true", help="the faulty call makes NaN")
    parser.add_argument("--equal", action="store_true", help="most values equal many others")
    parser.add_argument("--tensor", action="store_true", help="write the tensors too (needs torch)")
    parser.add_argument("--elements", type=int, default=64, help="of each tensor, with --tensor")
    options = parser.parse_args()
    elements = options.elements if options.tensor else 0
    size = Size(
        options.entries,
        options.ranks,
        options.steps,
        options.wide,
        options.nan,
        options.equal,
        elements,
    )
    count = generate(options.out, size)
    print(f"{options.out}: {count} entries in each of {size.ranks * size.steps} ranks a side")


def _model(size: Size) -> tuple[Module | object, ...]:
    if size.wide:
        return wide(size.entries)
    # A block of several ranks has two reductions more.
    per_block = ENTRIES_PER_BLOCK + (2 if size.ranks > 1 else 0)
    blocks = max(1, size.entries // per_block)
    return transformer(blocks, blocks // 2, size.ranks)


def _describer(folder: Path, side: Side, size: Size, step: int, rank: int) -> Describe:
    if size.tensor_elements:
        return TensorFiles(folder / TENSOR_DIR, side, size.tensor_elements, FAULT_FACTOR).describe
    factor = math.nan if size.nan else FAULT_FACTOR
    statistics = _Statistics(side, 1000 * step + rank, factor)
    return _EqualValues(statistics.describe).describe if size.equal else statistics.describe


def _write(folder: Path, entries: Iterable[Entry], describe: Describe) -> int:
    texts: list[str] = []
    parents: list[str] = []
    lines: dict[str, list[str]] = {}
    for entry in entries:
        texts.append(entry_text(entry, describe))
        if ".parameters_grad." in entry.name:
            continue
        parent = "null" if entry.parent is None else f'"{entry.parent}"'
        parents.append(f' "{entry.name}": {parent}')
        if entry.line:
            lines.setdefault(entry.line, []).append(entry.name)
    tensor_dir = folder / TENSOR_DIR
    where, task = (f'"{tensor_dir}"', "tensor") if tensor_dir.is_dir() else ("null", "statistics")
    head = f'{{\n "task": "{task}",\n "level": "mix",\n "framework": "pytorch",\n'
    data = ",\n".join(texts)
    dump = f'{head} "dump_data_dir": {where},\n "data": {{\n{data}\n }}\n}}'
    (folder / DUMP_FILE).write_text(dump)
    (folder / CONSTRUCT_FILE).write_text("{\n" + ",\n".join(parents) + "\n}")
    (folder / STACK_FILE).write_text(stacks_text(lines))
    return len(texts)


class _Statistics:
    """Invents the statistics of a value: the same on both sides but for rounding and the fault."""

    def __init__(self, side: Side, seed: int, fault_factor: float) -> None:
        self._seed = seed
        self._problem = side == "problem"
        self._fault = fault_factor

    def describe(self, value: Value, _name: str) -> str:
        first, second, third, fourth, *noise = _uniform(self._seed, value.number)
        scale = 1 + ROUNDING * (noise[self._problem] - 0.5)
        if self._problem and value.diverged:
            scale *= self._fault
        top, bottom, mean = (2 + first) * scale, -(2 + second) * scale, 0.1 * (third - 0.5) * scale
        norm = scale * math.sqrt(math.prod(value.shape)) * (0.8 + fourth)
        return tensor_text(value, value.shape, (top, bottom, mean, norm))


class _EqualValues:
    """Four of five values are zeros, ones, one mask or one constant, as frozen parameters have."""

    def __init__(self, others: Describe) -> None:
        self._others = others

    def describe(self, value: Value, name: str) -> str:
        root = math.sqrt(math.prod(value.shape))
        # What flows forward is a value of its own from the fault on, so that the fault is seen.
        if value.diverged and value.requires_grad:
            return self._others(value, name)
        match value.number % 5:
            case 0:
                return tensor_text(value, value.shape, (0.0, 0.0, 0.0, 0.0))
            case 1:
                return tensor_text(value, value.shape, (1.0, 1.0, 1.0, root))
            case 2:
                return tensor_text(value, value.shape, (0.0, -65504.0, -32752.0, 46318.0 * root))
            case 3:
                return tensor_text(value, value.shape, (0.125, 0.125, 0.125, 0.125 * root))
        return self._others(value, name)


def _uniform(seed: int, number: int) -> tuple[float, ...]:
    """Six numbers from [0, 1) that depend on the arguments alone."""
    text = hashlib.blake2b(f"{seed} {number}".encode(), digest_size=24).digest()
    return tuple(part / 2**32 for part in struct.unpack("6I", text))


if __name__ == "__main__":
    main()
