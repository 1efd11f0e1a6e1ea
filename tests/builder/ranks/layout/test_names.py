"""Names of a rank as names of the logical model."""

from __future__ import annotations

import pytest

from builder.dump.reader import Chunk, ExpertShare
from builder.ranks.layout.coordinates import Place, RunLayout
from builder.ranks.layout.names import LogicalNames, first_experts, renumbered_layers, role_of


def _layout(places: list[Place], **sizes: int) -> RunLayout:
    vpp = sizes.pop("vpp", 1)
    return RunLayout(sizes, {place.rank: place for place in places}, vpp=vpp)


@pytest.mark.parametrize(
    ("path", "logical"),
    [
        ("module.layers.0.mlp", "layers.0.mlp"),
        ("_orig_mod.module.head", "head"),
        ("layers.1._checkpoint_wrapped_module.norm", "layers.1.norm"),
        ("module", ""),
    ],
)
def test_wrappers_are_no_part_of_a_name(path: str, logical: str) -> None:
    place = Place(0, {})
    assert LogicalNames(place, _layout([place]), {}).path(path) == logical


def test_experts_count_on_from_those_of_the_ranks_before() -> None:
    place = Place(1, {"dp": 1}, experts=ExpertShare(2, 2))
    names = LogicalNames(place, _layout([place], dp=2, ep=2), {})
    assert names.path("layers.0.mlp.experts.1.up") == "layers.0.mlp.experts.3.up"


def test_recorded_numbers_of_layers_win() -> None:
    place = Place(1, {"pp": 1}, (Chunk(0, {"layers.0": 2, "layers.1": 3}),))
    layout = _layout([place], pp=2)
    numbers = renumbered_layers(layout, {1: ["layers.0.mlp", "layers.1.mlp"]})
    assert LogicalNames(place, layout, numbers[1]).path("layers.1.mlp") == "layers.3.mlp"


def test_stages_that_count_from_zero_stand_behind_each_other() -> None:
    places = [Place(rank, {"pp": rank}) for rank in (0, 1)]
    paths = {0: ["layers.0.a", "layers.1.a"], 1: ["layers.0.a"]}  # an uneven division
    numbers = renumbered_layers(_layout(places, pp=2), paths)
    assert numbers == {0: {"layers.0": 0, "layers.1": 1}, 1: {"layers.0": 2}}


def test_chunks_go_round_the_stages() -> None:
    places = [Place(rank, {"pp": rank}) for rank in (0, 1)]
    paths = {rank: ["0.layers.0.a", "1.layers.0.a"] for rank in (0, 1)}
    numbers = renumbered_layers(_layout(places, pp=2, vpp=2), paths)
    assert numbers[0] == {"0.layers.0": 0, "1.layers.0": 2}
    assert numbers[1] == {"0.layers.0": 1, "1.layers.0": 3}


def test_stages_whose_names_differ_keep_them() -> None:
    places = [Place(rank, {"pp": rank}) for rank in (0, 1)]
    paths = {0: ["layers.0.a"], 1: ["layers.1.a"]}
    assert renumbered_layers(_layout(places, pp=2), paths) == {0: {}, 1: {}}


def test_a_role_is_a_name_without_layer_and_expert() -> None:
    name = "Module.layers.3.mlp.experts.1.up.Linear.forward.0"
    assert role_of(f"{name}.") == "Module.layers.*.mlp.experts.*.up.Linear.forward.*."


def test_experts_that_count_from_0_on_each_rank_are_numbered_through() -> None:
    places = [Place(rank, {"ep": rank // 2}) for rank in range(4)]
    local = ["layers.0.mlp.experts.0.up", "layers.0.mlp.experts.1.up", "layers.0.norm"]
    layout = _layout(places, ep=2)
    firsts = first_experts(layout, dict.fromkeys(range(4), local))
    assert firsts == {0: 0, 1: 0, 2: 2, 3: 2}
    names = LogicalNames(places[3], layout, {}, firsts[3])
    assert names.path(local[1]) == "layers.0.mlp.experts.3.up"
    # An expert that no token chose has no entry on its rank.
    some = {0: local, 1: local, 2: local[:1], 3: local[1:]}
    assert first_experts(layout, some) == firsts


def test_experts_with_their_real_numbers_keep_them() -> None:
    places = [Place(rank, {"ep": rank}) for rank in range(2)]
    paths = {0: ["mlp.experts.0.up"], 1: ["mlp.experts.1.up"]}
    assert first_experts(_layout(places, ep=2), paths) == {0: 0, 1: 0}
    assert first_experts(_layout(places), dict.fromkeys(paths, paths[0])) == {0: 0, 1: 0}
