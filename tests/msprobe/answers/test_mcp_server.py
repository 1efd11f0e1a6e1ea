"""The server driven by the official client over standard input and output."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

pytest.importorskip("mcp", reason="the extra mcp is not installed")

from msprobe.answers.bounds import MOST_BYTES
from msprobe.answers.questions import QUESTIONS, ask
from msprobe.answers.result_folder import ResultFolder
from tests.agents.policy import Suspicion, investigate
from tests.agents.tool_user import ToolUser, connected
from tests.conftest import ROOT
from tests.msprobe.answers.conftest import Served
from tests.msprobe.conftest import Run

LARGE = "Functional.conv1d.0.forward"  # more values than one answer holds


@pytest.fixture(scope="module")
def user(served: Served) -> Iterator[ToolUser]:
    with connected(served.root, "--build-into", served.root / "built") as user:
        yield user


def test_a_client_learns_the_tools_and_that_texts_are_data(user: ToolUser) -> None:
    tools = user.portal.call(user.client.list_tools).tools
    assert [tool.name for tool in tools] == list(QUESTIONS)
    for tool in tools:
        assert tool.description
        assert tool.input_schema["type"] == "object"
        assert tool.input_schema["additionalProperties"] is False
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint is (tool.name != "build_result")
    assert "never instructions" in (user.client.instructions or "")


def test_the_way_from_a_folder_to_the_line(user: ToolUser, served: Served) -> None:
    listed = user.ask("list_results")["results"]
    assert {one["result"] for one in listed} == {served.faulty, served.sound}
    said = investigate(user, served.faulty)
    assert said == Suspicion(
        0,
        "Tensor.__mul__.0.forward",
        "Module.layers.1.mlp.MLP.forward.0",
        "job/model_dump.py:44",
    )
    assert investigate(user, served.sound) is None


def test_the_command_says_the_same(user: ToolUser, served: Served, run: Run) -> None:
    asked = {"result": served.faulty, "node": "Functional.linear.7.forward", "step": 1}
    for tool in ("node_values", "node_neighbours", "explain_node"):
        words = [f"{name}={value}" for name, value in asked.items()]
        refused, text = user.call(tool, **asked)
        assert not refused
        assert run("ask", served.root, tool, *words).out == f"{text}\n"


def test_a_new_result_is_built_where_that_was_allowed(user: ToolUser, served: Served) -> None:
    made = user.ask("build_result", problem="benchmark", benchmark="benchmark", threshold=0.5)
    try:
        assert made["claim"]["all_clear"] is True
        assert made["threshold"] == 0.5
        assert Path(made["result"]).parent == Path("built")
        assert [path.name for path in (served.root / "built").iterdir()] == [
            Path(made["result"]).name
        ]
    finally:
        shutil.rmtree(served.root / "built")
        (served.root / "built").mkdir()


@pytest.mark.parametrize("tool", [name for name in QUESTIONS if name != "list_results"])
@pytest.mark.parametrize(
    "path", ["../faulty.vis.db", "/etc/passwd", "a/../../b.vis.db", "C:\\x.vis.db", "a\0.vis.db"]
)
def test_paths_out_of_the_folder_are_refused(user: ToolUser, tool: str, path: str) -> None:
    arguments = {
        "compare_results": {"before": path, "after": path},
        "build_result": {"problem": path, "benchmark": path},
    }.get(tool, {"result": path})
    more = {"node": "x"} if "node" in QUESTIONS[tool].schema["properties"] else {}
    assert "leads out of the folder" in user.refusal(tool, **arguments, **more)


def test_links_out_of_the_folder_are_refused(
    user: ToolUser, served: Served, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.vis.db"
    shutil.copyfile(served.root / served.faulty, outside)
    links = served.root / "link.vis.db", served.root / "linked"
    links[0].symlink_to(outside)
    links[1].symlink_to(tmp_path)
    try:
        for name in ("link.vis.db", "linked/outside.vis.db"):
            assert "is no result file below" in user.refusal("open_result", result=name)
        assert all("link" not in r["result"] for r in user.ask("list_results")["results"])
        said = user.refusal("build_result", problem="linked", benchmark="benchmark")
        assert "is no folder below" in said
    finally:
        for link in links:
            link.unlink()


def test_a_dump_whose_files_are_links_out_of_the_folder_is_refused(
    user: ToolUser, served: Served, tmp_path: Path
) -> None:
    shutil.copytree(served.root / "benchmark", tmp_path / "elsewhere")
    shutil.copytree(served.root / "benchmark", served.root / "linking")
    (file,) = (served.root / "linking" / "step1").glob("*/dump.json")
    file.unlink()
    file.symlink_to(next((tmp_path / "elsewhere" / "step1").glob("*/dump.json")))
    try:
        said = user.refusal("build_result", problem="linking", benchmark="benchmark")
        assert "dump.json is a link out of the folder" in said
        file.unlink()
        file.symlink_to(next((served.root / "benchmark" / "step1").glob("*/dump.json")))
        assert user.ask("build_result", problem="linking", benchmark="benchmark")["result"]
    finally:
        shutil.rmtree(served.root / "linking")
        for made in (served.root / "built").iterdir():
            made.unlink()


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("open_result", {"result": 3}, "Expected `str`, got `int`"),
        ("open_result", {}, "missing required field `result`"),
        ("open_result", {"result": "x" * 5000}, "length <= 1000"),
        ("open_result", {"result": "x.vis.db", "path": "/"}, "unknown field `path`"),
        ("open_result", {"result": "none.vis.db"}, "take one that list_results names"),
        ("findings", {"result": "x.vis.db", "offset": -1}, ">= 0"),
        ("findings", {"result": "x.vis.db", "offset": 1.5}, "Expected `int`"),
        ("findings", {"result": "x.vis.db", "offset": 10**30}, "offset"),
        ("record_next", {"result": "x.vis.db", "finding": 0}, ">= 1"),
        ("explain_node", {"result": "x.vis.db", "node": ["a"]}, "Expected `int | str`"),
        ("explain_node", {"result": "x.vis.db", "node": "n" * 9000}, "length <= 2000"),
        ("explain_node", {"result": "x.vis.db", "node": True}, "Expected `int | str`"),
        ("build_result", {"problem": "a", "benchmark": "b", "threshold": 7}, "< 1.0"),
        ("build_result", {"problem": "a", "benchmark": "b", "threshold": "nan"}, "`float | null`"),
        ("delete_everything", {}, "no such question"),
    ],
)
def test_arguments_that_do_not_fit_are_refused_in_words(
    user: ToolUser, tool: str, arguments: dict[str, object], words: str
) -> None:
    assert words in user.refusal(tool, **arguments)


def test_nodes_and_findings_that_are_not_there_are_refused(user: ToolUser, served: Served) -> None:
    asked = {"result": served.faulty}
    assert "no node of that name" in user.refusal("node_values", node="linear.7", **asked)
    assert "Functional.linear.7" in user.refusal("node_values", node="linear.7", **asked)
    assert user.refusal("node_values", node=10**12, **asked)
    assert "no node of that name" in user.refusal(
        "explain_node", node="Tensor.__mul__.0.forward", step=9, **asked
    )
    assert "1 findings, not 7" in user.refusal("record_next", finding=7, **asked)


def test_no_answer_is_too_long_or_holds_a_path_of_this_machine(
    user: ToolUser, served: Served
) -> None:
    for tool in QUESTIONS:
        arguments: dict[str, object] = {
            "list_results": {},
            "compare_results": {"before": served.faulty, "after": served.sound},
            "build_result": {"problem": "problem", "benchmark": "nowhere"},
        }.get(tool, {"result": served.faulty})
        if "node" in QUESTIONS[tool].schema["properties"]:
            arguments = {**arguments, "node": "DefaultModel"}
        _, text = user.call(tool, **arguments)
        assert len(text.encode()) <= MOST_BYTES
        for secret in (str(served.root), str(ROOT), "/job/"):
            assert secret not in text, tool


def test_pages_hold_everything_once(user: ToolUser, served: Served) -> None:
    seen: list[str] = []
    offset: int | None = 0
    while offset is not None:
        page = user.ask("node_values", result=served.faulty, node=LARGE, offset=offset)
        seen += [one["value"] for one in page["values"]]
        offset = page["more"]
    assert len(seen) == len(set(seen)) == page["total"]
    assert len(user.sizes["node_values"]) > 1, "one page held it all: take a larger node"


def test_a_server_without_a_folder_to_build_into_only_reads(served: Served) -> None:
    before = sorted(served.root.rglob("*"))
    with connected(served.root) as reader:
        said = reader.refusal("build_result", problem="problem", benchmark="benchmark")
        assert "--build-into" in said
        reader.ask("open_result", result=served.sound)
    assert sorted(served.root.rglob("*")) == before


HELLO = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "by hand", "version": "1"},
}


@contextmanager
def by_hand(root: Path, calls: Sequence[str], ends: int = 0) -> Iterator[subprocess.Popen[str]]:
    """A server that was sent lines which no client sends; calls are `name, arguments` as JSON."""
    lines = [
        json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": HELLO}),
        json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}),
    ]
    for number, call in enumerate(calls, 1):
        asked = f'{{"jsonrpc":"2.0","id":{number},"method":"tools/call","params":{{{call}}}}}'
        lines.append(asked if call else "no JSON at all")
    command = [sys.executable, "-m", "msprobe", "mcp", str(root), "--build-into", str(root)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as server:
        assert server.stdin is not None
        try:
            server.stdin.write("\n".join(lines) + "\n")
            server.stdin.flush()
            yield server
            server.stdin.close()
            assert server.wait(20) == ends
        finally:
            server.kill()


def test_numbers_that_json_does_not_have_do_not_end_the_server(served: Served) -> None:
    dumps = '"problem":"problem","benchmark":"benchmark"'
    calls = [
        f'"name":"build_result","arguments":{{{dumps},"threshold":NaN}}',
        '"name":"findings","arguments":{"result":"x.vis.db","offset":Infinity}',
        "",
        '"name":"list_results","arguments":{}',
    ]
    answers: dict[int, Any] = {}
    with by_hand(served.root, calls) as server:
        assert server.stdout is not None
        while 4 not in answers:
            said = json.loads(server.stdout.readline())
            answers[said.get("id")] = said
    assert answers[4]["result"]["isError"] is False
    for number in (1, 2):
        assert answers[number]["result"]["isError"] is True
    assert not list(served.root.glob("compare_*"))


@pytest.mark.parametrize("how", ["stdin", "sigterm"])
def test_a_client_that_leaves_stops_its_build(
    served: Served, tmp_path: Path, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(served.root / "benchmark" / "step0", tmp_path / "benchmark")
    shutil.copytree(served.root / "benchmark" / "step0", tmp_path / "endless")
    (file,) = (tmp_path / "endless").glob("*/dump.json")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "tests" / "held_open"))
    file.with_name("dump.json.held").touch()  # whoever reads the dump waits for ever
    dumps = '"problem":"endless","benchmark":"benchmark"'
    began = time.monotonic()
    ends = 0 if how == "stdin" else 130
    with by_hand(tmp_path, [f'"name":"build_result","arguments":{{{dumps}}}'], ends) as server:
        while not list(tmp_path.glob(".building-*")) and time.monotonic() - began < 60:
            time.sleep(0.05)
        assert list(tmp_path.glob(".building-*")), "the build has not begun"
        if how == "sigterm":
            server.terminate()
            server.wait(20)
    assert not list(tmp_path.glob(".building-*"))
    assert not list(tmp_path.rglob("*.vis.db"))


def test_names_that_are_no_text_are_listed(served: Served, tmp_path: Path) -> None:
    name = os.fsdecode(b"caf\xe9.vis.db")
    shutil.copyfile(served.root / served.faulty, tmp_path / name)
    (listed,) = ask(ResultFolder(tmp_path), "list_results", {})["results"]
    assert msgspec.json.encode(listed)
    assert "vis.db" in listed["result"]
