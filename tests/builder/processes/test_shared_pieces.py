"""Pieces of work are done once each, whoever comes first."""

import os
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from builder.processes.second_process import CAN_FORK, beside
from builder.processes.shared_pieces import SharedPieces


def test_one_process_does_all_in_order_and_none_twice() -> None:
    done: list[tuple[int, str]] = []
    pieces = [lambda given, n=n: done.append((n, given)) for n in range(5)]
    with closing(SharedPieces(pieces)) as shared:
        shared.work_on("first")
        shared.work_on("second")
    assert done == [(n, "first") for n in range(5)]


def test_no_pieces_are_no_work() -> None:
    with closing(SharedPieces[None](())) as shared:
        shared.work_on(None)


@pytest.mark.skipif(not CAN_FORK, reason="forks")
@pytest.mark.parametrize("count", [1, 2, 50, 256])
def test_two_processes_do_each_piece_once(tmp_path: Path, count: int) -> None:
    def noted(number: int, _: None) -> None:
        # Fails where somebody has done it already.
        os.close(os.open(tmp_path / str(number), os.O_CREAT | os.O_EXCL))

    with (
        closing(SharedPieces([partial(noted, number) for number in range(count)])) as shared,
        beside(lambda: shared.work_on(None)) as result,
    ):
        shared.work_on(None)
        result()
    assert {path.name for path in tmp_path.iterdir()} == set(map(str, range(count)))


@pytest.mark.skipif(not CAN_FORK, reason="forks")
def test_what_a_fork_fails_at_is_heard_by_who_waits_for_it() -> None:
    def fail(_: None) -> None:
        raise ValueError("no room")

    with (
        closing(SharedPieces([fail])) as shared,
        beside(lambda: shared.work_on(None)) as result,
        pytest.raises(ValueError, match="no room"),
    ):
        result()


def test_more_pieces_than_a_byte_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="256"):
        SharedPieces([print] * 257)
