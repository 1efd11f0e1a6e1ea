"""Nothing outside the log folders is ever reached, however the token or the link is made."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msprobe_core.format import series
from tb_graph_ascend.logdirs import RUN_FILE, LogDirs


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    inside = tmp_path / "logs"
    inside.mkdir()
    (tmp_path / "secret.vis.db").write_bytes(b"x")
    (inside / "mine.vis.db").write_bytes(b"y")
    return inside


def token(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def test_token_leads_back_to_its_file(folder: Path) -> None:
    logdirs = LogDirs([folder])
    (found,) = logdirs.files()
    assert logdirs.resolve(found.token) == found
    assert found.path == folder / "mine.vis.db"


@pytest.mark.parametrize(
    "place",
    [
        "0/../secret.vis.db",
        "0/{}/secret.vis.db",
        "0/./../logs/../secret.vis.db",
        "0/link.vis.db",
        "0/door/secret.vis.db",
        "1/mine.vis.db",
        "9" * 25 + "/mine.vis.db",
        "9" * 5_000 + "/mine.vis.db",
        "-1/mine.vis.db",
        "0/mine.txt",
        "0/mine.vis.db\0",
        "0/",
        "",
        "٠/mine.vis.db",
    ],
)
def test_everything_else_leads_nowhere(folder: Path, place: str) -> None:
    (folder / "link.vis.db").symlink_to(folder.parent / "secret.vis.db")
    (folder / "door").symlink_to(folder.parent)
    assert LogDirs([folder]).resolve(token(place.format(folder.parent))) is None


def test_links_that_stay_inside_are_followed_and_others_not_listed(folder: Path) -> None:
    (folder / "deep").mkdir()
    (folder / "deep" / "same.vis.db").symlink_to(folder / "mine.vis.db")
    (folder / "out.vis.db").symlink_to(folder.parent / "secret.vis.db")
    (folder / "loop").symlink_to(folder)
    listed = LogDirs([folder]).files()
    assert [file.path for file in listed] == [folder / "mine.vis.db"]


def test_folder_that_is_a_link_itself_works(folder: Path) -> None:
    door = folder.parent / "door"
    door.symlink_to(folder)
    (found,) = LogDirs([door]).files()
    assert found.shown == "mine.vis.db"


@given(st.text(max_size=60))
def test_any_text_as_token_is_survived(text: str) -> None:
    assert LogDirs([Path("/nonexistent")]).resolve(text) is None


def test_unfinished_files_are_not_listed(folder: Path) -> None:
    (folder / "new.vis.db.partial").write_bytes(b"")
    assert len(LogDirs([folder]).files()) == 1


def test_trends_are_called_as_the_format_says() -> None:
    assert RUN_FILE == series.RUN_FILE


def test_ranks_of_trends_are_not_looked_into(tmp_path: Path) -> None:
    run = tmp_path / "run"
    (run / "rank0").mkdir(parents=True)
    (run / "flight-7").mkdir()
    for folder in (run, run / "flight-7", run / "rank0"):
        (folder / RUN_FILE).write_text('{"format": "trends", "version": 1}')
    logdirs = LogDirs([tmp_path])
    assert sorted(found.shown for found in logdirs.runs()) == ["run", "run/flight-7"]
    assert logdirs.any()
