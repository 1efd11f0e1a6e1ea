"""The table of `msprobe compare` as a download."""

from __future__ import annotations

import csv
import io
import shutil
from pathlib import Path

from openpyxl import load_workbook

from builder import BuildOptions, build
from builder.tables.comparing import compare_into_tables
from tb_graph_ascend.server import Settings, create_app
from tests.tb_graph_ascend.conftest import Site


def test_table_is_that_of_the_command(statistics: Site, samples: Path, tmp_path: Path) -> None:
    path = f"/api/databases/{statistics.db}/pairs/0/0/export/compare"
    answer = statistics.client.get(f"{path}.csv")
    assert (answer.status_code, answer.mimetype) == (200, "text/csv")
    assert "compare_result_step0_rank0.csv" in answer.headers["Content-Disposition"]
    sides = [samples / "statistics" / side / "step0" for side in ("problem", "bench")]
    (file,) = compare_into_tables(*sides, tmp_path).files
    assert answer.text == file.read_text()
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert {row["Result"] for row in rows} == {"pass", "warning", "error"}
    sheet = statistics.client.get(f"{path}.xlsx")
    assert sheet.mimetype.endswith("spreadsheetml.sheet")
    assert load_workbook(io.BytesIO(sheet.data))["Sheet1"].max_row == len(rows) + 1


def test_missing_pair_is_said(statistics: Site) -> None:
    answer = statistics.client.get(f"/api/databases/{statistics.db}/pairs/9/0/export/compare.csv")
    assert answer.status_code == 404


def test_table_pairs_what_a_person_paired(renamed: Site) -> None:
    path = f"/api/databases/{renamed.db}/pairs/0/0/export/compare.csv"
    ours, theirs = "Module.layers.1.ffn.MLP.forward.0", "Module.layers.1.mlp.MLP.forward.0"
    assert partners(renamed.client.get(path).text, ours) == {"N/A"}
    wanted = {
        "problem": renamed.named(ours)["id"],
        "benchmark": renamed.named(theirs, side="benchmark")["id"],
        "descendants": True,
    }
    renamed.send("POST", "/mappings", wanted)
    table = renamed.client.get(path).text
    assert {name.rpartition(".forward")[0] for name in partners(table, ours)} == {
        theirs.rpartition(".forward")[0]
    }
    # What goes with the pair goes with it here too: the modules below it and the backward pass.
    assert "N/A" not in partners(table, ours.replace("forward", "backward"))
    assert "N/A" not in partners(table, "Module.layers.1.ffn.linear_fc1.Linear.forward.0")
    # Only the other layer, which nobody paired, is left alone.
    assert partners(table, ours.replace("layers.1", "layers.0")) == {"N/A"}
    renamed.send("DELETE", "/mappings", {"problem": wanted["problem"]})
    assert partners(renamed.client.get(path).text, ours) == {"N/A"}


def test_table_needs_no_mapping_file_of_the_build(samples: Path, tmp_path: Path) -> None:
    mapping = tmp_path / "mapping.yaml"
    shutil.copy(samples / "renamed" / "mapping.yaml", mapping)
    sides = samples / "renamed" / "problem", samples / "statistics" / "bench"
    made = build(*sides, tmp_path / "logs", BuildOptions(layer_mapping=mapping, workers=1))
    mapping.unlink()
    client = create_app([made.path.parent], Settings()).test_client()
    (entry,) = client.get("/api/databases").json["databases"]  # type: ignore[index]
    table = client.get(f"/api/databases/{entry['id']}/pairs/0/0/export/compare.csv").text
    rows = list(csv.DictReader(io.StringIO(table)))
    assert {row["Result"] for row in rows if ".ffn." in row["NPU Name"]} == {"pass"}
    assert not [row for row in rows if "N/A" in (row["NPU Name"], row["Bench Name"])]


def test_broken_file_of_pairs_is_said(renamed: Site) -> None:
    (renamed.file.parent / "result.mapping.json").write_text("{")
    answer = renamed.client.get(f"/api/databases/{renamed.db}/pairs/0/0/export/compare.csv")
    assert answer.status_code == 409
    assert "result.mapping.json" in answer.text


def partners(table: str, call: str) -> set[str]:
    """The other side's names of all values of a call; fails where there is no such call."""
    rows = csv.DictReader(io.StringIO(table))
    found = {row["Bench Name"] for row in rows if row["NPU Name"].startswith(call)}
    assert found
    return found
