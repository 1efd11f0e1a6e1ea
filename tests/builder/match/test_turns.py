"""Calls of a loop pair turn by turn where one run has its lines in another order."""

from __future__ import annotations

from pathlib import Path

import torch
from hypothesis import given
from hypothesis import strategies as st

import builder
from builder.match.align import Token, align
from builder.match.turns import pair_turns
from msprobe.pytorch import PrecisionDebugger

READ, UPDATE = [Token("mul", line="read"), Token("sum", line="read")], [Token("mul", line="update")]
TURNS = 5


def turned(left: list[Token], right: list[Token]) -> list[tuple[int, int]]:
    return pair_turns(align(left, right), left, right)


def test_what_is_read_before_its_update_pairs_with_the_same_turn() -> None:
    left, right = (READ + UPDATE) * TURNS, (UPDATE + READ) * TURNS
    pairs = turned(left, right)
    assert len(pairs) == len(left)
    for line in ("read", "update"):
        own = [i for i, token in enumerate(left) if token.line == line]
        others = [j for j, token in enumerate(right) if token.line == line]
        assert [j for i, j in pairs if i in own] == others


def test_a_call_that_one_run_makes_first_and_the_other_last_is_no_turn_alone() -> None:
    left = [Token("relu", line="a"), Token("exp", line="b")]
    assert turned(left, left[::-1]) == align(left, left[::-1])


def test_a_call_more_in_one_run_shifts_nothing() -> None:
    left = READ * TURNS
    assert turned(left, [*left, READ[0]]) == align(left, [*left, READ[0]])


TOKENS = st.builds(Token, st.sampled_from("abc"), line=st.sampled_from(["x", "y", None]))


@given(st.lists(TOKENS, max_size=12), st.lists(TOKENS, max_size=12))
def test_pairs_stay_one_to_one_and_of_one_name(left: list[Token], right: list[Token]) -> None:
    pairs = turned(left, right)
    assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)
    assert all(left[i].name == right[j].name for i, j in pairs)
    assert len(pairs) >= len(align(left, right))


def scanned(folder: Path, early: bool) -> Path:
    torch.manual_seed(0)
    read, drive, state = torch.randn(6, 5), torch.randn(6, 5), torch.zeros(5)
    debugger = PrecisionDebugger(dump_path=str(folder), level="L1")
    with debugger.recording():
        put_out = []
        for turn in range(6):
            if early:
                put_out.append((state * read[turn]).sum(-1))
            state = 0.9 * state + drive[turn]
            if not early:
                put_out.append((state * read[turn]).sum(-1))
        torch.stack(put_out).sum()
    debugger.close()
    return folder


def test_the_read_is_the_one_cause_and_nothing_is_unmatched(tmp_path: Path) -> None:
    ours, theirs = (scanned(tmp_path / str(early), early) for early in (True, False))
    built = builder.build(ours, theirs, tmp_path / "o")
    (finding,) = built.findings
    assert finding.name == "Tensor.__mul__.0.forward"
    assert built.outcomes[0].unmatched_problem == built.outcomes[0].unmatched_benchmark == 0
