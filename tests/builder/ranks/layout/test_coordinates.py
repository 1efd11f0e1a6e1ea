"""Where each rank stands: as recorded, or from sizes and order."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder.dump.reader import Axis, Dump, Parallel
from builder.dump.values import Values
from builder.errors import InputError
from builder.ranks.layout.coordinates import Sizes, layout_of


def _dump(parallel: Parallel | None = None) -> Dump:
    return Dump(
        Path("d"), "statistics", "mix", "pytorch", Values(), {}, {}, {}, {}, [], parallel=parallel
    )


def _header(rank: int, tp: int, size: int = 2) -> Parallel:
    return Parallel(axes={"tp": Axis(tp, size, tuple(range(size)))}, world_size=size, rank=rank)


def test_recorded_places_need_no_flag() -> None:
    layout = layout_of({0: _dump(_header(0, 0)), 1: _dump(_header(1, 1))}, Sizes(), "d")
    assert layout.sizes == {"tp": 2}
    assert [layout.places[rank].at for rank in (0, 1)] == [{"tp": 0}, {"tp": 1}]
    assert layout.describe(1) == "tp 1 of 2"


def test_ranks_run_through_the_axes_in_megatrons_order() -> None:
    dumps = {rank: _dump() for rank in range(8)}
    layout = layout_of(dumps, Sizes(rank_size=8, tp=2, pp=2), "d")
    assert layout.sizes == {"tp": 2, "dp": 2, "pp": 2}
    assert layout.places[5].at == {"tp": 1, "dp": 0, "pp": 1}
    other = layout_of(dumps, Sizes(rank_size=8, tp=2, pp=2, order="pp-dp-cp-tp"), "d")
    assert other.places[5].at == {"pp": 1, "dp": 0, "tp": 1}


@pytest.mark.parametrize(
    ("ranks", "sizes", "said"),
    [
        (2, Sizes(), "do not say where they stand"),
        (2, Sizes(rank_size=2, tp=2), "add --tp and --pp"),
        (2, Sizes(rank_size=4, tp=2, pp=2), "rank 2, 3 of 4 is missing"),
        (4, Sizes(rank_size=4, tp=3, pp=1), "not 4"),
        (4, Sizes(rank_size=4, tp=2, pp=1, ep=3), "--ep 3"),
        (4, Sizes(rank_size=4, tp=2, pp=1, ep=2, etp=4), "--etp 4 does not divide"),
        (2, Sizes(rank_size=2, tp=2, pp=1, order="tp-pp"), "--order tp-pp"),
    ],
)
def test_sizes_that_fit_no_ranks_are_errors(ranks: int, sizes: Sizes, said: str) -> None:
    with pytest.raises(InputError, match=said):
        layout_of({rank: _dump() for rank in range(ranks)}, sizes, "d")


@pytest.mark.parametrize("silent", [{0}, {1}, {1, 3}, {0, 2, 3}])
def test_the_ranks_that_do_not_say_where_they_stand_are_named(silent: set[int]) -> None:
    dumps = {r: _dump(None if r in silent else _header(r % 2, r)) for r in range(4)}
    named = ", ".join(map(str, sorted(silent)))
    with pytest.raises(InputError, match=f"rank {named} of 4 does not say where it stands"):
        layout_of(dumps, Sizes(), "d")


def test_a_flag_that_contradicts_the_dump_names_both() -> None:
    dumps = {rank: _dump(_header(rank, rank)) for rank in (0, 1)}
    with pytest.raises(InputError, match=r"--tp 4 .* recorded tp 2"):
        layout_of(dumps, Sizes(tp=4), "d")


def test_a_missing_rank_is_named() -> None:
    with pytest.raises(InputError, match="rank 1 of 2 is missing"):
        layout_of({0: _dump(_header(0, 0))}, Sizes(), "d")


def test_experts_divide_the_ranks_of_cp_and_dp() -> None:
    dumps = {rank: _dump() for rank in range(8)}
    layout = layout_of(dumps, Sizes(rank_size=8, tp=2, pp=1, cp=2, ep=2), "d")
    assert layout.sizes == {"tp": 2, "cp": 2, "dp": 2, "ep": 2}
    assert [layout.places[rank].at["ep"] for rank in range(8)] == [0, 0, 1, 1, 0, 0, 1, 1]
    assert layout.places[7].of(is_expert=True) == {"tp": 1, "dp": 1, "pp": 0}
    assert layout.places[7].of(is_expert=False)["cp"] == 1


def test_experts_with_tensor_ranks_of_their_own_lie_on_a_second_grid() -> None:
    dumps = {rank: _dump() for rank in range(4)}
    layout = layout_of(dumps, Sizes(rank_size=4, tp=1, pp=1, ep=2, etp=2), "d")
    assert layout.sizes == {"dp": 4, "ep": 2, "etp": 2}
    assert [layout.places[rank].at for rank in (0, 3)] == [
        {"dp": 0, "ep": 0, "etp": 0},
        {"dp": 3, "ep": 1, "etp": 1},
    ]
    assert [layout.places[rank].of(is_expert=True)["tp"] for rank in range(4)] == [0, 1, 0, 1]
    assert all(place.of(is_expert=True)["dp"] == 0 for place in layout.places.values())


def test_recorded_places_on_the_second_grid_are_taken_over() -> None:
    axes = {"dp": Axis(1, 2, (0, 1)), "etp": Axis(1, 2, (0, 1)), "edp": Axis(0, 1, (1,))}
    own = Parallel(axes=axes, world_size=2, rank=1)
    first = {"dp": Axis(0, 2, (0, 1)), "etp": Axis(0, 2, (0, 1)), "edp": Axis(0, 1, (0,))}
    other = Parallel(axes=first, world_size=2, rank=0)
    layout = layout_of({0: _dump(other), 1: _dump(own)}, Sizes(), "d")
    assert layout.sizes == {"dp": 2, "etp": 2}
    assert layout.places[1].of(is_expert=True) == {"tp": 1, "dp": 0, "pp": 0}
    with pytest.raises(InputError, match=r"--etp 4 .* recorded etp 2"):
        layout_of({0: _dump(other), 1: _dump(own)}, Sizes(etp=4), "d")


@pytest.mark.parametrize("axis", ["rank_size", "tp", "cp", "ep", "etp", "dp", "pp", "vpp"])
def test_any_size_alone_is_given(axis: str) -> None:
    assert Sizes(**{axis: 2}).is_given
    assert not Sizes(order="tp-pp-dp").is_given


def _told(rank: int, **axes: tuple[int, int]) -> Parallel:
    own = {name: Axis(at, size, tuple(range(size))) for name, (at, size) in axes.items()}
    return Parallel(axes=own, rank=rank)


def test_experts_told_by_hand_lie_on_ranks_of_dp() -> None:
    dumps = {rank: _dump(_told(rank, ep=(rank, 2), dp=(rank, 2))) for rank in range(2)}
    layout = layout_of(dumps, Sizes(), "d")
    assert [place.at for place in layout.places.values()] == [
        {"ep": 0, "dp": 0},
        {"ep": 1, "dp": 1},
    ]
    with pytest.raises(InputError, match="rank 1 of 2 is missing"):
        layout_of({0: dumps[0]}, Sizes(), "d")


def test_ranks_of_ep_that_no_other_axis_tells_apart_share_the_batch() -> None:
    alone = layout_of({r: _dump(_told(r, ep=(r, 2))) for r in range(2)}, Sizes(), "d")
    assert alone.sizes == {"ep": 2, "dp": 2}
    assert [place.at["dp"] for place in alone.places.values()] == [0, 1]
    mesh = {r: _dump(_told(r, dp=(r // 2, 2), ep=(r % 2, 2))) for r in range(4)}
    layout = layout_of(mesh, Sizes(), "d")
    assert [place.at for place in layout.places.values()] == [
        {"dp": rank, "ep": rank % 2} for rank in range(4)
    ]
    assert [place.of(is_expert=True)["dp"] for place in layout.places.values()] == [0, 0, 1, 1]


def test_experts_over_the_ranks_of_tp_need_no_data_axis() -> None:
    dumps = {r: _dump(_told(r, tp=(r, 2), ep=(r, 2), etp=(0, 1))) for r in range(2)}
    layout = layout_of(dumps, Sizes(), "d")
    assert layout.sizes == {"tp": 2, "ep": 2}
    assert [place.of(is_expert=True)["tp"] for place in layout.places.values()] == [0, 0]
