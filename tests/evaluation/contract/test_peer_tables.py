"""Tables of both tools over both tools' dumps of five unlike programs, cell by cell.

`PEER=/path make contract`: the environment that mindstudio-probe is installed in. What differs
stands here with the reason, as in docs/compare.md.
"""

from __future__ import annotations

import csv
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import pytest

from evaluation.contract import five_programs
from evaluation.contract.five_programs import PROGRAMS
from tests.builder.tables.recorded import Row, read_table

PEER = os.environ.get("PEER")
pytestmark = pytest.mark.skipif(PEER is None, reason="PEER names no environment of the peer")

Tool = Literal["ours", "peer"]
TOOLS: tuple[Tool, ...] = ("ours", "peer")
SCRIPT = Path(five_programs.__file__)
OWN = ["Score", "Introduced", "Reason"]
RANKS = {"ranks": 2}
ORDER = ["pass", "warning", "error"]

# It divides float32 numbers in float32, we divide them in float64: one rounding to 24 bits.
ROUNDED, ONE_ROUNDING = {"tensors": {"MaxRelativeErr"}}, 2.0**-23
# The call that one run makes more is called as a later one of both: there its table sets one call
# beside another, since it pairs by number.
SHIFTED = {("ranks", 1): "Tensor.__mul__."}
# What the peer's dump of a sound step says otherwise than ours, in its own name of the value.
OTHER_VALUES = {
    # The gradient that an operator in place hands on: it writes the one that came in, before the
    # mask of relu. Ours is what the next call of the backward pass was given.
    "cnn": {"Functional.relu_.0.backward.output.0"},
    # Its checksums are made in a thread, of memory that the optimizer writes meanwhile.
    "md5": {f"Tensor.add_.{n}.forward.{v}" for n in range(7) for v in ("input.0", "output.0")},
}
# Calls that it does not record: the backward pass of a module before an operator in place, and
# the recurrent layers of torch (but for LSTM).
OURS_ALONE = {
    "cnn": "Module.norm.BatchNorm2d.backward.",
    "md5": "Torch.gru.",
    "tensors": "Torch.gru.",
}


class Table(NamedTuple):
    header: list[str]
    rows: list[Row]


def python_of(tool: Tool) -> str:
    return sys.executable if tool == "ours" else f"{PEER}/bin/python"


