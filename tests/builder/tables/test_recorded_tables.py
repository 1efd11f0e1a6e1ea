"""Our tables beside those of mindstudio-probe: equal cell by cell, but for what it gets wrong.

What it gets wrong stands here with the reason.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.builder.tables.recorded import FINE, differing_cells, our_table, recorded_table

OWN = ["Score", "Introduced", "Reason"]
# What a verdict consists of.
SAID = {"Result", "Err_message"}
# It divides float32 numbers in float32; we divide them in float64.
ROUNDED = {"MaxRelativeErr"}


@pytest.mark.parametrize("mode", ["statistics", "tensor", "md5"])
def test_header_and_rows_are_those_of_the_peer(
    mode: str, compared_dumps: Path, tools: Path, tmp_path: Path
) -> None:
    dumps = compared_dumps / mode
    header, rows = our_table(dumps / "scale" / "step0", dumps / "none" / "step0", tmp_path)
    expected, recorded = recorded_table(tools / "compare" / mode)
    assert header == expected + OWN
    assert [row["NPU Name"] for row in rows] == [row["NPU Name"] for row in recorded]
    faulty = {row["NPU Name"] for row in rows if row["Result"] != FINE}
    differing = differing_cells(rows, recorded)
    # Every row of the fault passes there, for its call has no partner and its consumers bad inputs.
    assert differing.keys() <= faulty
    assert all(columns <= SAID | ROUNDED for columns in differing.values())
    assert {row["Result"] for row in recorded} == (
        {"pass", "warning", "error"} if mode == "md5" else {"pass"}
    )


def test_fault_starts_where_the_rows_begin_to_differ(
    compared_dumps: Path, tools: Path, tmp_path: Path
) -> None:
    dumps = compared_dumps / "statistics"
    _, rows = our_table(dumps / "scale" / "step0", dumps / "none" / "step0", tmp_path)
    first = next(index for index, row in enumerate(rows) if row["Result"] != FINE)
    assert rows[first]["NPU Name"] == "Tensor.__mul__.0.forward.input.0"
    assert all(row["Score"] in ("", "0.0") for row in rows[:first])


# By name of the case: the columns that differ, and why.
WRONG_VALUES = {
    # +inf against -inf counts as equal there.
    "posneginf": SAID
    | {"Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr"}
    | {"One Thousandth Err Ratio", "Five Thousandths Err Ratio"},
    "nanposdiff": SAID,  # NaN at other places passes
    "single": SAID,  # one element twice as large passes
    "zerod": SAID,  # so does a number
    "int": SAID,  # one integer of three is another
    "bool": SAID,  # a warning there, where the difference begins
    # The imaginary part is dropped.
    "complex": SAID
    | {"Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr"}
    | {"One Thousandth Err Ratio", "Five Thousandths Err Ratio"},
    # Measured although the shapes differ, and an error because they do: one rule for both.
    "squeeze": {"Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr"}
    | {"One Thousandth Err Ratio", "Five Thousandths Err Ratio"},
    # 6e38 / 3e38 is 2, no infinity; half of the elements agree, which its own text calls an error.
    "big": SAID | {"MaxRelativeErr"},
    # An integer against a float is shown as if there were no partner, and passes.
    "inttofloat": SAID
    | {"Bench Name", "Bench Dtype", "Bench Tensor Shape", "Bench Requires_grad", "Data_name"}
    | {"Cosine", "EucDist", "MaxAbsErr", "MaxRelativeErr", "Requires_grad Consistent"}
    | {"One Thousandth Err Ratio", "Five Thousandths Err Ratio"}
    | {"Bench max", "Bench min", "Bench mean", "Bench l2norm"},
}
EQUAL = {"sameinf", "empty", "zeros"}


def test_edge_values_of_tensors(compared_dumps: Path, tools: Path, tmp_path: Path) -> None:
    dumps = compared_dumps / "edge_values"
    sides = dumps / "target" / "step0", dumps / "golden" / "step0"
    header, rows = our_table(*sides, tmp_path)
    expected, recorded = recorded_table(tools / "compare" / "edge_values")
    assert header == expected + OWN
    differing = differing_cells(rows, recorded)
    assert differing == {f"Torch.{n}.0.forward.output.0": c for n, c in WRONG_VALUES.items()}
    passing = {
        r["NPU Name"].split(".")[1] for r in rows if r["Result"] == FINE and "out" in r["NPU Name"]
    }
    assert passing == EQUAL  # and the other 17 of 20 do not
    assert len({row["NPU Name"].split(".")[1] for row in rows}) == 20


NO_PARTNER_THERE = {"kindscal", "none2", "none1", "tens_scal"}  # another dtype: no partner, pass
PASSING_THERE = {"benchzero", "nanthere", "infthere", "posneg", "intdiff", "booldiff", "only_t"} | {
    "normwarn2"  # its input is half a percent off, in float32
}
WARNED_OF_THERE = {"normwarn"}  # where the difference begins


def test_edge_values_of_statistics(compared_dumps: Path, tools: Path, tmp_path: Path) -> None:
    dumps = compared_dumps / "edge_statistics"
    sides = dumps / "target" / "step0", dumps / "golden" / "step0"
    header, rows = our_table(*sides, tmp_path)
    expected, recorded = recorded_table(tools / "compare" / "edge_statistics")
    assert header == expected + OWN
    cases: dict[str, set[str]] = {"pass": set(), "cells": set()}
    for name, columns in differing_cells(rows, recorded).items():
        cases["pass" if columns <= SAID else "cells"].add(name.split(".")[1])
    assert cases == {"pass": PASSING_THERE | WARNED_OF_THERE, "cells": NO_PARTNER_THERE}
    by_name = {row["NPU Name"]: row for row in rows}
    for case in PASSING_THERE - {"only_t", "normwarn2"}:
        assert by_name[f"Torch.{case}.0.forward.input.kw"]["Result"] != FINE


def test_calls_of_the_benchmark_alone_are_rows_too(compared_dumps: Path, tmp_path: Path) -> None:
    dumps = compared_dumps / "edge_statistics"
    _, rows = our_table(dumps / "target" / "step0", dumps / "golden" / "step0", tmp_path)
    lost = [row for row in rows if row["NPU Name"] == "N/A"]
    assert [row["Bench Name"] for row in lost] == [
        "Torch.only_g.0.forward.input.0",
        "Torch.only_g.0.forward.output.0",
    ]
    assert {row["Result"] for row in lost} == {"warning"}
    assert lost[0]["Bench max"] == "1.0"
    assert lost[0]["NPU max"] == lost[0]["Max diff"] == "N/A"


def test_saved_values_are_judged(tools: Path, tmp_path: Path) -> None:
    debug = tools / "compare" / "debug"
    for side in ("target", "golden"):
        folder = tmp_path / side
        folder.mkdir()
        (folder / "debug.json").write_text((debug / f"debug_{side}.json").read_text())
    sides = tmp_path / "target" / "debug.json", tmp_path / "golden" / "debug.json"
    header, rows = our_table(*sides, tmp_path / "out")
    expected, recorded = recorded_table(debug)
    assert header == expected + OWN
    assert set(differing_cells(rows, recorded)) == {"h.0.debug", "h_grad.0.debug", "h.1.debug"}
    assert {row["Result"] for row in rows} == {"error"}  # 50 % off; there they pass
    assert all(c <= SAID for c in differing_cells(rows, recorded).values())
    (file,) = (tmp_path / "out").iterdir()
    assert file.name.startswith("debug_compare_result_2")
