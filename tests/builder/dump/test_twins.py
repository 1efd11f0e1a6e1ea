"""What dumps of one run have alike is kept once."""

from __future__ import annotations

from pathlib import Path

from builder.dump.reader import Dump
from builder.dump.twins import Twins
from builder.dump.values import Record, Values


def _dump(names: list[str], mean: float) -> Dump:
    ranges = {name: (place, place + 1) for place, name in enumerate(names)}
    records = [Record(type="torch.Tensor", Mean=mean) for _ in names]
    values = Values(["output.0"] * len(names), records)
    parents = dict.fromkeys(names)
    return Dump(Path("d"), "statistics", "mix", "pytorch", values, ranges, parents, {}, {}, [])


def test_dumps_of_the_same_calls_have_one_structure_and_their_own_numbers() -> None:
    twins = Twins()
    first, second = (twins.shared(_dump(["a", "b"], mean)) for mean in (1.0, 2.0))
    assert second.parents is first.parents
    assert second.ranges is first.ranges
    assert second.values.keys is first.values.keys
    assert [record.Mean for record in second.values.records] == [2.0, 2.0]


def test_calls_in_another_order_are_not_alike() -> None:
    twins = Twins()
    first, second = twins.shared(_dump(["a", "b"], 1.0)), twins.shared(_dump(["b", "a"], 1.0))
    assert first.parents == second.parents
    assert list(second.parents) == ["b", "a"]
