"""Paths whose bytes are no text are told as text, and builds over them end as others do."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from builder.storage.path_text import path_text, text_path
from tb_graph_ascend.server import create_app


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("plain", "plain"),
        ("\u00fcn\u00ef", "\u00fcn\u00ef"),
        ("/a/\udcff\udcfe/b", "/a/\\xff\\xfe/b"),
        ("\udcc3\udcbcn", "\u00fcn"),  # good UTF-8 that the C locale took apart
        ("\u00fc\udcff", "\u00fc\\xff"),
        ("\ud800x", "\\ud800x"),
    ],
)
def test_text_of_a_path_is_text(text: str, told: str) -> None:
    assert path_text(text) == told
    told.encode()


def test_path_of_a_text_is_found_in_this_locale() -> None:
    assert text_path("\u00fcn\u00ef") == Path("\u00fcn\u00ef")


_RUN = "from msprobe.cli import main; raise SystemExit(main())"
LOCALES = [{}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}]
NAMES = [b"\xff\xfe", "\u00fcn\u00ef \u4e2d".encode(), b"a\xc3(b"]  # the last one held back


@pytest.mark.parametrize("locale", LOCALES, ids=["here", "C"])
@pytest.mark.skipif(sys.platform != "linux", reason="names are bytes on Linux alone")
def test_builds_and_lists_hold_folders_whose_names_are_no_text(
    samples: Path, tmp_path: Path, locale: dict[str, str]
) -> None:
    for name in NAMES:
        folder = os.fsencode(tmp_path) + b"/" + name
        shutil.copytree(os.fsencode(samples / "statistics" / "problem"), folder + b"/p")
    command = [sys.executable, "-c", _RUN, "graph_visualize", "-tp"]
    for name in NAMES[: 3 if not locale else 2]:
        folder = os.fsencode(tmp_path) + b"/" + name
        words = [*map(os.fsencode, command), folder + b"/p", b"-gp", folder + b"/p"]
        done = subprocess.run(
            [*words, b"-o", folder + b"/o"],
            capture_output=True,
            check=False,
            env={**os.environ, **locale, "PYTHONPATH": os.fspath(Path(__file__).parents[3])},
        )
        assert done.returncode == 0, done.stderr
    client = create_app([tmp_path]).test_client()
    for route in ("/api/databases", "/api/dumps"):
        answer = client.get(route)
        assert answer.status_code == 200
        json.dumps(answer.json, ensure_ascii=False).encode()
    listed = client.get("/api/databases").json
    assert listed is not None
    entry = next(one for one in listed["databases"] if "\\xff" in one["path"])
    assert client.get(f"/api/databases/{entry['id']}").status_code == 200
    body = {"problem": entry["problem"], "benchmark": entry["problem"]}
    assert client.post("/api/builds", json=body).status_code == 400


def test_build_into_a_folder_whose_name_is_no_text_is_refused(
    samples: Path, tmp_path: Path
) -> None:
    logs = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    shutil.copytree(samples / "statistics" / "problem", logs / "p")
    answer = create_app([logs]).test_client().post("/api/builds", json={"problem": "p"})
    assert answer.status_code == 400
    assert "is no text" in answer.text