@pytest.fixture(scope="module")
def dumps(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`<tool>/<program>`: what each tool recorded."""
    folder = tmp_path_factory.mktemp("five")
    for tool in TOOLS:
        (folder / tool).mkdir()
        for program in PROGRAMS:
            out = folder / tool / program
            words = [python_of(tool), str(SCRIPT), program, str(out)]
            store = str(folder / tool / "store")
            rest = [[str(r), store] for r in range(RANKS.get(program, 0))] or [[]]
            running = [
                subprocess.Popen([*words, *more], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                for more in rest
            ]
            for each in running:
                _, said = each.communicate(timeout=600)
                assert each.returncode == 0, said.decode()
    return folder


def tables(tool: Tool, problem: Path, benchmark: Path, output: Path) -> list[Table]:
    """The tables of all ranks that a tool's `msprobe compare` makes of two steps."""
    words = [sys.executable, "-m", "msprobe"] if tool == "ours" else [f"{PEER}/bin/msprobe"]
    words += ["compare", "-tp", str(problem), "-gp", str(benchmark), "-o", str(output)]
    done = subprocess.run(words, capture_output=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return [Table(*read_table(file)) for file in sorted(output.glob("*.csv"))]


@pytest.mark.parametrize("recorder", TOOLS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_columns_rows_order_and_cells(
    program: str, recorder: Tool, dumps: Path, tmp_path: Path
) -> None:
    steps = [dumps / recorder / program / step for step in ("step1", "step0")]
    ours, theirs = (tables(tool, *steps, tmp_path / tool) for tool in TOOLS)
    assert len(ours) == len(theirs) == RANKS.get(program, 1)
    for rank, (own, peer) in enumerate(zip(ours, theirs)):
        assert own.header == peer.header + OWN
        rows = [row for row in own.rows if row["NPU Name"] != "N/A"]
        assert [row["NPU Name"] for row in rows] == [row["NPU Name"] for row in peer.rows]
        assert len(rows) > 80
        shifted = SHIFTED.get((program, rank), "-")
        for row, other in zip(rows, peer.rows):
            if not row["NPU Name"].startswith(shifted):
                assert _differing(row, other, ROUNDED.get(program, set())) == set(), row["NPU Name"]
        _check_verdicts(rows, peer.rows, shifted)


def _differing(ours: Row, theirs: Row, rounded: set[str]) -> set[str]:
    spoken = {"Result", "Err_message"}
    columns = {column for column in theirs.keys() - spoken if ours[column] != theirs[column]}
    return {c for c in columns if c not in rounded or not _near(ours[c], theirs[c])}


def _near(ours: str, theirs: str) -> bool:
    try:
        return math.isclose(float(ours), float(theirs), rel_tol=ONE_ROUNDING)
    except ValueError:
        return False


def _check_verdicts(ours: list[Row], theirs: list[Row], shifted: str) -> None:
    """Nothing that it finds passes here; what we find besides differs in its own cells too."""
    named = 0
    for row, other in zip(ours, theirs):
        if row["NPU Name"].startswith(shifted):
            continue
        assert ORDER.index(row["Result"]) >= ORDER.index(other["Result"]), row["NPU Name"]
        named += row["Result"] == "error"
        if row["Result"] != "pass" and row["Bench Name"] != "N/A":
            # Sketches in our dumps show elements that its four statistics do not, and of integers
            # there are two alone.
            said = ("but the elements are", "its elements differ")
            seen = any(words in row["Reason"] for words in said)
            assert _holds_a_difference(other) or seen, row["NPU Name"]
    assert named


def _holds_a_difference(row: Row) -> bool:
    if "NPU MD5" in row:
        return row["NPU MD5"] != row["BENCH MD5"]
    sides = [
        [row[f"{side} {n}"] for n in ("max", "min", "mean", "l2norm")] for side in ("NPU", "Bench")
    ]
    return sides[0] != sides[1] or row.get("MaxAbsErr", "0.0") != "0.0"


@pytest.mark.parametrize("recorders", [TOOLS, TOOLS[::-1]], ids="-".join)
@pytest.mark.parametrize("program", PROGRAMS)
def test_one_tools_dump_against_the_others(
    program: str, recorders: tuple[Tool, Tool], dumps: Path, tmp_path: Path
) -> None:
    sides = [dumps / recorder / program / "step0" for recorder in recorders]
    found = list(_spoken(tables("ours", *sides, tmp_path)))
    lost = OURS_ALONE.get(program, "-")
    false = [row for row in found if _name(row) not in OTHER_VALUES.get(program, set())]
    assert [_name(row) for row in false if not _name(row).startswith(lost)] == []
    alone = "NPU" if recorders[0] == "ours" else "Bench"
    for row in false:
        assert row[f"{alone} Name"] == _name(row)
        assert row["Result"] == "warning"


def _spoken(made: list[Table]) -> Iterator[Row]:
    for table in made:
        assert len(table.rows) > 80
        yield from (row for row in table.rows if row["Result"] != "pass")


def _name(row: Row) -> str:
    return row["NPU Name"] if row["NPU Name"] != "N/A" else row["Bench Name"]


def test_its_merge_takes_our_workbooks(dumps: Path, tmp_path: Path) -> None:
    sides = [dumps / "ours" / "ranks" / step for step in ("step1", "step0")]
    words = ["compare", "-tp", str(sides[0]), "-gp", str(sides[1]), "-o", str(tmp_path / "t")]
    subprocess.run(
        [sys.executable, "-m", "msprobe", *words, "--xlsx"], check=True, capture_output=True
    )
    (tmp_path / "merge.yaml").write_text("api:\n  - Functional.linear\n")
    words = ["merge_result", "-i", str(tmp_path / "t"), "-o", str(tmp_path / "m")]
    done = subprocess.run(
        [f"{PEER}/bin/msprobe", *words, "-config", str(tmp_path / "merge.yaml")],
        capture_output=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    (merged,) = (tmp_path / "m").glob("multi_ranks_compare_merge_*.xlsx")
    from openpyxl import load_workbook

    sheet = load_workbook(merged)["Max diff"]
    rows = list(sheet.iter_rows(values_only=True))
    assert rows[0] == ("NPU Name", "rank0", "rank1")
    assert len(rows) > 6


def test_its_rating_of_our_details_against_themselves(dumps: Path, tmp_path: Path) -> None:
    """A device against itself: nothing may be worse than itself."""
    (dump,) = (dumps / "ours" / "tensors" / "step0").glob("*/dump.json")
    words = ["acc_check", "-api_info", str(dump), "-d", "cpu", "-o", str(tmp_path / "c")]
    subprocess.run([sys.executable, "-m", "msprobe", *words], check=True, capture_output=True)
    (details,) = (tmp_path / "c").glob("accuracy_checking_details_*.csv")
    words = ["api_precision_compare", "-npu", str(details), "-gpu", str(details)]
    subprocess.run(
        [f"{PEER}/bin/msprobe", *words, "-o", str(tmp_path / "r")],
        check=True,
        capture_output=True,
        timeout=600,
    )
    (result,) = (tmp_path / "r").glob("api_precision_compare_result_*.csv")
    with result.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 10
    said = {row[f"{way} Test Success"] for row in rows for way in ("Forward", "Backward")}
    assert "error" not in said
