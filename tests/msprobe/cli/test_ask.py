"""One question in a shell: the answer, and what is refused."""

from __future__ import annotations

import json
import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from msprobe.answers.bounds import MOST_BYTES
from tests.msprobe.conftest import Run


@pytest.fixture
def root(samples: Path, tmp_path: Path) -> Path:
    shutil.copyfile(samples / "vis-db" / "ranks.vis.db", tmp_path / "ranks.vis.db")
    return tmp_path


def test_numbers_are_read_from_texts(run: Run, root: Path) -> None:
    words = "result=ranks.vis.db", "node=Module.layers.1.mlp.MLP.forward.0", "step=1", "rank=1"
    answer = json.loads(run("ask", root, "explain_node", *words).out)
    assert (answer["node"]["step"], answer["node"]["rank"]) == (1, 1)
    again = f"node={answer['node']['node_id']}"
    by_id = json.loads(run("ask", root, "explain_node", words[0], again).out)
    assert by_id == answer


def test_pages_are_asked_on(run: Run, root: Path) -> None:
    first = run("ask", root, "open_result", "result=ranks.vis.db").out
    assert len(first.rstrip("\n").encode()) <= MOST_BYTES
    last = json.loads(run("ask", root, "open_result", "result=ranks.vis.db", "offset=3").out)
    assert last["pairs"] == json.loads(first)["pairs"][3:]
    beyond = json.loads(run("ask", root, "open_result", "result=ranks.vis.db", "offset=99").out)
    assert (beyond["pairs"], beyond["more"]) == ([], None)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("open_result", "ranks.vis.db"), "write it as NAME=VALUE"),
        (("open_result", "result=../ranks.vis.db"), "leads out of the folder"),
        (("open_result", "result=ranks.vis.db", "offset=x"), "offset"),
        (("open_result", "result=ranks.vis.db", "offset=nan"), "offset"),
        (("open_results",), "no such question"),
        (("build_result", "problem=a", "benchmark=b"), "--build-into"),
    ],
)
def test_what_cannot_be_asked_is_one_line(
    run: Run, root: Path, words: tuple[str, ...], said: str
) -> None:
    answer = run("ask", root, *words)
    assert answer.code == 1
    assert answer.out == ""
    assert said in answer.err
    assert str(root) not in answer.err


def test_a_server_without_its_package_says_what_to_install(
    run: Run, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "msprobe.cli.mcp.find_spec", lambda name: None if name == "mcp" else find_spec(name)
    )
    answer = run("mcp", root)
    assert answer.code == 1
    assert "pip install '.[mcp]'" in answer.err
