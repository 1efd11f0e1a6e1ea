"""Values share a form exactly when all but their numbers agree."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from builder.dump.forms import Forms
from builder.dump.values import Record, Values

RECORDS = st.one_of(
    st.builds(
        Record,
        type=st.just("torch.Tensor"),
        dtype=st.sampled_from(["torch.float32", "torch.bfloat16"]),
        shape=st.sampled_from([(), (1,), (2, 3)]),
        requires_grad=st.sampled_from([None, True, False]),
        Norm=st.floats(0, 1),
    ),
    st.builds(
        Record,
        type=st.sampled_from(["int", "float"]),
        value=st.sampled_from([None, 1, 1.0, True, "1", [1]]),
    ),
)
KEYED = st.lists(st.tuples(st.sampled_from(["input.0", "output.0"]), RECORDS), max_size=12)


def told(key: str, record: Record) -> tuple[object, ...]:
    value = repr(record.value)
    return key, record.type, record.dtype, record.shape, record.requires_grad, value


@given(KEYED)
def test_numbers_are_equal_where_all_but_the_statistics_is(keyed: list[tuple[str, Record]]) -> None:
    values = Values([key for key, _ in keyed], [record for _, record in keyed])
    forms = Forms()
    numbers = forms.numbers_of(values).tolist()
    for i, one in enumerate(keyed):
        for j, other in enumerate(keyed):
            assert (numbers[i] == numbers[j]) == (told(*one) == told(*other))
    assert [form.key for form in (forms.listed()[n] for n in numbers)] == values.keys


@given(KEYED, KEYED)
def test_both_sides_share_the_numbers(
    left: list[tuple[str, Record]], right: list[tuple[str, Record]]
) -> None:
    forms = Forms()
    sides = [Values([k for k, _ in side], [r for _, r in side]) for side in (left, right)]
    first = forms.numbers_of(sides[0]).tolist()
    forms.numbers_of(sides[1])
    assert forms.numbers_of(sides[0]).tolist() == first


def test_a_process_group_is_told_by_its_ranks() -> None:
    groups = [Record(type="torch.ProcessGroup", group_ranks=ranks) for ranks in ([0, 1], [0], [0])]
    forms = Forms()
    numbers = forms.numbers_of(Values(["input.group"] * 3, groups)).tolist()
    assert numbers == [0, 1, 1]
    assert forms.listed()[0].scalar == '{"group_ranks":[0,1]}'
