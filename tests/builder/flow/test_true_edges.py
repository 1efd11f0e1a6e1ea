"""Edges that are drawn are those along which tensors really went, told by their identity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.builder.flow.followed_models import FOLLOWED, HEADS
from tests.builder.flow.identity import Identity
from tests.builder.flow.recorded_models import HELD_BACK, record
from tests.builder.flow.test_passages import Edges, Side, reached, side_of

HEAD_MODELS = [f"heads {how}" for how in HEADS]
LISTS = ["listing", "listing alike", "listing long"]


def seen(name: str, folder: Path) -> tuple[Side, Edges]:
    """A model's recording and the true edges of its forward pass."""
    watch = Identity()
    return side_of(record(FOLLOWED[name], folder, watch=watch)), watch.edges


def drawn_between(side: Side, true: Edges) -> Edges:
    """What is drawn between calls of the forward pass, but past silent calls between them."""
    calls = {call for edge in true for call in edge}
    drawn = side.told | side.ordered | side.flow - side.replaced
    return {edge for edge in drawn if edge[0] in calls and edge[1] in calls}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_that_grows_is_joined_from_what_is_in_it(name: str, tmp_path: Path) -> None:
    side, true = seen(name, tmp_path)
    assert drawn_between(side, true) == true


@pytest.mark.parametrize("name", HEAD_MODELS)
def test_of_two_joins_for_one_reader_each_has_its_own_pieces(name: str, tmp_path: Path) -> None:
    side, true = seen(name, tmp_path)
    made = (".cat.", ".stack.", ".repeat_interleave.", ".flatten.")
    drawn = drawn_between(side, true)
    of_joins = {edge for edge in true if any(one in edge[1] for one in made)}
    assert {edge for edge in drawn if edge[1] in {end for _, end in of_joins}} == of_joins != set()
    assert {edge for edge in drawn if edge[1] not in reached(edge[0], true)} == set()


def test_where_numbers_fit_two_ways_to_join_none_is_told(tmp_path: Path) -> None:
    # `cat([cat([x, a]), b])` or `cat([x, a, b])`: one function, all of it had at either place.
    side = side_of(record(HELD_BACK["dense"], tmp_path))
    last = "Torch.cat.2.forward"
    assert {producer for producer, consumer in side.told if consumer == last} == {
        "Torch.relu.2.forward"
    }
    assert ("Torch.tanh.0.forward", last) in side.ordered


def without_sources(dump: Path) -> Path:
    """A dump as other tools write it: nothing in it says where an input comes from."""

    def bare(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: bare(v) for k, v in value.items() if k not in ("source", "sketch")}
        return [bare(one) for one in value] if isinstance(value, list) else value

    file = dump / "dump.json"
    file.write_bytes(msgspec.json.encode(bare(msgspec.json.decode(file.read_bytes()))))
    return dump


def test_what_is_all_zeros_is_led_by_shape_and_order(tmp_path: Path) -> None:
    watch = Identity()
    side = side_of(without_sources(record(FOLLOWED["gated"], tmp_path, watch=watch)))
    assert drawn_between(side, watch.edges) == watch.edges
    gates = {edge for edge in watch.edges if edge[0].startswith("Tensor.chunk.")}
    assert gates <= side.ordered
    assert not gates & side.told


def test_zeros_that_fill_a_join_are_led_into_it(tmp_path: Path) -> None:
    side, true = seen("filled", tmp_path)
    assert drawn_between(side, true) == true
    assert ("Torch.relu.0.forward", "Torch.cat.0.forward") in side.ordered
    assert ("Torch.tanh.0.forward", "Torch.cat.0.forward") in side.told


def test_what_was_bounded_leads_through_the_call_that_did(tmp_path: Path) -> None:
    side, true = seen("bounded", tmp_path)
    made = {call for edge in true for call in edge} - {"Tensor.float.1.forward"}
    drawn = {edge for edge in drawn_between(side, true) if set(edge) <= made}
    assert {edge for edge in true if set(edge) <= made} == drawn
    assert ("Tensor.float.0.forward", "Torch.exp.0.forward") in side.ordered


def test_a_cast_of_one_output_is_not_drawn_before_who_reads_the_other(tmp_path: Path) -> None:
    side, _ = seen("ranked", tmp_path)
    readers = {end for start, end in side.ordered | side.told if start == "Tensor.to.0.forward"}
    assert "Tensor.__eq__.0.forward" not in readers


def test_calls_of_one_name_before_a_join_stand_side_by_side(tmp_path: Path) -> None:
    side, _ = seen("flattened", tmp_path)
    views = {f"Tensor.flatten.{at}.forward" for at in range(3)}
    drawn = {edge for edge in side.told | side.ordered if edge[0] in views}
    assert drawn == {(view, "Torch.cat.0.forward") for view in views}
