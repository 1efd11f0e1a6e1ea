"""Dumps of one transformer in MindSpore and in PyTorch: a sound pair agrees, a fault is named."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import builder
from builder import BuildOptions, BuildResult
from builder.reasons import FilesBroken, RulesUnfit, TwoFrameworks
from tests.builder.result_rows import rows
from tests.told import facts

Build = Callable[..., BuildResult]
# The labels are int32 in MindSpore; PyTorch's program makes them long itself.
OWN_CALL = "Tensor.long.0.forward"


@pytest.fixture
def build(mindspore_dumps: Path, tmp_path: Path) -> Build:
    def run(problem: str, benchmark: str, **options: object) -> BuildResult:
        chosen = BuildOptions(workers=1, **options)  # type: ignore[arg-type]
        dumps = (mindspore_dumps / problem, mindspore_dumps / benchmark)
        return builder.build(*dumps, tmp_path, chosen)

    return run


def matched_modules(result: BuildResult) -> dict[object, str]:
    query = (
        "SELECT direction, count(match), count(*) FROM node "
        "WHERE kind = 'module' AND graph = 1 GROUP BY direction"
    )
    return {way: f"{matched}/{total}" for way, matched, total in rows(result, query)}


@pytest.mark.parametrize(
    ("problem", "benchmark"),
    [
        ("cross/mindspore", "cross/pytorch"),
        ("cross/pytorch", "cross/mindspore"),
        ("transformer/mint", "cross/pytorch"),
        ("transformer/L0", "cross/pytorch"),
        ("tensor/mindspore", "tensor/pytorch"),
    ],
)
def test_a_sound_pair_of_two_frameworks_agrees(build: Build, problem: str, benchmark: str) -> None:
    result = build(problem, benchmark)
    assert result.findings == ()
    assert matched_modules(result) == {"forward": "27/27", "backward": "46/46"}
    verdicts = rows(result, "SELECT DISTINCT verdict FROM node WHERE verdict IS NOT NULL")
    assert verdicts == [("pass",)]
    assert rows(result, "SELECT count(*) FROM node WHERE score > 0.25") == [(0,)]
    unpaired = (
        "SELECT name FROM node JOIN value ON value.node = node.id WHERE node.graph = 1 "
        "AND match IS NOT NULL AND partner IS NULL AND role LIKE 'parameters%'"
    )
    assert rows(result, unpaired) == []
    if "L0" not in problem:
        lost = "SELECT name FROM node WHERE match IS NULL AND kind = 'api'"
        assert rows(result, lost) == [(OWN_CALL,)]


@pytest.mark.parametrize("other", ["cross/pytorch", "cross/mindspore"])
def test_the_extra_multiplication_is_the_one_finding(build: Build, other: str) -> None:
    result = build("transformer/bug", other)
    assert [finding.name for finding in result.findings] == ["Tensor.__mul__.2.forward"]


def test_a_rule_for_calls_that_fits_none_is_reported(build: Build, tmp_path: Path) -> None:
    rules = tmp_path / "calls.yaml"
    rules.write_text(
        "- {ms_api: MintFunctional.softmax, pt_api: Functional.softmax}\n"
        "- {ms_api: Mint.matmul, pt_api: Torch.nothing}\n"
        "- {ms_api: Mint.nothing, pt_api: Torch.matmul}\n"
    )
    result = build("cross/mindspore", "cross/pytorch", api_mapping=rules)
    names = "Mint.matmul: Torch.nothing, Mint.nothing: Torch.matmul"
    assert RulesUnfit(names, 2) in result.summary
    alone = build("cross/mindspore", "transformer/mint", api_mapping=rules)
    (told,) = [reason for reason in alone.summary if facts(reason)["code"] == "rules_unfit"]
    assert facts(told)["count"] == 3  # between two dumps of one framework no call is renamed


def test_a_tensor_that_is_half_written_is_said_and_costs_nothing_else(
    build: Build, mindspore_dumps: Path, tmp_path: Path
) -> None:
    shutil.copytree(mindspore_dumps / "tensor" / "mindspore", tmp_path / "torn")
    (file,) = (tmp_path / "torn").rglob("Cell.layers.1.mlp.act.GELU.forward.0.output.0.npy")
    file.write_bytes(file.read_bytes()[:-100])
    result = build(str(tmp_path / "torn"), "tensor/pytorch")
    assert FilesBroken(file.name, 1) in result.summary
    assert result.findings == () and result.failed == ()
    assert matched_modules(result) == {"forward": "27/27", "backward": "46/46"}


def test_recomputation_is_no_difference(build: Build) -> None:
    result = build("recompute", "cross/mindspore")
    assert result.findings == ()
    assert matched_modules(result)["forward"] == "27/49"  # 22 of them recomputed
    calls = "SELECT count(match) FROM node WHERE graph = 1 AND kind = 'api' AND direction = "
    assert rows(result, f"{calls} 'forward'") == [(132,)]
    assert not rows(result, "SELECT name FROM node WHERE name LIKE '%ecompute_cell%'")


def test_collectives_of_mint_are_communication(build: Build) -> None:
    result = build("ranks", "ranks")
    assert result.findings == ()
    linked = {name for (name,) in rows(result, "SELECT DISTINCT kind FROM communication")}
    assert linked == {"collective"}


def test_a_layer_is_one_computation_and_the_build_says_so(build: Build) -> None:
    result = build("cross/mindspore", "cross/pytorch")
    told = TwoFrameworks("MindSpore", "PyTorch")
    assert told in result.summary
    found = "SELECT count(*) FROM node WHERE name"
    inside = f"{found} GLOB 'Primitive.*' OR name GLOB 'Functional.linear*'"
    assert rows(result, inside) == [(0,)]
