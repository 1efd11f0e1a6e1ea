"""A page that carries its result holds what the server says and what the file has."""

from __future__ import annotations

import base64
import json
import re
import zlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builder.errors import DatabaseError
from builder.results.database import ResultDatabase
from tb_graph_ascend.offline import export
from tb_graph_ascend.offline.export import PageError, write_page
from tb_graph_ascend.server import create_app
from tests.tb_graph_ascend.conftest import Build

_PART = re.compile(r'<script type="application/[a-z-]+" id="([^"]+)">(.*?)</script>', re.DOTALL)


class Page:
    """The parts of a page, read without a browser."""

    def __init__(self, file: Path) -> None:
        self.parts = dict(_PART.findall(file.read_text("utf-8")))
        self.data: Any = json.loads(self.parts["page-data"])

    def block(self, number: int) -> bytes:
        return zlib.decompress(base64.b64decode(self.parts[f"block-{number}"]), -zlib.MAX_WBITS)

    def lines(self, lines: Any) -> list[Any]:
        texts = b"\n".join(self.block(number) for number in lines["blocks"]).split(b"\n")
        assert len(texts) == lines["count"]
        return [json.loads(text) for text in texts]


@pytest.fixture
def program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A built interface of one line: these tests are about the data."""
    static = tmp_path / "static"
    static.mkdir()
    (static / "page.js").write_text("start('</script>')")
    (static / "page.css").write_text("body{}")
    monkeypatch.setattr(export, "STATIC", static)
    return static


@pytest.mark.usefixtures("program")
def test_answers_are_those_of_the_server(built: Build, tmp_path: Path) -> None:
    file = built("ranks/problem", "ranks/bench")
    write_page(file, tmp_path / "page.html")
    page = Page(tmp_path / "page.html")
    client = create_app([file.parent]).test_client()
    told = dict(zip(page.data["addresses"], page.lines(page.data["answers"]), strict=True))
    db = page.data["db"]
    for address in (f"databases/{db}/answer", f"databases/{db}/pairs/1/0/shares"):
        assert told[address] == client.get(f"/api/{address}").json
    assert told[f"databases/{db}"]["read_only"] is True
    report = client.get(f"/api/databases/{db}/export/report.html").text
    assert told[f"databases/{db}/export/report.html"][:500] == report[:500]


@pytest.mark.usefixtures("program")
def test_every_step_and_rank_has_its_nodes(built: Build, tmp_path: Path) -> None:
    file = built("ranks/problem", "ranks/bench")
    write_page(file, tmp_path / "page.html")
    page = Page(tmp_path / "page.html")
    results = ResultDatabase(file)
    pairs = [(one.step, one.rank) for one in results.summary().pairs]
    assert [(one["step"], one["rank"]) for one in page.data["pairs"]] == pairs
    for one in page.data["pairs"]:
        column = one["columns"]["node.id"]
        ids = np.frombuffer(page.block(column["block"]), "<i4" if column["type"] == "i32" else "f8")
        sides = results.side_nodes(one["step"], one["rank"])
        assert ids.tolist() == [id_ for side in sides for id_ in side.id.tolist()]
        table = one["tables"]["node"]
        columns = [json.loads(page.block(number)) for number in table["blocks"]]
        assert [len(column["fields"]["id"]["steps"]) for column in columns] == [
            stop - start for start, stop in pairwise([*table["starts"], table["count"]])
        ]
        assert table["count"] == len(ids)


@pytest.mark.usefixtures("program")
def test_the_program_cannot_end_its_own_element(built: Build, tmp_path: Path) -> None:
    write_page(built("statistics/problem", "statistics/bench"), tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text("utf-8")
    assert text.rstrip().endswith("<script>start('<\\/script>')</script>\n</body></html>")


@pytest.mark.usefixtures("program")
def test_a_file_that_is_no_result_leaves_no_page(tmp_path: Path) -> None:
    broken = tmp_path / "broken.vis.db"
    broken.write_bytes(b"SQLite format 3\0" + bytes(200))
    with pytest.raises(DatabaseError, match=re.escape("broken.vis.db")):
        write_page(broken, tmp_path / "page.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["broken.vis.db", "static"]


def test_without_the_built_interface_it_says_how_to_build_it(
    built: Build, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "STATIC", tmp_path)
    with pytest.raises(PageError, match="is not built"):
        write_page(built("statistics/problem", "statistics/bench"), tmp_path / "page.html")
