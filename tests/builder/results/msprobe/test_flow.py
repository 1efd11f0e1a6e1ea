"""What fed what in files of msprobe's own builder, told by equal values."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from builder.results.msprobe.flow import fingerprint
from builder.results.msprobe.queries import MsprobeDatabase
from builder.results.records import Node
from tb_graph_ascend.view.diff.index import Wanted, diff_index
from tb_graph_ascend.view.diff.window import window_of

TENSOR = {"type": "torch.Tensor", "dtype": "torch.float32"}


@pytest.fixture
def ranks(samples: Path) -> Iterator[MsprobeDatabase]:
    opened = MsprobeDatabase(samples / "vis-db" / "ranks.vis.db")
    yield opened
    opened.close()


def _named(database: MsprobeDatabase, name: str) -> Node:
    nodes = database._stored.load(0, 0).nodes.values()
    return next(node for node in nodes if node.name == name and node.side == "problem")


def test_a_call_reads_what_an_earlier_call_put_out(ranks: MsprobeDatabase) -> None:
    flow = ranks.flow(_named(ranks, "Functional.conv1d.0.forward").id)
    assert [link.node.name for link in flow.producers] == ["Functional.embedding.0.forward"]
    readers = {link.node.name for link in flow.consumers}
    assert {"Functional.layer_norm.0.forward", "Tensor.__add__.0.forward"} <= readers
    assert not any(link.exact for link in [*flow.producers, *flow.consumers])


def test_links_name_values_by_the_ids_of_the_details(ranks: MsprobeDatabase) -> None:
    node = _named(ranks, "Functional.conv1d.0.forward")
    (link,) = ranks.flow(node.id).producers
    (value,) = [v for v in ranks.details(node.id).values if (v.role, v.path) == ("input", "0")]
    assert value.problem is not None
    assert (link.value, link.path) == (value.problem.id, "0")


def test_rails_of_its_rows_are_inferred(ranks: MsprobeDatabase) -> None:
    window = window_of(diff_index(ranks, 0, 0), Wanted(), 0, 100, None)
    assert len(window.rails) > 3
    assert not any(edge.exact for edge in window.rails)


def test_no_call_reads_what_is_put_out_after_it_began(ranks: MsprobeDatabase) -> None:
    pair = ranks._stored.load(0, 0)
    passed = ranks._passed(pair, "problem")
    assert len(passed) > 40
    assert all(pair.nodes[one.producer].order < pair.nodes[one.consumer].order for one in passed)


@pytest.mark.parametrize(
    "cell",
    [
        {"type": "float", "Max": "2.0", "Min": "2.0", "Mean": "2.0", "Norm": "2.0"},
        {**TENSOR, "Max": "0.0", "Min": "0.0", "Mean": "0.0", "Norm": "0.0"},
        {**TENSOR, "Max": "1", "Min": "1", "Mean": "1", "Norm": "8"},
        {**TENSOR, "Max": "nan", "Min": "nan", "Mean": "nan", "Norm": "nan"},
        {**TENSOR, "Max": "null", "Min": "null", "Mean": "null", "Norm": "null"},
        {**TENSOR, "Max": "N/A"},
        {**TENSOR},
    ],
)
def test_what_says_too_little_has_no_fingerprint(cell: dict[str, str]) -> None:
    assert fingerprint(cell) is None


def test_a_checksum_is_enough_and_integers_need_their_dtype() -> None:
    assert fingerprint({**TENSOR, "md5": "ab12"}) == ("ab12",)
    one = {"type": "torch.Tensor", "dtype": "torch.int64", "Max": "31", "Min": "0", "Mean": "null"}
    other = {**one, "dtype": "torch.uint8"}
    assert fingerprint(one) != fingerprint(other)
