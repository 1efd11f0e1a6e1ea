"""Building from the command line: what is said, what is left on disk, how it ends."""

from __future__ import annotations

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.generate import Size, generate
from msprobe.cli.graph_visualize import number_map
from tests.msprobe.conftest import ROOT, Run

Program = Callable[..., subprocess.Popen[str]]


def test_summary_names_pairs_matches_beginning_and_file(
    run: Run, samples: Path, tmp_path: Path
) -> None:
    sides = samples / "ranks"
    answer = run(
        "graph_visualize", "-tp", sides / "problem", "-gp", sides / "bench", "-o", tmp_path
    )
    assert answer.code == 0
    assert "pairs: 4 in mode statistics, 0 failed" in answer.out
    assert re.search(r"nodes: \d+ matched, \d+ only in the problem run, 0 only", answer.out)
    assert "begins: Tensor.__mul__.0.forward (step 0, rank 0)" in answer.out
    (made,) = tmp_path.iterdir()
    assert made.name.startswith("compare_")
    assert f"file: {made}" in answer.out
    assert answer.err.count("\n") == 4, "one plain line per pair where there is no terminal"


def test_single_graph_needs_no_benchmark(run: Run, samples: Path, tmp_path: Path) -> None:
    answer = run("graph_visualize", "--target_path", samples / "nan" / "problem", "-o", tmp_path)
    assert answer.code == 0
    assert "begins" not in answer.out
    (made,) = tmp_path.iterdir()
    assert made.name.startswith("build_")


def test_same_side_twice_begins_nowhere(run: Run, samples: Path, tmp_path: Path) -> None:
    side = samples / "statistics" / "bench"
    answer = run("graph_visualize", "-tp", side, "-gp", side, "-o", tmp_path)
    assert answer.code == 0
    assert "begins: no difference found" in answer.out


def test_layer_mapping_pairs_renamed_layers(run: Run, samples: Path, tmp_path: Path) -> None:
    sides = ("-tp", samples / "renamed" / "problem", "-gp", samples / "statistics" / "bench")
    places = (*sides, "--step-map", "0:0", "-o", tmp_path)
    plain = run("graph_visualize", *places)
    assert "0 only in the problem run" not in plain.out
    mapped = run("graph_visualize", *places, "-lm", samples / "renamed" / "mapping.yaml")
    assert "0 only in the problem run, 0 only in the benchmark run" in mapped.out
    by_position = run("graph_visualize", *places, "-lm")
    assert "0 only in the problem run, 0 only in the benchmark run" in by_position.out


def test_flags_of_former_scripts_are_accepted(run: Run, samples: Path, tmp_path: Path) -> None:
    side = samples / "statistics" / "bench"
    flags = ("-oc", "-fm", "-tensor_log", "-progress_log")
    answer = run("graph_visualize", "-tp", side, "-gp", side, "-o", tmp_path, *flags)
    assert answer.code == 0


def test_unused_mapping_rule_is_named(run: Run, samples: Path, tmp_path: Path) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("NoSuchLayer:\n  a: b\n")
    side = samples / "statistics" / "bench"
    answer = run("graph_visualize", "-tp", side, "-gp", side, "-o", tmp_path, "-lm", rules)
    assert answer.code == 1
    assert str(rules) in answer.err
    assert "NoSuchLayer" in answer.err


def test_nothing_comparable_has_its_own_code(run: Run, samples: Path, tmp_path: Path) -> None:
    side = samples / "structure" / "bench"
    answer = run("graph_visualize", "-tp", side, "-gp", side, "-o", tmp_path)
    assert answer.code == 5
    assert "nothing was compared, so nothing can be said" in answer.out


def test_failing_pair_stops_no_other_and_has_its_own_code(
    run: Run, samples: Path, tmp_path: Path
) -> None:
    problem = tmp_path / "problem"
    shutil.copytree(samples / "ranks" / "problem", problem)
    torn = problem / "step1" / "rank1" / "dump.json"
    torn.chmod(0o644)
    torn.write_text(torn.read_text()[:5000])
    out = tmp_path / "out"
    answer = run("graph_visualize", "-tp", problem, "-gp", samples / "ranks" / "bench", "-o", out)
    assert answer.code == 3
    assert "1 failed" in answer.out
    assert str(torn) in answer.err


@pytest.mark.parametrize("case", ["missing", "file", "empty", "levels", "output"])
def test_each_mistake_is_one_line_that_names_the_path(
    run: Run, samples: Path, tmp_path: Path, case: str
) -> None:
    dump = samples / "statistics" / "bench"
    file, empty = tmp_path / "file", tmp_path / "empty"
    file.write_text("")
    empty.mkdir()
    problem, benchmark, output, named = {
        "missing": (tmp_path / "no where", dump, tmp_path / "out", tmp_path / "no where"),
        "file": (file, dump, tmp_path / "out", file),
        "empty": (dump, empty, tmp_path / "out", empty),
        "levels": (dump, dump / "step0", tmp_path / "out", dump / "step0"),
        "output": (dump, dump, file, file),
    }[case]
    answer = run("graph_visualize", "-tp", problem, "-gp", benchmark, "-o", output)
    assert answer.code == 1
    assert answer.err.count("\n") == 1
    assert str(named) in answer.err
    assert not list(tmp_path.rglob("*.vis.db"))


def test_terminal_gets_a_bar(samples: Path, tmp_path: Path) -> None:
    terminal, inside = pty.openpty()
    side = samples / "statistics"
    command = [sys.executable, "-m", "msprobe", "graph_visualize", "-o", str(tmp_path)]
    places = ["-tp", str(side / "problem"), "-gp", str(side / "bench")]
    subprocess.run(
        [*command, *places], cwd=ROOT, stderr=inside, stdout=subprocess.PIPE, check=True, timeout=60
    )
    os.close(inside)
    shown = os.read(terminal, 65536).decode()
    os.close(terminal)
    assert "\r\x1b[K[###############...............] 1/2" in shown
    assert "[##############################] 2/2" in shown


@pytest.fixture(scope="module")
def long_work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Dumps of both sides that take a while to compare."""
    folder = tmp_path_factory.mktemp("long")
    generate(folder, Size(entries=5_000, ranks=4))
    return folder


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_interrupt_ends_promptly_and_leaves_nothing(
    program: Program, long_work: Path, tmp_path: Path, stop: signal.Signals
) -> None:
    out = tmp_path / "out"
    sides = ("-tp", long_work / "problem", "-gp", long_work / "benchmark")
    process = program("graph_visualize", *sides, "-o", out, "--workers", 2)
    assert process.stderr is not None
    assert process.stderr.readline().startswith("[1/4]")
    process.send_signal(stop)
    _, err = process.communicate(timeout=10)
    assert process.returncode == 130
    assert "interrupted" in err
    assert "Traceback" not in err
    assert list(out.iterdir()) == []


def test_number_map() -> None:
    assert number_map("0:4,1:5") == {0: 4, 1: 5}


@pytest.mark.parametrize("text", ["", "0", "0:1,0:2", "a:b", "0:1:2"])
def test_number_map_refuses(text: str) -> None:
    from argparse import ArgumentTypeError

    with pytest.raises(ArgumentTypeError):
        number_map(text)
