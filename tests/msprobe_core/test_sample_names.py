"""The sample programs give the names, order, parents and values that users have on their disks.

Where a sample holds a defect of the dumper that wrote it, the test says which and expects more.
"""

from __future__ import annotations

import json
import runpy
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from msprobe_core import PrecisionDebugger
from tests.msprobe_core.conftest import SAMPLES
from tests.msprobe_core.dump_reading import RankDump, read_rank_dump
from tests.msprobe_core.two_ranks import run_two_ranks

RUNS = {
    "statistics/bench": ["statistics", "mix"],
    "statistics/problem": ["statistics", "mix", "--bug"],
    "level-L0/bench": ["statistics", "L0", "--steps", "1"],
    "level-L1/bench": ["statistics", "L1", "--steps", "1"],
    "nan/problem": ["statistics", "mix", "--nan", "--steps", "1"],
    "micro-steps/bench": ["statistics", "mix", "--micro", "2", "--steps", "1"],
    "renamed/problem": ["statistics", "mix", "--rename", "--steps", "1"],
    "extra-api/problem": ["statistics", "mix", "--extra_api", "--steps", "1"],
    "md5/bench": ["statistics", "mix", "--md5", "--steps", "1"],
    "tensor/bench": ["tensor", "mix", "--steps", "1"],
    "structure/bench": ["structure", "mix", "--steps", "1"],
}


def run_program(program: str, out: Path, *arguments: str) -> None:
    """Run a sample program here and now, as `python program out …` would."""
    before, sys.argv = sys.argv, [program, str(out), *arguments]
    try:
        with warnings.catch_warnings():
            # The programs leave a file open and print a loss that requires a gradient.
            warnings.simplefilter("ignore", ResourceWarning)
            warnings.filterwarnings("ignore", message="Converting a tensor with requires_grad")
            runpy.run_path(str(SAMPLES / "programs" / program), run_name="__main__")
    finally:
        sys.argv = before
        if PrecisionDebugger.current is not None:
            PrecisionDebugger.current.close()


def run_ranks(program: str, out: Path, *arguments: str) -> None:
    """Run a sample program in two processes."""
    run_two_ranks(SAMPLES / "programs" / program, str(out), *arguments)


def only_dump(step: Path) -> RankDump:
    (path,) = step.iterdir()
    return read_rank_dump(path)


