"""Names, order and values against what mindstudio-probe recorded of the same programs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mindspore.conftest import Thing, read

PROGRAMS = Path(__file__).resolve().parent.parent / "samples" / "mindspore-2.10" / "programs"
WRAPPERS = ("_RecomputeCell", "_WrapCell")


def run(out: Path, *flags: str) -> Path:
    """Record the sample program with this package."""
    program = PROGRAMS / "model_mindspore.py"
    command = [sys.executable, str(program), str(out), *flags]
    done = subprocess.run(command, capture_output=True, text=True, cwd=out.parent, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return out


def expected(data: dict[str, Thing]) -> list[str]:
    """The names that can be had.

    `Tensor.to` that changes nothing puts no node into the graph, so that it has no gradient of its
    own. The wrapping cells of recomputation are left out on purpose.
    """
    return [
        name
        for name in data
        if not (name.startswith("Tensor.to.") and name.endswith(".backward"))
        and not any(wrapper in name for wrapper in WRAPPERS)
    ]


def leaves(value: object, path: str = "") -> Iterator[tuple[str, dict[str, Thing]]]:
    if isinstance(value, dict) and "type" in value:
        yield path, value
    elif isinstance(value, dict):
        for key, member in value.items():
            yield from leaves(member, f"{path}.{key}")
    elif isinstance(value, list):
        for key, member in enumerate(value):
            yield from leaves(member, f"{path}.{key}")


@pytest.mark.parametrize(
    ("flags", "sample"),
    [
        (("statistics", "mix"), "cross/mindspore"),
        (("statistics", "mix", "--bug"), "transformer/bug"),
        (("statistics", "mix", "--mint"), "transformer/mint"),
        (("statistics", "L0"), "transformer/L0"),
    ],
)
def test_names_order_and_values_are_those_of_the_other_dumper(
    ms: Thing, mindspore_dumps: Path, tmp_path: Path, flags: tuple[str, ...], sample: str
) -> None:
    ours = read(run(tmp_path / "out", *flags))
    theirs = read(mindspore_dumps / sample)
    assert list(ours) == expected(theirs)
    for name, entry in ours.items():
        # Its gradients of primitives stand in the order in which they arrived.
        if not (name.startswith("Primitive") and name.endswith("backward")):
            compare(name, dict(leaves(entry)), dict(leaves(theirs[name])))


def compare(name: str, ours: dict[str, Thing], theirs: dict[str, Thing]) -> None:
    assert {*ours} == {*theirs}, name
    for path, record in ours.items():
        other = theirs[path]
        assert record.get("shape") == other.get("shape"), (name, path)
        size = abs(other.get("Norm") or 1.0)
        for number in ("Max", "Min", "Mean", "Norm"):
            if record.get(number) is not None and other.get(number) is not None:
                near = pytest.approx(other[number], rel=1e-5, abs=1e-6 * size + 1e-7)
                assert record[number] == near, (name, path, number)


def test_recomputed_blocks_have_the_same_entries(
    ms: Thing, mindspore_dumps: Path, tmp_path: Path
) -> None:
    ours = read(run(tmp_path / "out", "statistics", "mix", "--recompute"))
    assert {*ours} == {*expected(read(mindspore_dumps / "recompute"))}
