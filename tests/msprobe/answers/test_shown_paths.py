"""No answer holds an absolute path, and what it holds instead still leads to the file."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msprobe.answers.shown_paths import ShownPaths

PARTS = st.text("abcxyz019_-", min_size=1, max_size=8)
PATHS = ShownPaths([Path("/home/me/served"), Path("/home/me/work")])


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/home/me/served/out/a.vis.db", "out/a.vis.db"),
        ("/home/me/served", "."),
        ("/home/me/served2/a/b/c.py", "a/b/c.py"),
        ("/home/me/work/model.py", "model.py"),
        ("/env/lib/site-packages/torch/nn/modules/linear.py", "torch/nn/modules/linear.py"),
        ("/data/my runs/problem/step0", "my runs/problem/step0"),
        ("C:\\runs\\a\\b\\model.py", "a/b/model.py"),
        ("examples/model.py", "examples/model.py"),
    ],
)
def test_a_path_is_told_by_what_leads_to_it(path: str, shown: str) -> None:
    assert PATHS.path(path) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/home/me/served/p/dump.json: cut short", "p/dump.json: cut short"),
        ("cannot read '/srv/x/y/z/a.json'; copy it", "cannot read 'y/z/a.json'; copy it"),
        ("x = a / b // c", "x = a / b // c"),
        ("see https://example.org/a/b", "see https://example.org/a/b"),
        ("/home/me/served: no such folder", ".: no such folder"),
        ("and/or a/b/c", "and/or a/b/c"),
        ("/b/home/me/served/c/d/e.py", "c/d/e.py"),
    ],
)
def test_paths_in_sentences(text: str, shown: str) -> None:
    assert PATHS.text(text) == shown


@given(
    st.lists(PARTS, min_size=2, max_size=7), st.sampled_from(["{}: gone", "in '{}'", "({})", "{}"])
)
def test_no_sentence_keeps_an_absolute_path(parts: list[str], sentence: str) -> None:
    path = "/" + "/".join(parts)
    shown = PATHS.text(sentence.format(path))
    assert path not in shown
    assert parts[-1] in shown
