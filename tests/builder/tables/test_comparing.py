"""What can be compared, how files are called, and how each mistake ends."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from openpyxl import load_workbook

from builder import BuildOptions
from builder.errors import BuilderError, MappingError, OutputError
from builder.tables import sheets
from builder.tables.comparing import TableOptions, compare_into_tables
from tests.builder.dumps import forward, tensor, write_dump
from tests.builder.tables.recorded import read_table

TIME = r"\d{14}"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Two steps of two ranks on either side, the problem's first rank off in step 1."""
    for side in ("problem", "benchmark"):
        for step in (0, 1):
            for rank in (0, 1):
                off = side == "problem" and (step, rank) == (1, 0)
                data = {"Torch.mul.0.forward": forward([tensor()], [tensor(3.0 if off else 2.0)])}
                write_dump(tmp_path / side / f"step{step}" / f"rank{rank}", data)
    return tmp_path


def names(folder: Path) -> list[str]:
    found = (str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    return sorted(re.sub(TIME, "TIME", name) for name in found)


def test_whole_dump_has_a_folder_for_each_step(root: Path) -> None:
    result = compare_into_tables(root / "problem", root / "benchmark", root / "out")
    assert names(root / "out") == [
        f"step{step}/compare_result_rank{rank}_TIME.csv" for step in (0, 1) for rank in (0, 1)
    ]
    assert [(f.name, f.step, f.rank) for f in result.findings] == [("Torch.mul.0.forward", 1, 0)]


def test_step_has_a_table_for_each_rank_and_a_file_has_none_in_its_name(root: Path) -> None:
    steps = root / "problem" / "step1", root / "benchmark" / "step1"
    compare_into_tables(*steps, root / "out")
    assert names(root / "out") == [f"compare_result_rank{rank}_TIME.csv" for rank in (0, 1)]
    files = [side / "rank0" / "dump.json" for side in steps]
    compare_into_tables(*files, root / "single")
    assert names(root / "single") == ["compare_result_TIME.csv"]


def test_ranks_of_other_numbers_pair_in_their_order(root: Path) -> None:
    for rank in (0, 1):
        step = root / "benchmark" / "step1"
        (step / f"rank{rank}").rename(step / f"rank{rank + 8}")
    result = compare_into_tables(
        root / "problem" / "step1", root / "benchmark" / "step1", root / "out"
    )
    assert [file.name[:20] for file in sorted(result.files)] == [
        f"compare_result_rank{rank}" for rank in (0, 1)
    ]


def test_spreadsheet_has_the_rows_of_the_csv(compared_dumps: Path, tmp_path: Path) -> None:
    sides = [compared_dumps / "edge_statistics" / s / "step0" for s in ("target", "golden")]
    (table,) = compare_into_tables(*sides, tmp_path).files
    (book,) = compare_into_tables(*sides, tmp_path, TableOptions(form="xlsx")).files
    header, rows = read_table(table)
    workbook = load_workbook(book)
    assert workbook.sheetnames == ["Sheet1", "Score"]
    scores = [["" if cell is None else cell for cell in row] for row in workbook["Score"].values]
    assert scores[0] == ["NPU Name", "Bench Name", "Result", "Score", "Introduced", "Reason"]
    assert [[str(cell) for cell in line[:3]] for line in scores[1:]] == [
        [row[column] for column in scores[0][:3]] for row in rows
    ]
    # What the tools of mindstudio-probe read has their columns alone.
    header, rows = header[:-3], [dict(list(row.items())[:-3]) for row in rows]
    sheet = workbook["Sheet1"]
    lines = [["" if cell is None else cell for cell in row] for row in sheet.values]
    assert lines[0] == header
    assert len(lines) == len(rows) + 1
    for line, row in zip(lines[1:], rows, strict=True):
        for shown, (column, text) in zip(line, row.items(), strict=True):
            if isinstance(shown, int | float) and not isinstance(shown, bool):
                assert float(text) == pytest.approx(shown, rel=1e-14), column
            else:
                assert str(shown) == text.strip(), column
    cells = dict(zip(header, lines[1], strict=True))
    # Numbers are numbers, the texts of measures are texts: as scripts that read them expect.
    assert [type(cells[c]) for c in ("NPU max", "Max diff", "NPU Requires_grad")] == [int, str, str]
    assert cells["Requires_grad Consistent"] is True


def test_long_tables_are_cut_into_parts(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sheets, "CSV_ROWS", 1)
    monkeypatch.setattr(sheets, "SHEET_ROWS", 1)
    files = [root / side / "step0" / "rank0" / "dump.json" for side in ("problem", "benchmark")]
    alone = BuildOptions(workers=1)
    parts = compare_into_tables(*files, root / "out", TableOptions(build=alone)).files
    assert [part.name[-10:] for part in parts] == ["part_1.csv", "part_2.csv"]
    assert [len(read_table(part)[1]) for part in parts] == [1, 1]
    (book,) = compare_into_tables(*files, root / "x", TableOptions("xlsx", build=alone)).files
    assert load_workbook(book).sheetnames == ["part_0", "part_1", "Score_0", "Score_1"]


def test_name_that_a_spreadsheet_would_run_is_quoted(tmp_path: Path) -> None:
    evil = forward([tensor(), {"type": "str", "value": "=cmd()"}], [tensor()])
    files = [
        write_dump(tmp_path / side, {"@SUM.x.0.forward": evil}) / "dump.json"
        for side in ("problem", "benchmark")
    ]
    (file,) = compare_into_tables(*files, tmp_path / "out").files
    _, rows = read_table(file)
    assert {row["NPU Name"][:2] for row in rows} == {"'@"}
    assert "'=cmd()" in {row["NPU max"] for row in rows}


def _missing(root: Path) -> tuple[Path, Path]:
    return root / "nothing", root / "benchmark"


def _file_and_folder(root: Path) -> tuple[Path, Path]:
    return root / "problem" / "step0" / "rank0" / "dump.json", root / "benchmark"


def _other_levels(root: Path) -> tuple[Path, Path]:
    return root / "problem", root / "benchmark" / "step0"


def _other_ranks(root: Path) -> tuple[Path, Path]:
    shutil.rmtree(root / "benchmark" / "step0" / "rank1")
    return root / "problem" / "step0", root / "benchmark" / "step0"


def _processes(root: Path) -> tuple[Path, Path]:
    for side in ("problem", "benchmark"):
        for rank, process in ((0, 11), (1, 12)):
            (root / side / "step0" / f"rank{rank}").rename(root / side / "step0" / f"proc{process}")
    return root / "problem" / "step0", root / "benchmark" / "step0"


def _other_file(root: Path) -> tuple[Path, Path]:
    path = root / "notes.json"
    path.write_text("{}")
    return path, root / "benchmark" / "step0" / "rank0" / "dump.json"


@pytest.mark.parametrize(
    ("arrange", "words"),
    [
        (_missing, "no such file or folder"),
        (_file_and_folder, "is a file"),
        (_other_levels, "same level"),
        (_other_ranks, "equally many ranks"),
        (_processes, "one of them on each side"),
        (_other_file, "two files called dump.json"),
    ],
)
def test_what_cannot_be_compared_is_said_in_one_line(
    root: Path, arrange: object, words: str
) -> None:
    with pytest.raises(BuilderError) as raised:
        compare_into_tables(*arrange(root), root / "out")  # type: ignore[operator]
    assert words in str(raised.value)
    assert "\n" not in str(raised.value)
    assert not (root / "out").exists()


def test_first_differences_need_folders(root: Path) -> None:
    files = [root / side / "step0" / "rank0" / "dump.json" for side in ("problem", "benchmark")]
    with pytest.raises(BuilderError, match="-da looks at all ranks"):
        compare_into_tables(*files, root / "out", TableOptions(first_differences=True))


def test_broken_rank_is_an_outcome_and_the_other_has_its_table(root: Path) -> None:
    (root / "problem" / "step0" / "rank1" / "dump.json").write_text("{")
    result = compare_into_tables(
        root / "problem" / "step0", root / "benchmark" / "step0", root / "out"
    )
    assert [outcome.rank for outcome in result.failed] == [1]
    assert names(root / "out") == ["compare_result_rank0_TIME.csv"]


def test_nothing_to_compare_leaves_no_file(tmp_path: Path) -> None:
    for side in ("problem", "benchmark"):
        write_dump(tmp_path / side / "rank0", {}, {}, task="structure")
    result = compare_into_tables(tmp_path / "problem", tmp_path / "benchmark", tmp_path / "out")
    assert (result.files, result.compared_values) == ((), 0)


def test_folder_that_cannot_be_written_is_said(root: Path) -> None:
    (root / "out").write_text("")
    with pytest.raises(OutputError, match="out: is a file; choose another -o"):
        compare_into_tables(root / "problem" / "step0", root / "benchmark" / "step0", root / "out")
    with pytest.raises(OutputError):
        sheets.write_csv(root / "out" / "table", ["a"], [["b"]])


def test_data_mapping_pairs_single_values(root: Path) -> None:
    write_dump(root / "a", {"Torch.old.0.forward": forward([tensor(2.0)], [tensor(4.0)])})
    write_dump(root / "b", {"Torch.new.0.forward": forward([tensor(2.0)], [tensor(4.0)])})
    mapping = {"Torch.old.0.forward.output.0": "Torch.new.0.forward.output.0"}
    options = TableOptions(build=BuildOptions(data_mapping=mapping))
    (file,) = compare_into_tables(root / "a", root / "b", root / "out", options).files
    _, rows = read_table(file)
    assert [(row["NPU Name"], row["Bench Name"], row["Result"]) for row in rows] == [
        ("N/A", "Torch.new.0.forward.input.0", "warning"),
        ("Torch.old.0.forward.input.0", "N/A", "warning"),
        ("Torch.old.0.forward.output.0", "Torch.new.0.forward.output.0", "pass"),
    ]
    wrong = TableOptions(build=BuildOptions(data_mapping={"a": "b"}))
    with pytest.raises(MappingError, match="the problem has no value a"):
        compare_into_tables(root / "a", root / "b", root / "out", wrong)
    assert list((root / "out").iterdir()) == [file]  # no table by a rule that fits nothing


def test_data_mapping_names_values_that_one_rank_of_several_has(tmp_path: Path) -> None:
    for side in ("p", "b"):
        for rank in (0, 1):
            name = f"Torch.op{rank}.0.forward"
            folder = tmp_path / side / "step0" / f"rank{rank}"
            write_dump(folder, {name: forward([tensor()], [tensor()])}, {name: None})

    def compared(mapping: dict[str, str]) -> list[str | None]:
        options = TableOptions(build=BuildOptions(workers=1, data_mapping=mapping))
        made = compare_into_tables(tmp_path / "p", tmp_path / "b", tmp_path / "o", options)
        return [outcome.error for outcome in made.outcomes]

    first, second = "Torch.op0.0.forward.input.0", "Torch.op1.0.forward.input.0"
    assert compared({first: first}) == [None, None]
    with pytest.raises(MappingError, match="no step and rank has both"):
        compared({first: second})
    with pytest.raises(MappingError, match="the benchmark has no value nowhere"):
        compared({first: "nowhere"})


@pytest.mark.parametrize("text", ["=1+HYPERLINK(1)", "-2+3+cmd|x", "+1+1", "@x", "＝1", "%x"])
def test_a_csv_has_no_formula_in_any_column(tmp_path: Path, text: str) -> None:
    evil = tensor() | {"dtype": text, "Max": text}
    data = {f"{text}.x.0.forward": forward([evil, {"type": text, "value": [1]}], [tensor()])}
    files = [write_dump(tmp_path / side, data) / "dump.json" for side in "ab"]
    (file,) = compare_into_tables(*files, tmp_path / "out").files
    _, rows = read_table(file)
    cells = {cell for row in rows for cell in row.values()}
    assert {cell for cell in cells if cell.startswith(text[0])} <= {"-1.0"}
    assert sum(text in cell for cell in cells) >= 3


def test_a_sheet_keeps_numbers_that_begin_like_formulas(tmp_path: Path) -> None:
    row = ["-1.5", "+2", "-inf", "-0.5%", "=1", "-", -3.0]
    (file,) = sheets.write_csv(tmp_path / "t", ["a"] * 7, [row])
    written = file.read_text(encoding="utf-8").splitlines()[1]
    assert written == "-1.5,+2,-inf,-0.5%,'=1,'-,-3.0"


def test_cell_mapping_renames_modules(root: Path) -> None:
    def dump(folder: Path, path: str) -> Path:
        name = f"Module.{path}.Linear.forward.0"
        return write_dump(folder, {name: forward([tensor()], [tensor()])}, {name: None})

    sides = dump(root / "a", "enc.fc1"), dump(root / "b", "encoder.linear1")
    mapping = root / "cells.yaml"
    mapping.write_text("enc.fc1.Linear: encoder.linear1.Linear\n")
    options = TableOptions(build=BuildOptions(cell_mapping=mapping))
    (file,) = compare_into_tables(*sides, root / "out", options).files
    assert read_table(file)[1][0]["Bench Name"] == "Module.encoder.linear1.Linear.forward.0.input.0"
    mapping.write_text("nothing.Linear: encoder.linear1.Linear\n")
    with pytest.raises(BuilderError, match=r"cells\.yaml:1: nothing\.Linear fits no module"):
        compare_into_tables(*sides, root / "out", options)


def test_first_differences_hold_every_call(root: Path) -> None:
    steps = root / "problem" / "step1", root / "benchmark" / "step1"
    options = TableOptions(first_differences=True)
    stale = root / "out" / "compare_result_rank0_20200101000000.json"
    stale.parent.mkdir()
    stale.write_text("{}")
    *calls, named = compare_into_tables(*steps, root / "out", options).files
    assert stale not in calls
    content = {file.name[15:20]: json.loads(file.read_text()) for file in calls}
    assert content["rank0"]["Torch.mul.0.forward"]["is_same"] is False
    assert content["rank1"]["Torch.mul.0.forward"]["is_same"] is True
    item = content["rank0"]["Torch.mul.0.forward"]["op_items"][1]
    assert (item["state"], item["NPU l2norm"], item["NPU P2POp peer"]) == ("output", 3.0, "None")
    assert list(json.loads(named.read_text())) == ["rank_0"]


def test_first_difference_over_ranks_has_the_layout_of_the_peer(
    compared_dumps: Path, tools: Path, tmp_path: Path
) -> None:
    sides = [compared_dumps / "ranks" / name / "step0" for name in ("rank1", "none")]
    result = compare_into_tables(*sides, tmp_path, TableOptions(first_differences=True))
    (recorded,) = (tools / "compare" / "diff_analyze").glob("*.json")
    theirs, ours = json.loads(recorded.read_text()), json.loads(result.files[-1].read_text())
    assert list(ours) == list(theirs) == ["rank_1"]
    (expected,), (found, *_) = theirs["rank_1"], ours["rank_1"]
    assert {key: found[key] for key in expected} == expected
