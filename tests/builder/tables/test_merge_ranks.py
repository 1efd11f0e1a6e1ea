"""Tables of all ranks side by side."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openpyxl import load_workbook

from builder.errors import InputError
from builder.tables.comparing import SheetForm, TableOptions, compare_into_tables
from builder.tables.merge_ranks import (
    MergeChoice,
    _Beginnings,
    _longest_that_go_on,
    merge_ranks,
    read_merge_choice,
)
from tests.builder.dumps import forward, tensor, write_dump


def sheets_of(path: Path) -> dict[str, list[list[object]]]:
    book = load_workbook(path)
    return {sheet.title: [list(row) for row in sheet.values] for sheet in book}


@pytest.mark.parametrize("form", ["csv", "xlsx"])
def test_cells_are_those_that_the_peer_merged(
    form: SheetForm, compared_dumps: Path, tools: Path, tmp_path: Path
) -> None:
    sides = [compared_dumps / "ranks" / name / "step0" for name in ("rank1", "none")]
    compare_into_tables(*sides, tmp_path, TableOptions(form=form))
    choice = read_merge_choice(tools / "compare" / "merge" / "merge.yaml")
    ours = sheets_of(merge_ranks(tmp_path, tmp_path / "merged", choice).path)
    (recorded,) = (tools / "compare" / "merge").glob("*.xlsx")
    expected = sheets_of(recorded)
    assert list(ours) == list(expected) == ["Max diff", "L2norm diff", "MeanRelativeErr"]
    for title, rows in expected.items():
        assert ours[title][0] == rows[0]
        assert len(ours[title]) == len(rows) > 5
        # There the calls stand in the order of their texts.
        assert {str(row) for row in ours[title]} == {str(row) for row in rows}


def ranks(folder: Path, calls: int, md5: bool = False) -> Path:
    for side, norm in (("problem", 3.0), ("benchmark", 2.0)):
        for rank in (0, 1):
            sums = {"md5": f"{norm:08.0f}"} if md5 else {}
            entry = forward([tensor(norm, **sums)], [tensor(norm, **sums)])
            data = {f"Distributed.all_reduce.{n}.forward": entry for n in range(calls)}
            write_dump(folder / side / f"rank{rank}", data)
    compare_into_tables(folder / "problem", folder / "benchmark", folder / "tables")
    return folder / "tables"


def test_calls_come_in_the_order_of_their_numbers(tmp_path: Path) -> None:
    merged = merge_ranks(
        ranks(tmp_path, 12), tmp_path, MergeChoice(("Distributed",), ("Max diff",))
    )
    names = [str(row[0]) for row in sheets_of(merged.path)["Max diff"][1:]]
    assert [int(name.split(".")[2]) for name in names] == sorted([*range(12), *range(12)])


def test_checksums_merge_too(tmp_path: Path) -> None:
    merged = merge_ranks(ranks(tmp_path, 1, md5=True), tmp_path, MergeChoice(("Distributed",)))
    found = sheets_of(merged.path)
    assert list(found) == ["NPU MD5", "BENCH MD5", "Requires_grad Consistent"]
    assert found["NPU MD5"][1][1:] == ["00000003", "00000003"]


def test_cell_without_a_measure_shows_what_there_is(tmp_path: Path) -> None:
    table = ranks(tmp_path, 1)
    for side in ("problem", "benchmark"):
        for rank in (0, 1):
            entry = forward([tensor()], [tensor()])
            write_dump(tmp_path / side / f"rank{rank}", {f"Torch.{side}.0.forward": entry})
    for path in table.iterdir():
        path.unlink()
    compare_into_tables(tmp_path / "problem", tmp_path / "benchmark", table)
    merged = merge_ranks(table, tmp_path, MergeChoice(("Torch",), ("Max diff",)))
    assert "NPU:1.5  Bench:N/A" in sheets_of(merged.path)["Max diff"][-1]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("api: Distributed", "no `api`"),
        ("[1", "no valid YAML"),
        ("api: [a]\ncompare_index: [Sum diff]", "'Sum diff' is no measure"),
    ],
)
def test_choice_that_cannot_be_used_is_said(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "merge.yaml"
    file.write_text(text)
    with pytest.raises(InputError, match=words):
        read_merge_choice(file)


def test_folder_without_two_ranks_is_said(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such folder"):
        merge_ranks(tmp_path / "none", tmp_path, MergeChoice(("a",)))
    with pytest.raises(InputError, match="over two ranks or more"):
        merge_ranks(tmp_path, tmp_path, MergeChoice(("a",)))
    tables = ranks(tmp_path, 1)
    with pytest.raises(InputError, match="no value's name begins with Nothing"):
        merge_ranks(tables, tmp_path, MergeChoice(("Nothing",)))
    with pytest.raises(InputError, match="has no column 'Cosine'"):
        merge_ranks(tables, tmp_path, MergeChoice(("Dist",), ("Cosine",)))
    compare_into_tables(tmp_path / "problem", tmp_path / "benchmark", tables)
    with pytest.raises(InputError, match="keep those of one run"):
        merge_ranks(tables, tmp_path, MergeChoice(("Dist",)))


def _cut_in_a_row(lines: list[bytes]) -> bytes:
    return b"".join(lines[:9]) + lines[9][:40]


def _binary(lines: list[bytes]) -> bytes:
    return b"".join(lines[:9]) + b"\xff\xfe\x00" * 9


def _nothing(_: list[bytes]) -> bytes:
    return b""


@pytest.mark.parametrize("cut", [_cut_in_a_row, _binary, _nothing])
def test_a_damaged_table_is_one_line(tmp_path: Path, cut: Callable[[list[bytes]], bytes]) -> None:
    table = max(ranks(tmp_path, 12).iterdir())
    table.write_bytes(cut(table.read_bytes().splitlines(keepends=True)))
    with pytest.raises(InputError, match=re.escape(table.name)):
        merge_ranks(table.parent, tmp_path, MergeChoice(("Distributed",)))


@pytest.mark.parametrize("lines", [0, 1, 9, 20])
def test_a_table_that_ends_early_at_a_row_is_told(tmp_path: Path, lines: int) -> None:
    table = max(ranks(tmp_path, 12).iterdir())
    table.write_bytes(b"".join(table.read_bytes().splitlines(keepends=True)[: 1 + lines]))
    merged = merge_ranks(table.parent, tmp_path, MergeChoice(("Distributed",)))
    ((rank, held, longest),) = merged.short
    assert (rank, held, longest) == (1, lines, 24)


@pytest.mark.parametrize("more", [b"\n", b"\r\n\r\n"])
def test_blank_lines_are_no_rows(tmp_path: Path, more: bytes) -> None:
    tables = ranks(tmp_path, 3)
    choice = MergeChoice(("Distributed",), ("Max diff",))
    whole = sheets_of(merge_ranks(tables, tmp_path / "whole", choice).path)
    for table in tables.iterdir():
        table.write_bytes(table.read_bytes() + more)
    assert sheets_of(merge_ranks(tables, tmp_path / "blank", choice).path) == whole


def test_a_table_that_ends_in_its_header_is_told(tmp_path: Path) -> None:
    table = max(ranks(tmp_path, 12).iterdir())
    table.write_bytes(table.read_bytes()[:25])
    merged = merge_ranks(table.parent, tmp_path, MergeChoice(("Distributed",)))
    assert list(merged.short) == [(1, 0, 24)]


@given(st.lists(st.text("ab.", max_size=4), max_size=8), st.text("ab.", max_size=6))
def test_a_name_is_chosen_where_it_begins_with_one_of_the_texts(
    texts: list[str], name: str
) -> None:
    assert (name in _Beginnings(texts)) == name.startswith(tuple(texts))


@given(st.sets(st.lists(st.sampled_from("ab"), max_size=5).map(tuple), max_size=12))
def test_the_longest_table_that_goes_on_from_another(lists: set[tuple[str, ...]]) -> None:
    assert _longest_that_go_on(lists) == {
        one: max(len(other) for other in lists if other[: len(one)] == one) for one in lists
    }
