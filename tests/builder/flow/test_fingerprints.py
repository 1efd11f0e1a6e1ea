"""A value is traced to the latest call that made it, by numbers that mean its fingerprint."""

from __future__ import annotations

import math
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from builder.compare.columns import columns_of
from builder.dump.forms import Forms
from builder.dump.reader import Dump, read_dump
from builder.dump.values import Record, Values
from builder.flow.fingerprints import NO_PRINT, Fingerprints, Producers, fingerprint
from builder.match.tree import Tree, TreeNode, build_tree
from tests.builder.dumps import forward, tensor, write_dump

CELLS = st.none() | st.sampled_from(
    [0, 0.0, -0.0, 1, 1.5, -2.0, True, False, "nan", "inf", float("nan"), float("inf")]
)
DTYPES = st.sampled_from(["torch.float32", "torch.int64", "torch.bool"])
TENSORS = st.builds(
    Record, type=st.just("torch.Tensor"), dtype=DTYPES,
    Max=CELLS, Min=CELLS, Mean=CELLS, Norm=CELLS,
)  # fmt: skip
ARGUMENTS = st.builds(Record, type=st.just("int"), value=st.integers(0, 2))
CHECKED = st.builds(
    Record, type=st.just("torch.Tensor"), dtype=st.just("torch.float32"),
    md5=st.sampled_from(["0badcafe", "1"]),
)  # fmt: skip
RECORDS = st.lists(TENSORS | ARGUMENTS) | st.lists(TENSORS | ARGUMENTS | CHECKED)


def prints(records: list[Record]) -> Fingerprints:
    values = Values(["output.0"] * len(records), records)
    dump = Dump(Path(), "statistics", "mix", "pytorch", values, {}, {}, {}, {}, [])
    root = TreeNode("root", "root", None)
    forms = Forms()
    return Fingerprints(Tree(dump, root, {}, [root]), columns_of(values, forms), forms.listed())


@given(RECORDS)
def test_numbers_are_equal_where_fingerprints_are(records: list[Record]) -> None:
    numbers = prints(records).numbers
    assert numbers.pop() == NO_PRINT
    for number, record in zip(numbers, records, strict=True):
        assert (number == NO_PRINT) == (fingerprint(record) is None)
        for other_number, other in zip(numbers, records, strict=True):
            assert (number == other_number) == (fingerprint(record) == fingerprint(other))


def test_what_a_text_stands_for_is_the_same_value() -> None:
    facts = {"type": "torch.Tensor", "dtype": "torch.float32", "Max": 2.0}
    spoken = Record(**facts, Mean="nan", Norm="inf")
    assert fingerprint(spoken) == fingerprint(Record(**facts, Mean=math.nan, Norm=math.inf))


@given(st.lists(TENSORS))
def test_the_key_behind_a_number_is_the_fingerprint(records: list[Record]) -> None:
    found = prints(records)
    for number, record in zip(found.numbers, records):
        assert found.keys([number]) == {fingerprint(record)}


def test_labels_of_two_classes_are_not_what_made_a_mask() -> None:
    extremes = {"type": "torch.Tensor", "Max": 1, "Min": 0}
    labels, mask = (Record(dtype=dtype, **extremes) for dtype in ("torch.int64", "torch.bool"))
    assert fingerprint(labels) != fingerprint(mask)
    assert fingerprint(labels) == fingerprint(Record(dtype="torch.int64", **extremes))


def test_the_latest_maker_before_a_point_is_named(tmp_path: Path) -> None:
    first, second, reader = (f"Torch.op{x}.0.forward" for x in "abc")
    data = {
        first: forward([], [tensor(5.0)]),
        second: forward([tensor(5.0)], [tensor(5.0)]),
        reader: forward([tensor(5.0)], []),
    }
    tree = build_tree(read_dump(write_dump(tmp_path, data, dict.fromkeys(data))))
    forms = Forms()
    producers = Producers(Fingerprints(tree, columns_of(tree.dump.values, forms), forms.listed()))
    (read,) = range(*tree.by_name[reader].values)
    named = []
    for name in (first, second, reader):
        producers.reached = tree.by_name[name].exec_order
        made = producers.of(read)
        named.append(made.name if made is not None else None)
    assert named == [None, first, second]


def test_a_module_hides_no_call_inside_it(tmp_path: Path) -> None:
    call, module = "Torch.relu.0.forward", "Module.act.ReLU.forward.0"
    data = {call: forward([], [tensor(5.0)]), module: forward([], [tensor(5.0)])}
    tree = build_tree(read_dump(write_dump(tmp_path, data, {call: module, module: None})))
    forms = Forms()
    producers = Producers(Fingerprints(tree, columns_of(tree.dump.values, forms), forms.listed()))
    producers.reached = len(tree.in_order)
    made = producers.of(tree.by_name[module].values[0])
    assert made is not None and made.name == call
