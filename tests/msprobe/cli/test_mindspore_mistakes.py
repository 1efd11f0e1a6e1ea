"""What cannot be used of MindSpore is one line and a code, and costs nothing that was there."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.msprobe.conftest import Run


@pytest.mark.parametrize(
    ("mindspore", "numpy", "words"),
    [
        ("2.7.0", "1.26.4", "needs MindSpore 2.7.1 or later, not 2.7.0"),
        ("2.10.0", "2.4.6", "MindSpore 2.10.0 fails with NumPy 2.4.6 in the middle of a model"),
    ],
)
def test_a_script_with_versions_that_do_not_work_ends_before_it_records(
    tmp_path: Path, mindspore: str, numpy: str, words: str
) -> None:
    installed = f"{{'mindspore': {mindspore!r}, 'numpy': {numpy!r}}}.__getitem__"
    script = (
        f"from importlib import metadata; metadata.version = {installed}; import msprobe.mindspore"
    )
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert words in last and last.endswith("pip install 'mindspore>=2.7.1' 'numpy<2'")


@pytest.mark.parametrize(
    ("ranks", "words"),
    [
        (("--rank-map", "0:9"), "--rank-map 0:9: "),
        (("--rank-map", "9:0"), "--rank-map 9:0: "),
    ],
)
def test_a_rank_that_does_not_exist_is_one_line(
    run: Run, mindspore_dumps: Path, tmp_path: Path, ranks: tuple[str, str], words: str
) -> None:
    dump = mindspore_dumps / "ranks"
    answer = run("graph_visualize", "-tp", dump, "-gp", dump, "-o", tmp_path / "out", *ranks)
    assert (answer.code, answer.err.count("\n")) == (1, 1)
    assert words in answer.err and "has no rank 9" in answer.err
    assert not (tmp_path / "out").exists()


def test_a_folder_of_a_rank_that_does_not_exist_is_one_line(
    run: Run, mindspore_dumps: Path, tmp_path: Path
) -> None:
    there = mindspore_dumps / "ranks" / "step0"
    lost = there / "rank9"
    answer = run("graph_visualize", "-tp", lost, "-gp", there / "rank0", "-o", tmp_path / "out")
    assert (answer.code, answer.err.count("\n")) == (1, 1)
    assert str(lost) in answer.err
    assert not (tmp_path / "out").exists()


def test_a_rank_that_one_side_alone_has_is_said_and_the_others_are_compared(
    run: Run, mindspore_dumps: Path, tmp_path: Path
) -> None:
    shutil.copytree(mindspore_dumps / "ranks", tmp_path / "fewer")
    shutil.rmtree(tmp_path / "fewer" / "step0" / "rank1")
    sides = ("-tp", tmp_path / "fewer", "-gp", mindspore_dumps / "ranks")
    answer = run("graph_visualize", *sides, "-o", tmp_path / "out")
    assert answer.code == 3  # not all that should be was compared
    assert "step 0 rank 1 exists on the benchmark side only" in answer.out
    assert len(list((tmp_path / "out").glob("*.vis.db"))) == 1


def test_a_half_written_array_costs_its_own_value_only(
    run: Run, mindspore_dumps: Path, tmp_path: Path
) -> None:
    shutil.copytree(mindspore_dumps / "tensor" / "mindspore", tmp_path / "torn")
    (file,) = (tmp_path / "torn").rglob("Cell.layers.1.mlp.act.GELU.forward.0.output.0.npy")
    file.write_bytes(file.read_bytes()[:-100])
    sides = ("-tp", tmp_path / "torn", "-gp", mindspore_dumps / "tensor" / "pytorch")
    answer = run("graph_visualize", *sides, "-o", tmp_path / "out")
    assert answer.code == 3
    (said,) = [line for line in answer.out.splitlines() if file.name in line]
    assert said.startswith("note: files of values that cannot be read and are not compared (1)")
    assert "begins: not all that should be was compared" in answer.out, answer.out
    assert "the elements of 1 values, whose tensor files are missing, cannot be read" in answer.out
