"""Names that differ by a pattern: prefixes, wrappers, other words for the same layers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.dump.reader import read_dump
from builder.match.nodes import MatchRules, match_trees
from builder.match.renaming import NamedModule, Pattern, find_renaming
from builder.match.tree import Tree, build_tree
from tests.builder.dumps import forward, tensor, write_dump
from tests.told import facts

OURS = {
    "": ("model.", "model.layers", "lm_head"),
    "words": ("embed_tokens", "self_attn", "q_proj", "k_proj", "o_proj", "mlp", "up", "down"),
}
THEIRS = {
    "": ("transformer.", "transformer.h", "output_layer"),
    "words": ("wte", "attn", "query", "key", "out", "ffn", "w1", "w2"),
}


def decoder(names: dict[str, tuple[str, ...]], layers: int, prefix: str = "") -> list[NamedModule]:
    """A decoder as two code bases write it: the same shapes under other words."""
    top, stack, head = (prefix + name for name in names[""])
    embed, attn, query, key, out, mlp, up, down = names["words"]
    listed = [NamedModule(f"{top}{embed}", "Embedding", ((64, 32),))]
    for n in range(layers):
        layer = f"{stack}.{n}"
        listed += [
            NamedModule(layer, "Layer"),
            NamedModule(f"{layer}.{attn}", "Attention"),
            *(NamedModule(f"{layer}.{attn}.{w}", "Linear", ((32, 32),)) for w in (query, key, out)),
            NamedModule(f"{layer}.{mlp}", "MLP"),
            NamedModule(f"{layer}.{mlp}.{up}", "Linear", ((64, 32),)),
            NamedModule(f"{layer}.{mlp}.{down}", "Linear", ((32, 64),)),
        ]
    return [*listed, NamedModule(head, "Linear", ((64, 32),))]


def test_equal_names_are_no_renaming() -> None:
    modules = decoder(OURS, 3)
    found = find_renaming(modules, modules)
    assert (found.patterns, found.renamed) == ((), ())
    assert found.pairs == {module.path: module.path for module in modules}


def test_other_words_for_every_layer_are_one_pattern_each() -> None:
    found = find_renaming(decoder(OURS, 12), decoder(THEIRS, 12))
    assert Pattern("TopLayer", "model.layers", "transformer.h", 12) in found.patterns
    assert Pattern("Attention", "k_proj", "key", 12) in found.patterns
    assert len(found.patterns) == 10
    assert set(found.pairs) == {module.path for module in decoder(OURS, 12)}


@given(
    st.integers(1, 4), st.sampled_from(["module.", "base_model.model.", "a.b.c."]), st.booleans()
)
def test_a_wrapper_is_taken_off_or_put_on(layers: int, prefix: str, on_ours: bool) -> None:
    plain, wrapped = decoder(OURS, layers), decoder(OURS, layers, prefix)
    ours, theirs = (wrapped, plain) if on_ours else (plain, wrapped)
    found = find_renaming(ours, theirs)
    assert found.pairs == {one.path: other.path for one, other in zip(ours, theirs, strict=True)}
    assert len(found.patterns) <= 3


@pytest.mark.parametrize("on_ours", [True, False])
@pytest.mark.parametrize("head", ["lm_head", "logits"])
def test_what_stands_beside_a_wrapper_finds_its_partner_too(on_ours: bool, head: str) -> None:
    names = {"": ("", "tower", head), "words": ("wte", "mix", "q", "k", "o", "feed", "w1", "w3")}
    flat, wrapped = decoder(names, 3), decoder(OURS, 3)
    other = NamedModule("scorer", "Scorer", ((5, 7),))  # which one run alone has
    wrapped = [NamedModule("model", "Model"), *wrapped, other]
    expected = {one.path: two.path for one, two in zip(flat, wrapped[1:], strict=False)}
    if on_ours:
        found = find_renaming(wrapped, flat)
        assert found.pairs == {two: one for one, two in expected.items()}
    else:
        assert find_renaming(flat, wrapped).pairs == expected


WORD = st.text("abcdefghij", min_size=1, max_size=5)


@st.composite
def renamed_models(draw: st.DrawFn) -> tuple[list[NamedModule], list[NamedModule], dict[str, str]]:
    """A random model whose parameters tell its modules apart, and the same under other names."""
    size = draw(st.integers(1, 12))
    parents = [draw(st.integers(-1, n - 1)) for n in range(size)]
    ours: list[str] = []
    theirs: list[str] = []
    for n, parent in enumerate(parents):
        name = f"m{n}"
        other = draw(st.sampled_from([name, f"{draw(WORD)}{n}"]))
        ours.append(f"{ours[parent]}.{name}" if parent >= 0 else name)
        theirs.append(f"{theirs[parent]}.{other}" if parent >= 0 else other)
    shapes = [((n + 1, 7), (n + 2, 3 * n + 5)) for n in range(size)]
    order = sorted(range(size), key=lambda n: parents[n])
    one = [NamedModule(ours[n], f"C{n}", shapes[n]) for n in order]
    other = [NamedModule(theirs[n], f"C{n}", shapes[n]) for n in order]
    return one, other, dict(zip(ours, theirs, strict=True))


@given(renamed_models())
def test_pairs_are_one_to_one_and_never_fewer_than_equal_names(
    models: tuple[list[NamedModule], list[NamedModule], dict[str, str]],
) -> None:
    one, other, _ = models
    found = find_renaming(one, other)
    equal = {module.path for module in one} & {module.path for module in other}
    assert len(equal) <= len(found.pairs)
    assert len(set(found.pairs.values())) == len(found.pairs)
    assert set(found.pairs) <= {module.path for module in one}
    assert set(found.pairs.values()) <= {module.path for module in other}


def tree(folder: Path, modules: list[NamedModule]) -> Tree:
    data: dict[str, object] = {}
    construct: dict[str, str | None] = {}
    names: dict[str, str] = {}
    for module in modules:
        name = f"Module.{module.path}.{module.type_name}.forward.0"
        names[module.path] = name
        weights = {f"w{n}": tensor(shape=list(s)) for n, s in enumerate(module.shapes)}
        data[name] = forward([tensor()], [tensor()]) | {"parameters": weights}
        above = module.path.rpartition(".")[0]
        while above and above not in names:
            above = above.rpartition(".")[0]
        construct[name] = names.get(above)
    return build_tree(read_dump(write_dump(folder, data, construct)))


def test_position_pairs_a_renamed_port_whole(tmp_path: Path) -> None:
    ours, theirs = tree(tmp_path / "p", decoder(OURS, 4)), tree(tmp_path / "b", decoder(THEIRS, 4))
    assert len(match_trees(ours, theirs).partner) == 2  # the roots
    paired = match_trees(ours, theirs, MatchRules(by_position=True))
    assert len(paired.partner) == 2 * len(ours.in_order)


def test_each_renamed_module_says_where_names_part_and_what_speaks_for_it() -> None:
    found = find_renaming(decoder(OURS, 2), decoder(THEIRS, 2))
    parts = {module.problem: (module.benchmark, module.below) for module in found.renamed}
    assert parts["model.layers.1"] == ("transformer.h.1", ("model.layers.1", "transformer.h.1"))
    assert parts["model.layers.1.mlp"] == ("transformer.h.1.ffn", ("mlp", "ffn"))
    assert len(parts) == len(found.pairs)  # all of its words are others
    depths = [module.problem.count(".") for module in found.renamed]
    assert depths == sorted(depths)
    (layer,) = (module for module in found.renamed if module.problem == "model.layers.0")
    codes = [facts(reason)["code"] for reason in layer.reasons]
    assert codes == ["same_parameters", "same_class", "same_inside", "same_place"]
    assert (facts(layer.reasons[0])["count"], facts(layer.reasons[2])["count"]) == (5, 7)


def test_what_stands_as_known_is_kept_and_looked_into() -> None:
    ours, theirs = decoder(OURS, 2), decoder(THEIRS, 2)
    known = {"model.layers.0": "transformer.h.1", "model.layers.0.mlp": "transformer.h.1.ffn"}
    found = find_renaming(ours, theirs, known)
    assert {path: found.pairs[path] for path in known} == known
    assert found.pairs["model.layers.0.mlp.up"] == "transformer.h.1.ffn.w1"
    assert found.pairs.get("model.layers.1") != "transformer.h.1"
    assert not set(known) & {module.problem for module in found.renamed}
    # Of equal names nobody said that they are the same where only what is around them was paired.
    one = [NamedModule("a", "A"), NamedModule("a.x", "X", ((3,),))]
    other = [NamedModule("b", "A"), NamedModule("b.x", "X", ((3,),))]
    (inside,) = find_renaming(one, other, {"a": "b"}).renamed
    assert (inside.problem, inside.benchmark, inside.below) == ("a.x", "b.x", ("x", "x"))