def differences(ours: Any, theirs: Any, path: str = "") -> list[str]:
    """Where two records differ, numbers by more than 1e-5 of their size."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        # Checksums and bit patterns depend on the processor; file names follow the first use; the
        # rest are members that only this dumper writes.
        skipped = {"md5", "data_name", "nan_count", "inf_count", "sketch", "source", "unwritten"}
        skipped |= {"through"}
        keys = [key for key in {**ours, **theirs} if key not in skipped]
        return [
            d
            for k in keys
            for d in differences(ours.get(k, "–"), theirs.get(k, "–"), f"{path}.{k}")
        ]
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [
            d for n, pair in enumerate(zip(ours, theirs)) for d in differences(*pair, f"{path}.{n}")
        ]
    if ours == theirs or (ours != ours and theirs != theirs):  # noqa: PLR0124 - NaN
        return []
    if isinstance(ours, float) and isinstance(theirs, float):
        near = abs(ours - theirs) <= 1e-5 * max(abs(ours), abs(theirs))
        tiny_mean = path.endswith("Mean") and abs(ours - theirs) < 1e-7
        if near or tiny_mean:
            return []
    return [f"{path}: {ours} / {theirs}"]


def right_parents(construct: dict[str, Any]) -> dict[str, Any]:
    """A sample's parents with its known defect mended.

    It closes a module without input gradients when their first gradient arrives, before what ran
    inside it: the backward of such a module and its calls lose their parent.
    """
    fixed = dict(construct)
    for name in construct:
        if name.startswith("Functional.embedding") and name.endswith(".backward"):
            number = name.split(".")[2]
            fixed[name] = f"Module.emb.Embedding.backward.{number}"
    return fixed


@pytest.mark.parametrize("sample", RUNS)
def test_names_order_parents_and_values(sample: str, tmp_path: Path) -> None:
    run_program("model.py", tmp_path, *RUNS[sample])
    for step in sorted((SAMPLES / "msprobe-26.2.0" / sample).glob("step*")):
        theirs, ours = only_dump(step), only_dump(tmp_path / step.name)
        assert ours.names == theirs.names
        assert {k: ours.head[k] for k in ("task", "level", "framework")} == {
            k: theirs.head[k] for k in ("task", "level", "framework")
        }
        assert list(ours.construct.items()) == list(right_parents(theirs.construct).items())
        assert differences(ours.data, theirs.data) == []
        # A call without values has a place in the program all the same; theirs says none.
        calls = {n for n in ours.construct if n.endswith(".forward") and "Module." not in n}
        without_values = calls - ours.data.keys()
        if (passing := ours.path / "flow.json").exists():  # at levels that follow calls
            without_values |= json.loads(passing.read_text(encoding="utf-8")).keys()
        assert {n for names, _ in ours.stack.values() for n in names} == without_values | {
            n for names, _ in theirs.stack.values() for n in names
        }


def test_stacks_name_the_same_lines(tmp_path: Path) -> None:
    run_program("model.py", tmp_path, *RUNS["level-L1/bench"])
    ours = only_dump(tmp_path / "step0")
    theirs = only_dump(SAMPLES / "msprobe-26.2.0" / "level-L1" / "bench" / "step0")
    for entry in (
        "Functional.linear.0.forward",
        "Tensor.__add__.1.forward",
        "Tensor.add_.0.forward",
    ):
        left, right = ours.stack_of(entry)[0], theirs.stack_of(entry)[0]
        assert left.split(", ")[1:] == right.split(", ")[1:]


def test_checksums_of_inputs_are_the_same(tmp_path: Path) -> None:
    run_program("model.py", tmp_path, *RUNS["md5/bench"])
    ours = only_dump(tmp_path / "step0").data["Module.emb.Embedding.forward.0"]
    (step,) = (SAMPLES / "msprobe-26.2.0" / "md5" / "bench").glob("step0")
    theirs = only_dump(step).data["Module.emb.Embedding.forward.0"]
    assert ours["parameters"]["weight"]["md5"] == theirs["parameters"]["weight"]["md5"]
    assert ours["input_args"][0]["md5"] == theirs["input_args"][0]["md5"]


def test_attributes_called_input_and_output(tmp_path: Path) -> None:
    run_program("bert_names.py", tmp_path, "1")
    theirs = only_dump(SAMPLES / "msprobe-26.2.0" / "bert-names" / "bench" / "step0")
    ours = only_dump(tmp_path / "step0")
    assert ours.names == theirs.names
    assert list(ours.construct) == list(theirs.construct)
    # The sample loses the parents of what runs inside a module without input gradients.
    wrong = {k for k in theirs.construct if ours.construct[k] != theirs.construct[k]}
    assert wrong == {"Module.input.dense.Linear.backward.0", "Functional.linear.0.backward"}
    assert ours.construct["Module.input.dense.Linear.backward.0"] == "Module.input.Sub.backward.0"
    # The sample gives the norm of a 0-d tensor its sign.
    assert differences(ours.data, theirs.data) == [
        ".Tensor.sum.0.forward.output.0.Norm: 6.794710159301758 / -6.794710159301758"
    ]


def test_recomputed_calls_are_all_there_and_marked(tmp_path: Path) -> None:
    run_program("model.py", tmp_path, "statistics", "mix", "--recompute", "--steps", "1")
    theirs = only_dump(SAMPLES / "msprobe-26.2.0" / "recompute" / "problem" / "step0")
    ours = only_dump(tmp_path / "step0")
    known = set(theirs.names)
    assert [name for name in ours.names if name in known] == theirs.names
    # The sample has the calls of the first recomputed block only, and stops before the optimizer.
    added = [name for name in ours.names if name not in known]
    assert sum(name.startswith("Tensor.add_") for name in added) == 29
    assert "Functional.layer_norm.6.forward" in added
    marked = ours.head["recomputed"]
    assert "Module.layers.1.Block.forward.1" in marked
    assert not any(name.endswith(".backward") for name in marked)
    # The sample hangs a recomputed block below the backward that happened to run.
    assert theirs.construct["Module.layers.1.Block.forward.1"].endswith("backward.0")
    assert ours.construct["Module.layers.1.Block.forward.1"] is None


def test_ranks_and_collectives(tmp_path: Path) -> None:
    run_ranks("model.py", tmp_path, "statistics", "mix", "--steps", "1")
    for rank in ("rank0", "rank1"):
        theirs = read_rank_dump(SAMPLES / "msprobe-26.2.0" / "ranks" / "bench" / "step0" / rank)
        ours = read_rank_dump(tmp_path / "step0" / rank)
        assert ours.names == theirs.names
        assert ours.construct == right_parents(theirs.construct)
        assert differences(ours.data, theirs.data) == []


def test_groups_and_batches_of_communication(tmp_path: Path) -> None:
    run_ranks("communication.py", tmp_path)
    for rank in ("rank0", "rank1"):
        sample = SAMPLES / "msprobe-26.2.0" / "communication" / "bench" / "step0" / rank
        theirs, ours = read_rank_dump(sample), read_rank_dump(tmp_path / "step0" / rank)
        assert ours.names == theirs.names
        batch = "Distributed.batch_isend_irecv.0.forward"
        # The sample reads the receive buffer before the message is there.
        assert {
            d.split(":")[0].rpartition(".")[0] for d in differences(ours.data, theirs.data)
        } <= {f".{batch}.output.0.1.tensor"}
        received = ours.data[batch]["output"][0][1]["tensor"]
        assert received["Max"] == 1.0 - float(rank[-1])
