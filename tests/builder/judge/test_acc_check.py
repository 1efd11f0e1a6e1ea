"""A graph whose calls are coloured by what the pre-check said of them."""

from __future__ import annotations

import csv
import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from builder import BuildOptions, build
from builder.errors import InputError
from builder.judge.acc_check import read_checks
from tests.conftest import ROOT
from tests.told import facts

TABLES = ROOT / "tests" / "samples" / "tools-26.2.0" / "acc_check"
RESULT = next((TABLES / "cpu_faulty").glob("accuracy_checking_result_*.csv"))


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """The recorded calls as a rank's folder."""
    folder = tmp_path / "rank0"
    folder.mkdir()
    shutil.copy(TABLES / "input" / "dump.json", folder)
    return folder


def nodes(path: Path) -> dict[str, dict[str, object]]:
    connection = sqlite3.connect(path)
    connection.row_factory = sqlite3.Row
    found = {row["name"]: dict(row) for row in connection.execute("SELECT * FROM node")}
    connection.close()
    return found


def test_calls_have_verdict_score_and_errors(dump: Path, tmp_path: Path) -> None:
    result = build(dump, None, tmp_path / "out", BuildOptions(acc_check=RESULT))
    assert result.failed == ()
    found = nodes(result.path)
    linear, plus = found["Functional.linear.0.forward"], found["Torch.mul.0.backward"]
    assert (linear["verdict"], linear["score"]) == ("error", 1.0)
    assert (plus["verdict"], plus["score"]) == ("pass", 0.0)
    assert found["Torch.matmul.0.forward"]["score"] == 0.5
    measures = {
        (facts(reason)["value"], facts(reason)["name"]): reason["number"]
        for reason in json.loads(str(linear["reasons"]))
        if facts(reason)["code"] == "measure"
    }
    assert measures["output.0", "largest error"] == pytest.approx(0.00338961, rel=1e-2)
    assert max(float(str(n["worst_below"] or 0)) for n in found.values()) == 1.0


def test_every_verdict_of_the_table_stands_at_its_node(dump: Path, tmp_path: Path) -> None:
    found = nodes(build(dump, None, tmp_path / "out", BuildOptions(acc_check=RESULT)).path)
    with RESULT.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file, restval=""))
    assert len(rows) == 29
    for row in rows:
        node = found[f"{row['API name']}.forward"]
        assert node["verdict"] == row["Forward Test Success"]


def test_graph_without_a_table_has_no_verdicts(dump: Path, tmp_path: Path) -> None:
    found = nodes(build(dump, None, tmp_path / "out").path)
    assert {node["verdict"] for node in found.values()} == {None}


def test_table_of_another_dump_is_said(tmp_path: Path, dump: Path) -> None:
    content = json.loads((dump / "dump.json").read_text())
    content["data"] = {
        name.replace(".0.", ".7.").replace(".1.", ".8.").replace(".2.", ".9."): entry
        for name, entry in content["data"].items()
        if not name.startswith("Tensor.__add__")
    }
    (dump / "dump.json").write_text(json.dumps(content))
    result = build(dump, None, tmp_path / "out", BuildOptions(acc_check=RESULT))
    assert "has none of the calls that were checked" in str(result.failed[0].error)


def test_mistakes_are_explained(dump: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="leave the benchmark out"):
        build(dump, dump, tmp_path / "out", BuildOptions(acc_check=RESULT))
    with pytest.raises(InputError, match="give the result table"):
        read_checks(tmp_path / "other.csv")
    lonely = tmp_path / RESULT.name
    shutil.copy(RESULT, lonely)
    with pytest.raises(InputError, match="keep both tables"):
        read_checks(lonely)
    lonely.write_text("API name\n", "utf-8")
    with pytest.raises(InputError, match="has no column"):
        read_checks(lonely)
