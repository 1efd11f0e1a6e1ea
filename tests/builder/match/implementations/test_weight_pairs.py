"""Weights of two programs pair by their values: whole, transposed, fused, in parts."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.dump.values import Record
from builder.match.implementations.parameters import Parameter, numbers_of
from builder.match.implementations.weight_pairs import Side, WeightPair, pair_weights

RANDOM = np.random.default_rng(11)


def record(array: np.ndarray, dtype: str = "torch.float32") -> Record:
    return Record(
        type="torch.Tensor",
        dtype=dtype,
        shape=array.shape,
        Max=float(array.max()),
        Min=float(array.min()),
        Mean=float(array.mean()),
        Norm=float(np.linalg.norm(array)),
    )


def side(dtype: str = "torch.float32", **arrays: np.ndarray) -> Side:
    """Parameters by their paths, with `__` for the points."""
    records = [record(array, dtype) for array in arrays.values()]
    parameters = []
    for index, path in enumerate(arrays):
        module, _, name = path.replace("__", ".").rpartition(".")
        numbers = numbers_of(records[index])
        assert numbers is not None
        parameters.append(Parameter(module, name, index, records[index].shape or (), numbers))
    return Side(parameters, records)


def named(pairs: list[WeightPair]) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    return [
        (pair.relation, tuple(p.path for p in pair.problem), tuple(p.path for p in pair.benchmark))
        for pair in pairs
    ]


def drawn(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape)


def test_equal_and_transposed_weights_pair_whatever_they_are_called() -> None:
    one, other = drawn(4, 6), drawn(6)
    ours = side(a__weight=one.T, a__bias=other)
    theirs = side(b__c__bias=other, b__c__weight=one)
    assert named(pair_weights(ours, theirs)) == [
        ("reshaped", ("a.weight",), ("b.c.weight",)),
        ("same", ("a.bias",), ("b.c.bias",)),
    ]


def test_equal_weights_pair_in_the_order_of_their_calls() -> None:
    copied = drawn(8)
    ours = side(n1__w=copied, n2__w=copied, n3__w=copied)
    theirs = side(m1__w=copied, m2__w=copied)
    assert named(pair_weights(ours, theirs)) == [
        ("same", ("n1.w",), ("m1.w",)),
        ("same", ("n2.w",), ("m2.w",)),
    ]


def test_a_weight_of_a_block_may_be_made_up_of_two_modules_weights() -> None:
    q, k, o, gate, up, down = (drawn(6, 4) for _ in range(6))
    ours = side(
        **{
            f"layers__{i}__{path}__weight": part + i
            for i in range(2)
            for path, part in zip(
                ("attn__q", "attn__k", "attn__o", "mlp__gate", "mlp__up", "mlp__down"),
                (q, k, o, gate, up, down),
                strict=True,
            )
        }
    )
    theirs = side(
        **{f"h__{i}__fused__weight": np.concatenate((q, k, gate, up)) + i for i in range(2)}
    )
    parts = ("attn.q", "attn.k", "mlp.gate", "mlp.up")
    assert sorted(named(pair_weights(ours, theirs))) == [
        ("split", tuple(f"layers.{i}.{part}.weight" for part in parts), (f"h.{i}.fused.weight",))
        for i in range(2)
    ]


def test_fused_projections_are_joined_and_parts_are_split() -> None:
    q, k, v, o = drawn(8, 8), drawn(4, 8), drawn(4, 8), drawn(8, 8)
    fused = side(attn__qkv__weight=np.concatenate((q, k, v)), attn__o__weight=o)
    parts = side(a__q__weight=q, a__k__weight=k, a__v__weight=v, a__o__weight=o)
    whole = ("attn.qkv.weight",), ("a.q.weight", "a.k.weight", "a.v.weight")
    assert ("joined", *whole) in named(pair_weights(fused, parts))
    assert ("split", *reversed(whole)) in named(pair_weights(parts, fused))


@pytest.mark.parametrize("experts", [2, 5])
def test_stacked_experts_are_joined_of_a_list_of_modules(experts: int) -> None:
    up = [drawn(3, 4) for _ in range(experts)]
    gate = [drawn(3, 4) for _ in range(experts)]
    listed = {
        f"moe__experts__{n}__{name}__weight": weights[n]
        for n in range(experts)
        for name, weights in (("up", up), ("gate", gate))
    }
    both = np.stack([np.concatenate(pair) for pair in zip(gate, up)])
    assert [relation for relation, *_ in named(pair_weights(side(m__w=both), side(**listed)))] == [
        "joined"
    ]
    only = {path: array for path, array in listed.items() if "gate" in path}
    assert len(pair_weights(side(m__w=np.stack(gate)), side(**only))) == 1


def test_a_stack_in_another_format_takes_the_experts_of_its_layer() -> None:
    layers = [[RANDOM.uniform(-0.1, 0.1, (8, 16)) for _ in range(3)] for _ in range(4)]
    listed = {
        f"h__{at}__experts__{n}__w": weight
        for at, experts in enumerate(layers)
        for n, weight in enumerate(experts)
    }
    stacks = {
        f"h__{at}__w": np.stack(experts) * (1 + RANDOM.uniform(-1, 1, (3, 8, 16)) * 2.0**-9)
        for at, experts in reversed(list(enumerate(layers)))
    }
    found = named(pair_weights(side("torch.bfloat16", **stacks), side(**listed)))
    assert {p: b[0] for _, (p,), b in found} == {f"h.{n}.w": f"h.{n}.experts.0.w" for n in range(4)}


def test_a_scaled_or_partly_zeroed_weight_has_no_pair() -> None:
    one = drawn(16, 16)
    zeroed = one.copy()
    zeroed[3] = 0
    assert pair_weights(side(a__w=one * 1.001), side(b__w=one)) == []
    assert pair_weights(side(a__w=zeroed), side(b__w=one)) == []


def test_a_weight_in_another_format_pairs_within_its_rounding() -> None:
    one = drawn(16, 16)
    rounded = one * (1 + RANDOM.uniform(-1, 1, one.shape) * 2.0**-9)
    ours = side("torch.bfloat16", a__w=rounded)
    assert len(pair_weights(ours, side(b__w=one))) == 1


@given(st.permutations(range(12)), st.integers(0, 2**32 - 1))
def test_each_weight_finds_itself_in_any_order(order: list[int], seed: int) -> None:
    random = np.random.default_rng(seed)
    arrays = [random.standard_normal((5, 7)) for _ in order]
    ours = side(**{f"a{n}__w": array for n, array in enumerate(arrays)})
    theirs = side(**{f"b{n}__w": arrays[n] for n in order})
    found = {p: b for _, (p,), (b,) in named(pair_weights(ours, theirs))}
    assert found == {f"a{n}.w": f"b{n}.w" for n in order}
