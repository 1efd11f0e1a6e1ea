"""Builds the databases that the browser journeys open, from the sample dumps.

`python -m tests.e2e.databases LOGDIR EMPTY BUILDING RENAMING` writes them below LOGDIR, and
dumps that wait to be built into the others.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path

import builder
from builder.work.options import BuildOptions
from evaluation.rollout.pairs import PAIRS
from evaluation.rollout.suite import answers
from tests.builder.diagnosis.test_healing import recorded, scaled_before, scaled_behind
from tests.builder.results.test_shared_weights import program
from tests.builder.run.units.runs import layout
from tests.tb_graph_ascend.view.ports import LAYERS, port

SAMPLES = Path(__file__).resolve().parents[1] / "samples" / "msprobe-26.2.0"
PLAIN = BuildOptions(workers=1, same="program")
MANY_STEPS = 30
OVERFLOW = BuildOptions(workers=1, overflow_check=True)


def main(logdir: Path, empty: Path, building: Path, renaming: Path) -> None:
    """Build one folder per case."""
    for folder in (empty, building):
        shutil.copytree(SAMPLES / "statistics", folder / "dumps")
    shutil.copytree(SAMPLES / "renamed" / "problem", renaming / "dumps" / "problem")
    shutil.copytree(SAMPLES / "statistics" / "bench", renaming / "dumps" / "bench")
    repeat_steps(building / "dumps", building / "long", MANY_STEPS)
    hold(building / "dumps", building / "held")
    bench = SAMPLES / "statistics" / "bench"
    for name in ("statistics", "ranks", "tensor", "md5"):
        build(logdir / name, SAMPLES / name / "problem", SAMPLES / name / "bench")
    build(logdir / "nan", SAMPLES / "nan" / "problem", bench, OVERFLOW)
    build(logdir / "renamed", SAMPLES / "renamed" / "problem", bench)
    build(logdir / "mapping", SAMPLES / "renamed" / "problem", bench)
    build(logdir / "shared", SAMPLES / "renamed" / "problem", bench)
    build(logdir / "dragged", SAMPLES / "renamed" / "problem", bench)
    build(logdir / "single", SAMPLES / "communication" / "bench", None)
    build_partly(logdir / "failed")
    copy_foreign(logdir / "foreign")
    build_joined(logdir / "joined")
    build_scaled(logdir / "scaled")
    build_two_causes(logdir / "causes")
    ported = port(SAMPLES / "statistics" / "problem", logdir / "ported" / "dump", LAYERS)
    build(logdir / "ported", ported, bench)
    programs = [program(logdir / "programs" / "dumps" / name, name) for name in ("a", "b")]
    build(logdir / "programs", *programs, BuildOptions(workers=1))
    build_tokens(logdir / "tokens")
    build_healing(logdir / "heals")
    build(logdir / "micro", SAMPLES / "micro-steps" / "bench", SAMPLES / "micro-steps" / "bench")


def build_healing(folder: Path) -> None:
    """Build a comparison of two ways to one result."""
    ways = {"problem": scaled_before, "benchmark": scaled_behind}
    runs = [recorded(folder / "dumps" / side, way) for side, way in ways.items()]
    build(folder, *runs, BuildOptions(workers=1))


def build_tokens(folder: Path) -> None:
    """A trainer beside an engine that writes to a wrong place of its cache once it decodes."""
    pair = next(each for each in PAIRS if each.name == "packed-chunked")
    with tempfile.TemporaryDirectory() as made:
        list(answers(pair, ("cache overwritten",), Path(made)))
        folder.mkdir(parents=True)
        (result,) = Path(made).rglob("*.vis.db")
        shutil.move(result, folder / f"{folder.name}.vis.db")


def repeat_steps(dumps: Path, folder: Path, count: int) -> None:
    """Dumps of many steps, so that a build takes long enough to be watched and cancelled."""
    for side in ("problem", "bench"):
        for step in range(count):
            shutil.copytree(dumps / side / "step0", folder / side / f"step{step}")


def hold(dumps: Path, folder: Path) -> None:
    """One pair whose problem is held open: reading lasts until a journey lets it go."""
    for side in ("problem", "bench"):
        only = next((dumps / side / "step0").iterdir())
        shutil.copytree(only, folder / side / "step0" / "rank0")
    (folder / "problem" / "step0" / "rank0" / "stack.json.held").touch()


def build_partly(folder: Path) -> None:
    """Build a comparison in which one rank of one step cannot be read."""
    problem = folder / "problem"
    shutil.copytree(SAMPLES / "ranks" / "problem", problem)
    dump = problem / "step1" / "rank1" / "dump.json"
    dump.write_text(dump.read_text()[:4000])
    build(folder, problem, SAMPLES / "ranks" / "bench")


def copy_foreign(folder: Path) -> None:
    """Lay down a result file that msprobe's own builder wrote."""
    folder.mkdir(parents=True)
    shutil.copy(SAMPLES / "vis-db" / "ranks.vis.db", folder / "foreign.vis.db")


def build_joined(folder: Path) -> None:
    """Build a comparison of two tensor-parallel ranks, one of them wrong, with a single one."""
    problem = layout(folder / "dumps" / "problem", 2, fault=True)
    build(folder, problem, layout(folder / "dumps" / "benchmark", 1))


def build_scaled(folder: Path) -> None:
    """Build a comparison in which a call is given half the factor that it should be given."""
    factors = {"problem": 0.08838834764831845, "benchmark": 0.1767766952966369}
    for side, factor in factors.items():
        dump = folder / "dumps" / side / "step0"
        shutil.copytree(SAMPLES / "statistics" / "problem" / "step0", dump)
        (file,) = dump.glob("*/dump.json")
        recorded = json.loads(file.read_text())
        call = recorded["data"]["Tensor.__mul__.0.forward"]
        call["input_args"][1]["value"] = factor
        for name in ("Max", "Min", "Mean", "Norm"):
            call["output"][0][name] *= factor
        file.write_text(json.dumps(recorded))
    build(folder, folder / "dumps" / "problem", folder / "dumps" / "benchmark")


def build_two_causes(folder: Path) -> None:
    """Build a comparison in which each of two ranks has a fault of its own."""
    problem = folder / "dumps" / "problem"
    shutil.copytree(SAMPLES / "ranks" / "bench", problem)
    for rank, name in enumerate(("Functional.gelu.0.forward", "Functional.layer_norm.1.forward")):
        file = problem / "step0" / f"rank{rank}" / "dump.json"
        recorded = json.loads(file.read_text())
        for number in ("Max", "Min", "Mean", "Norm"):
            recorded["data"][name]["output"][0][number] *= 3
        file.write_text(json.dumps(recorded))
    build(folder, problem, SAMPLES / "ranks" / "bench")


def build(
    folder: Path, problem: Path, benchmark: Path | None, options: BuildOptions = PLAIN
) -> None:
    """Build one database and give it the folder's name."""
    result = builder.build(problem, benchmark, folder, options)
    result.path.rename(folder / f"{folder.name}.vis.db")


if __name__ == "__main__":
    main(*(Path(argument) for argument in sys.argv[1:5]))
