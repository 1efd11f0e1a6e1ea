"""The documented rules, each with a dump in which it alone applies."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder.compare.comparison import compare
from builder.compare.score import Tolerance
from builder.dump.reader import read_dump
from builder.judge.verdict import Judgement, judge
from builder.match.nodes import match_trees
from builder.match.tree import Tree, build_tree
from tests.builder.dumps import Json, forward, tensor, write_dump
from tests.told import facts

CALL = "Torch.mm.0.forward"


def judged(tmp_path: Path, ours: Json, theirs: Json, call: str = CALL) -> Judgement:
    def make(side: str, entry: Json) -> Tree:
        return build_tree(read_dump(write_dump(tmp_path / side, {call: entry}, {call: None})))

    matching = match_trees(make("p", ours), make("b", theirs))
    return judge(compare(matching, Tolerance()))[0]


def codes(judgement: Judgement) -> list[object]:
    return [facts(reason)["code"] for reason in judgement.reasons]


def test_equal_sides_pass(tmp_path: Path) -> None:
    entry = forward([tensor()], [tensor()])
    assert judged(tmp_path, entry, entry) == Judgement("pass", [])


@pytest.mark.parametrize(("token", "state"), [("nan", "NaN"), ("inf", "Inf"), ("-inf", "-Inf")])
def test_nonfinite_on_the_problem_side_is_an_error_with_its_sign(
    tmp_path: Path, token: str, state: str
) -> None:
    ours = forward([tensor()], [tensor(Max=token)])
    found = judged(tmp_path, ours, forward([tensor()], [tensor()]))
    assert found.verdict == "error"
    assert state in [
        facts(r)["state"] for r in found.reasons if facts(r)["code"] == "nonfinite_here"
    ]


def test_nonfinite_on_both_sides_is_no_error(tmp_path: Path) -> None:
    entry = forward([tensor()], [tensor(Max="nan", Min="nan", Mean="nan", Norm="nan")])
    assert judged(tmp_path, entry, entry).verdict == "pass"


def test_a_norm_that_leaps_from_agreeing_inputs_is_an_error(tmp_path: Path) -> None:
    ours = forward([tensor()], [tensor(4.0)])
    found = judged(tmp_path, ours, forward([tensor()], [tensor(2.0)]))
    assert (found.verdict, codes(found)) == ("error", ["norm_error_appears"])


def test_a_norm_error_ten_times_the_inputs_is_a_warning(tmp_path: Path) -> None:
    ours = forward([tensor(2.002)], [tensor(2.2)])
    found = judged(tmp_path, ours, forward([tensor()], [tensor()]))
    assert (found.verdict, codes(found)) == ("warning", ["norm_error_grows"])


def test_rounding_alone_is_no_warning(tmp_path: Path) -> None:
    ours = forward([tensor()], [tensor(2.0000002)])
    assert judged(tmp_path, ours, forward([tensor()], [tensor()])).verdict == "pass"


@pytest.mark.parametrize(
    ("attribute", "change"),
    [("dtype", "torch.float16"), ("shape", [4]), ("requires_grad", True)],
)
def test_a_differing_attribute_is_an_error(tmp_path: Path, attribute: str, change: object) -> None:
    ours = forward([tensor()], [tensor(**{attribute: change})])
    found = judged(tmp_path, ours, forward([tensor()], [tensor()]))
    assert found.verdict == "error"
    assert facts(found.reasons[0])["attribute"] == attribute


def test_frameworks_name_one_dtype_differently(tmp_path: Path) -> None:
    ours = forward([tensor(dtype="Float32")], [tensor(dtype="mindspore.float32")])
    assert judged(tmp_path, ours, forward([tensor()], [tensor()])).verdict == "pass"


def test_a_differing_scalar_is_an_error(tmp_path: Path) -> None:
    def entry(number: float) -> Json:
        return forward([tensor(), {"type": "float", "value": number}], [tensor()])

    found = judged(tmp_path, entry(2.0), entry(1.0))
    assert found.verdict == "error"
    assert facts(found.reasons[0])["problem"] == "2.0"


def test_process_groups_compare_by_their_ranks(tmp_path: Path) -> None:
    def entry(group: str, ranks: list[int]) -> Json:
        known = {"type": "torch.ProcessGroup", "group_ranks": ranks, "group_id": group}
        return forward([tensor(), known], [tensor()])

    assert judged(tmp_path, entry("one", [0, 1]), entry("two", [0, 1])).verdict == "pass"
    assert judged(tmp_path, entry("one", [0, 1]), entry("one", [0, 2])).verdict == "error"


def test_checksums_decide_where_both_have_them(tmp_path: Path) -> None:
    ours = forward([tensor(md5="aa")], [tensor(md5="bb")])
    found = judged(tmp_path, ours, forward([tensor(md5="aa")], [tensor(md5="cc")]))
    assert (found.verdict, codes(found)) == ("error", ["checksum_differs"])


@pytest.mark.parametrize("api", ["empty", "to", "__setitem__"])
def test_no_rule_applies_to_calls_that_promise_no_values(tmp_path: Path, api: str) -> None:
    ours = forward([tensor()], [tensor(9.0)])
    call = f"Torch.{api}.0.forward"
    assert judged(tmp_path, ours, forward([tensor()], [tensor()]), call).verdict == "pass"


def test_input_rules_spare_collectives_that_fill_their_output(tmp_path: Path) -> None:
    ours = forward([tensor()], [tensor(9.0)])
    call = "Distributed._all_gather_base.0.forward"
    assert judged(tmp_path, ours, forward([tensor()], [tensor()]), call).verdict == "pass"


@pytest.mark.parametrize(
    ("ours", "theirs", "said"),
    [
        (
            forward([tensor()], [tensor()]),
            forward([tensor()], [tensor(), tensor(3.0)]),
            ("output.1", "benchmark"),
        ),
        (
            forward([tensor(), tensor(3.0)], [tensor()]),
            forward([tensor()], [tensor()]),
            ("input.1", "problem"),
        ),
        (forward([tensor()], []), forward([tensor()], [tensor()]), ("output.0", "benchmark")),
        (
            forward([tensor()], [tensor()], parameters={"bias": tensor(0.5)}),
            forward([tensor()], [tensor()]),
            ("parameters.bias", "problem"),
        ),
    ],
)
def test_a_value_of_one_run_alone_is_a_warning(
    tmp_path: Path, ours: Json, theirs: Json, said: tuple[str, str]
) -> None:
    found = judged(tmp_path, ours, theirs)
    (reason,) = found.reasons
    assert (found.verdict, facts(reason)["code"]) == ("warning", "surplus")
    assert (facts(reason)["value"], facts(reason)["side"]) == said


@pytest.mark.parametrize("side", ["problem", "benchmark"])
def test_numbers_of_one_run_alone_are_a_warning(tmp_path: Path, side: str) -> None:
    blank = dict.fromkeys(("Max", "Min", "Mean", "Norm"))
    entries = [forward([tensor()], [tensor(**blank)]), forward([tensor()], [tensor()])]
    found = judged(tmp_path, *(entries if side == "benchmark" else entries[::-1]))
    (reason,) = found.reasons
    assert (found.verdict, facts(reason)["code"], facts(reason)["side"]) == (
        "warning",
        "unrecorded",
        side,
    )


def test_what_neither_run_has_numbers_of_is_none_of_these(tmp_path: Path) -> None:
    blank = dict.fromkeys(("Max", "Min", "Mean", "Norm"))
    entry = forward([tensor(**blank)], [tensor(shape=[0, 2], **blank)])
    assert judged(tmp_path, entry, entry) == Judgement("pass", [])
