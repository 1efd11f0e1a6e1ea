"""Static graphs of MindSpore as it dumps them itself: read as scopes, compared, diagnosed."""

from __future__ import annotations

import shutil
import tarfile
from pathlib import Path

import numpy as np
import pytest

import builder
from builder import BuildOptions
from builder.dump.inspection.inspect_dump import inspect_dump
from builder.dump.reader import Dump, read_dump
from builder.dump.sources import find_sources
from builder.errors import DumpError
from builder.reasons import FilesBroken

ARCHIVE = Path(__file__).resolve().parents[2] / "samples" / "mindspore-2.10" / "graph.tar.xz"
# What the program has in its Mlp, in the order of a call.
FORWARD = [
    "Primitive.norm.LayerNorm.0.forward",
    "Primitive.fc1.MatMul.0.forward",
    "Primitive.fc1.BiasAdd.0.forward",
    "Primitive.act.ReLU.0.forward",
    "Primitive.fc2.MatMul.0.forward",
    "Primitive.fc2.BiasAdd.0.forward",
    "Primitive._backbone.Add.0.forward",
    "Primitive._backbone.Mul.0.forward",
    "Primitive.head.MatMul.0.forward",
    "Primitive.head.BiasAdd.0.forward",
    "Primitive._loss_fn.SparseSoftmaxCrossEntropyWithLogits.0.forward",
]


@pytest.fixture(scope="module")
def graphs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("graphs")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(target, filter="data")
    return target / "graph"


def iteration(graphs: Path, run: str) -> Path:
    return graphs / run / "rank_0" / "Net" / "0" / "0"


def test_kernels_stand_in_the_tree_of_their_scopes(graphs: Path) -> None:
    dump = read_dump(iteration(graphs, "sound"))
    assert list(dump.ranges)[: len(FORWARD)] == FORWARD
    assert ways_up(dump, "Primitive.fc1.MatMul.0.forward") == [
        "Cell.Default.network._backbone.mlp.fc1.Dense.forward.0",
        "Cell.Default.network._backbone.mlp.Mlp.forward.0",
        "Cell.Default.network._backbone.Net.forward.0",
        "Cell.Default.network.WithLossCell.forward.0",
        "Cell.Default.Scope.forward.0",
    ]
    # What the compiler has written out of `x * 0.25` stands where its input was made.
    above = dump.parents["Primitive._backbone.Mul.0.forward"]
    assert above == "Cell.Default.network._backbone.Net.forward.0"


def ways_up(dump: Dump, name: str) -> list[str]:
    above = dump.parents[name]
    return [] if above is None else [above, *ways_up(dump, above)]


def test_the_optimizer_stands_behind_the_gradients(graphs: Path) -> None:
    order = list(read_dump(iteration(graphs, "sound")).ranges)
    gradients = [at for at, name in enumerate(order) if ".Grad_" in name]
    updates = [at for at, name in enumerate(order) if "ApplyMomentum" in name]
    assert len(updates) == 8
    assert len(FORWARD) <= min(gradients) <= max(gradients) < min(updates)


def test_values_are_those_of_the_files(graphs: Path) -> None:
    dump = read_dump(iteration(graphs, "sound"))
    assert (dump.task, dump.level, dump.framework) == ("tensor", "L2", "mindspore")
    start, stop = dump.ranges["Primitive.fc1.MatMul.0.forward"]
    keys = dump.values.keys[start:stop]
    assert keys == ["input.0", "input.1", "input.2", "input.3", "output.0"]
    flag, product = dump.values.records[stop - 2], dump.values.records[stop - 1]
    assert (flag.type, flag.value) == ("bool", True)  # transpose_b
    read = [dump.values.records[start + at] for at in (0, 1)]
    x, w = (np.load(str(dump.tensor_finder()(r.data_name or ""))).astype(float) for r in read)
    assert product.shape == (4, 16)
    assert product.Norm == pytest.approx(np.linalg.norm(x @ w.T), rel=1e-6)


def test_a_stack_ends_at_the_users_line(graphs: Path) -> None:
    dump = read_dump(iteration(graphs, "sound"))
    stack = dump.frames[dump.stacks["Primitive.fc2.MatMul.0.forward"]].split("\n")
    assert stack[0].endswith("/mlp-Mlp/fc2-Dense/MatMul-op0")
    own = [frame for frame in stack if "graph_net.py" in frame]
    assert own[0].endswith("in construct, return self.fc2(x)")


@pytest.mark.parametrize(
    ("run", "named"),
    [
        ("sound", []),
        ("multiply", ["Primitive.act.Mul.0.forward"]),
        ("scale", ["Primitive._backbone.Mul.0.forward"]),
        ("weight", ["Primitive.fc2.MatMul.0.forward"]),
    ],
)
def test_a_fault_is_the_one_finding(
    graphs: Path, tmp_path: Path, run: str, named: list[str]
) -> None:
    result = builder.build(graphs / run, graphs / "sound", tmp_path, BuildOptions(workers=1))
    assert [finding.name for finding in result.findings] == named
    (outcome,) = result.outcomes
    assert (outcome.mode, outcome.matched, outcome.unmatched_benchmark) == ("tensor", 84, 0)


def test_what_mindstudio_probe_had_dumped_is_read_and_its_fault_named(
    graphs: Path, tmp_path: Path
) -> None:
    recorded, wrong = graphs / "recorded", tmp_path / "wrong"
    shutil.copytree(recorded, wrong)
    (file,) = wrong.rglob("BiasAdd.Default_BiasAdd-op1.*.output.0.*.npy")
    np.save(file, np.load(file) * np.float32(1.01))
    same = builder.build(recorded, recorded, tmp_path / "a", BuildOptions(workers=1))
    assert same.findings == ()
    result = builder.build(wrong, recorded, tmp_path / "b", BuildOptions(workers=1))
    assert [finding.name for finding in result.findings] == ["Primitive.Default.BiasAdd.1.forward"]


@pytest.mark.parametrize("left", [-40, 60])  # torn off in its data, and in its head
def test_a_file_that_is_half_written_is_said_and_costs_nothing_else(
    graphs: Path, tmp_path: Path, left: int
) -> None:
    torn = tmp_path / "torn"
    shutil.copytree(graphs / "sound", torn)
    (file,) = torn.rglob("ReLU*ReLU-op0.*.output.0.*.npy")
    file.write_bytes(file.read_bytes()[:left])
    (rank,) = inspect_dump(torn).ranks
    assert rank.problems == (f"1 of 177 files cannot be read, first {file.name}",)
    result = builder.build(torn, graphs / "sound", tmp_path / "o", BuildOptions(workers=1))
    (outcome,) = result.outcomes
    assert (outcome.error, outcome.matched) == (None, 84)
    assert result.findings == ()
    assert FilesBroken(file.name, 1) in result.summary


@pytest.mark.parametrize("below", [".", "rank_0", "rank_0/Net", "rank_0/Net/0", "rank_0/Net/0/0"])
def test_any_folder_above_an_iteration_may_be_given(graphs: Path, below: str) -> None:
    found = find_sources(graphs / "sound" / below)
    assert [(source.step, source.rank) for source in found.sources] == [(0, 0)]


def test_a_folder_without_any_dump_is_refused(tmp_path: Path) -> None:
    (tmp_path / "rank_0" / "Net" / "0" / "0").mkdir(parents=True)
    with pytest.raises(DumpError, match="no dump in it"):
        find_sources(tmp_path)
