"""The harness of real releases: what counts as right, and that programs run as they are named."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder.results.report import Suspect
from evaluation.upstream.__main__ import Judged, table
from evaluation.upstream.cases import BUGS, SOUND, Release
from evaluation.upstream.programs import KINDS, program_of
from evaluation.upstream.truth import changed, is_where_they_differ

OLD = '''
class Mean:
    def step(self, x):
        """Half of it."""
        return x / 2

    def other(self, x):
        return x
'''


@pytest.fixture
def folders(tmp_path: Path) -> tuple[Path, Path]:
    new = OLD.replace("Half of it", "Said otherwise").replace("return x\n", "return x + 1\n")
    folders = tmp_path / "package-1", tmp_path / "package-2"
    for folder, text in zip(folders, (OLD, new)):
        (folder / "package").mkdir(parents=True)
        (folder / "package" / "mean.py").write_text(text)
    return folders


@pytest.mark.parametrize(("line", "right"), [(5, False), (8, True)])
def test_a_function_is_changed_by_its_statements_alone(
    folders: tuple[Path, Path], line: int, right: bool
) -> None:
    here, there = (folder / "package" / "mean.py" for folder in folders)
    assert changed(here, there, line) is right
    assert changed(here, folders[1] / "package" / "gone.py", line)


@pytest.mark.parametrize(("line", "right"), [(5, False), (8, True)])
def test_the_innermost_frame_of_the_package_tells(
    folders: tuple[Path, Path], line: int, right: bool
) -> None:
    stack = (
        "File /torch/nn/modules/module.py, line 1, in _call_impl, \n return forward()\n"
        f"File {folders[0]}/package/mean.py, line {line}, in step, \n return x\n"
        f"File {folders[0]}/package/mean.py, line 8, in other, \n return x\n"
    )
    assert is_where_they_differ(stack, "package", folders) is right
    assert not is_where_they_differ("File /a.py, line 1, in run, \n x\n", "package", folders)
    assert not is_where_they_differ(None, "package", folders)
    # A call that one run alone makes may be made in a helper, by the function that was changed.
    assert is_where_they_differ(stack, "package", folders, is_alone=True)


def test_every_pair_names_a_program_and_two_releases() -> None:
    assert len({case.title for case in (*BUGS, *SOUND)}) == len(BUGS) + len(SOUND)
    for case in (*BUGS, *SOUND):
        assert case.program.split(":")[0] in KINDS and case.problem != case.benchmark
    assert all(case.mended for case in BUGS) and not any(case.mended for case in SOUND)


def test_settings_of_a_program_are_numbers_and_words(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, object] = {}
    monkeypatch.setitem(KINDS, "kind", lambda called, **settings: given.update(settings, n=called))
    program_of("kind:Name:a=3:b=0.5:c=True:d=word")
    assert given == {"a": 3, "b": 0.5, "c": True, "d": "word", "n": "Name"}


def test_the_table_counts_by_package() -> None:
    bug, sound = Release("p", "1", "2", "k:B", "a bug"), Release("p", "1", "2", "k:S")
    healed = Judged(sound, (suspect(heals=True),))
    judged = [Judged(bug, place=1), Judged(bug, place=2), Judged(bug), Judged(sound), healed]
    assert "| p | 1 of 3 | 2 of 3 | 2 of 2 |" in table([*judged, Judged(bug, error="x")])
    alarm = Judged(sound, (suspect(heals=False), suspect(heals=True)))
    assert "| p | 0 of 0 | 0 of 0 | 1 of 2 |" in table([alarm, healed])


def suspect(*, heals: bool) -> Suspect:
    return Suspect(
        step=0,
        rank=0,
        node="Torch.mm.0.forward",
        type="api",
        direction="forward",
        order=0,
        score=1.0,
        input_score=None,
        introduced=None,
        reasons=[],
        propagated_to=0,
        perhaps=0,
        divergent=0,
        kind="introduced",
        side="problem",
        inside=None,
        stack=None,
        places=[],
        path="mm",
        heals=heals,
    )
