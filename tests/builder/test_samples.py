"""Every sample dump is built, and what its README says is wrong with it is what is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import builder
from builder import BuildOptions, BuildResult
from builder.reasons import NothingComparable, OnlyIn, UnlikeStatistics
from tests.builder.result_rows import rows

Build = Callable[..., BuildResult]
EXTRA_CALL = ("Tensor.__mul__.0.forward", "Module.layers.1.mlp.MLP.forward.0")


@pytest.fixture
def build(samples: Path, tmp_path: Path) -> Build:
    def run(problem: str, benchmark: str | None = None, **options: object) -> BuildResult:
        theirs = samples / benchmark if benchmark is not None else None
        chosen = BuildOptions(workers=1, **options)  # type: ignore[arg-type]
        return builder.build(samples / problem, theirs, tmp_path, chosen)

    return run


@pytest.mark.parametrize("sample", ["statistics", "ranks", "tensor", "md5"])
def test_the_extra_multiplication_is_the_first_finding(build: Build, sample: str) -> None:
    result = build(f"{sample}/problem", f"{sample}/bench")
    assert result.failed == ()
    assert result.findings[0].name in EXTRA_CALL
    assert result.findings[0].step == 0
    assert all(finding.name in EXTRA_CALL for finding in result.findings)


def test_modules_alone_lead_to_the_module_after_the_fault(build: Build) -> None:
    result = build("level-L0/problem", "level-L0/bench")
    assert result.findings[0].name == "Module.layers.1.mlp.fc2.Linear.forward.0"
    assert result.outcomes[0].unmatched_problem == 0


def test_nan_begins_at_the_logarithm(build: Build) -> None:
    result = build("nan/problem", "statistics/bench", overflow_check=True)
    assert [finding.name for finding in result.findings] == ["Torch.log.0.forward"]
    assert result.findings[0].kind == "non_finite"
    (level,) = rows(result, "SELECT overflow FROM node WHERE name = 'Torch.log.0.forward'")
    assert level == ("critical",)


@pytest.mark.parametrize(
    "sample", ["statistics", "ranks", "tensor", "md5", "level-L0", "level-L1", "communication"]
)
def test_a_dump_against_itself_has_no_finding(build: Build, sample: str) -> None:
    result = build(f"{sample}/bench", f"{sample}/bench")
    assert result.findings == ()
    assert all(outcome.unmatched_problem == 0 for outcome in result.outcomes)
    assert rows(result, "SELECT count(*) FROM node WHERE score > 0") == [(0,)]
    assert rows(result, "SELECT DISTINCT verdict FROM node WHERE verdict IS NOT NULL") == [
        ("pass",)
    ]
    assert result.compared_values > 0


def test_structure_has_nothing_to_compare_and_says_so(build: Build) -> None:
    result = build("structure/bench", "structure/bench")
    assert NothingComparable() in result.summary
    assert result.mode == "structure"
    assert rows(result, "SELECT count(*) FROM node WHERE score IS NOT NULL") == [(0,)]


def test_structure_matches_a_full_dump(build: Build) -> None:
    result = build("structure/bench", "statistics/bench")
    assert result.outcomes[0].unmatched_problem == 0


def test_second_micro_step_is_told_apart(build: Build) -> None:
    result = build("micro-steps/bench")
    assert rows(result, "SELECT micro_steps FROM graph") == [(2,)]
    counted = dict(rows(result, "SELECT micro_step, count(*) FROM node GROUP BY micro_step"))
    assert counted[0] > 100 and counted[1] > 100


def test_recomputed_calls_are_marked_and_stand_under_their_module(build: Build) -> None:
    result = build("recompute/problem", "statistics/bench")
    recomputed = rows(
        result,
        "SELECT child.name, parent.name, child.match_reason FROM node child "
        "JOIN node parent ON parent.id = child.parent "
        "WHERE child.recomputed AND NOT parent.recomputed",
    )
    assert recomputed == [
        (
            "Module.layers.1.Block.forward.1",
            "Module.layers.1.Block.backward.0",
            "recomputed",
        ),
        (
            "Module.layers.0.Block.forward.1",
            "Module.layers.0.Block.backward.0",
            "recomputed",
        ),
    ]
    assert result.findings == ()


def test_recomputed_calls_match_each_other(build: Build) -> None:
    result = build("recompute/problem", "recompute/problem")
    assert result.outcomes[0].unmatched_problem == 0


def test_renamed_modules_match_with_the_mapping(build: Build, samples: Path) -> None:
    mapping = samples / "renamed" / "mapping.yaml"
    result = build("renamed/problem", "statistics/bench", layer_mapping=mapping)
    assert result.outcomes[0].unmatched_problem == 0
    assert result.outcomes[0].unmatched_benchmark == 0
    assert result.findings == ()


def test_renamed_modules_match_by_guess_with_its_score(build: Build) -> None:
    result = build("renamed/problem", "statistics/bench", fuzzy_match=True)
    assert result.outcomes[0].unmatched_problem == 0
    reasons = rows(result, "SELECT reasons FROM node WHERE name LIKE 'Module.layers.0.ffn.MLP.f%'")
    assert '"fuzzy_guess"' in str(reasons[0][0])


def test_renamed_modules_without_help_say_what_they_may_be(build: Build) -> None:
    result = build("renamed/problem", "statistics/bench")
    assert result.outcomes[0].unmatched_problem == 28
    name = "Module.layers.0.ffn.MLP.forward.0"
    why = rows(result, "SELECT match_reason FROM node WHERE name = ?", name)
    assert why == [("renamed:Module.layers.0.mlp.MLP.forward.0",)]


def test_two_extra_calls_leave_only_themselves_unmatched(build: Build) -> None:
    result = build("extra-api/problem", "statistics/bench")
    outcome = result.outcomes[0]
    assert (outcome.unmatched_problem, outcome.unmatched_benchmark) == (4, 0)
    assert result.findings == ()
    unmatched = rows(result, "SELECT name FROM node WHERE match_reason = 'absent' ORDER BY name")
    assert unmatched == [
        ("Tensor.transpose.2.backward",),
        ("Tensor.transpose.2.forward",),
        ("Tensor.transpose.3.backward",),
        ("Tensor.transpose.3.forward",),
    ]


def test_attributes_called_input_and_output_are_modules(build: Build) -> None:
    result = build("bert-names/problem", "bert-names/bench")
    assert result.outcomes[0].unmatched_problem == 0
    assert result.findings[0].name == "Tensor.__mul__.0.forward"
    assert result.findings[0].kind == "argument_differs"
    assert len(result.findings) == 1


def test_calls_alone_make_a_flat_graph_and_match_a_full_dump(build: Build) -> None:
    result = build("level-L1/bench", "statistics/bench")
    outcome = result.outcomes[0]
    assert outcome.unmatched_problem == 0
    assert result.findings == ()


def test_a_tensor_dump_against_statistics_uses_what_both_have(build: Build) -> None:
    result = build("tensor/problem", "statistics/bench")
    assert result.mode == "statistics"
    assert UnlikeStatistics("tensor", "statistics") in result.summary
    assert result.findings[0].name in EXTRA_CALL


@pytest.mark.parametrize("step", [0, 1])
def test_step_and_rank_folders_keep_their_numbers(build: Build, step: int) -> None:
    result = build(f"ranks/problem/step{step}", f"ranks/bench/step{step}")
    assert [(o.step, o.rank) for o in result.outcomes] == [(step, 0), (step, 1)]
    result = build(f"ranks/problem/step{step}/rank1", f"ranks/bench/step{step}/rank1")
    assert [(o.step, o.rank) for o in result.outcomes] == [(step, 1)]


def test_steps_of_one_side_only_are_listed(build: Build) -> None:
    result = build("tensor/problem", "statistics/bench")
    assert OnlyIn(1, 0, "benchmark") in result.summary
    (row,) = rows(result, "SELECT step, rank, side, status FROM graph WHERE status = 'missing'")
    assert row == (1, 0, "problem", "missing")


def test_every_sample_draws_as_a_single_graph(samples: Path, tmp_path: Path) -> None:
    sides = [side for name in samples.iterdir() for side in name.iterdir() if side.is_dir()]
    assert len(sides) == 24
    for side in sides:
        result = builder.build(side, None, tmp_path, BuildOptions(workers=1, overflow_check=True))
        assert result.failed == ()
        (count,) = rows(result, "SELECT count(*) FROM node WHERE kind != 'root'")[0]
        assert isinstance(count, int) and count > 10
