"""Equal calls in another order pair crosswise; an optimizer's by the parameter they update."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builder.dump.reader import read_dump
from builder.match.manual_file import MappedPair
from builder.match.nodes import MatchRules, match_trees
from builder.match.tree import Tree, build_tree
from builder.match.updated_parameters import renamed_parameter
from tests.builder.dumps import forward, tensor, write_dump

BLOCK = "Module.block.Block.forward.0"


def tree(folder: Path, norms: list[float], names: list[str] | None = None) -> Tree:
    """Calls of one module, each reading a tensor of the given size."""
    data: dict[str, object] = {BLOCK: forward([tensor()], [tensor()])}
    construct: dict[str, str | None] = {BLOCK: None}
    for n, norm in enumerate(norms):
        name = names[n] if names else f"Torch.mm.{n}.forward"
        data[name] = forward([tensor(norm)], [tensor(norm * 3)])
        construct[name] = BLOCK
    return build_tree(read_dump(write_dump(folder, data, construct)))


def partners(ours: Tree, theirs: Tree) -> dict[str, tuple[str, str]]:
    found = match_trees(ours, theirs)
    return {
        node.name: (found.partner[node].name, found.reason[node])
        for node in ours.in_order
        if node in found.partner and node.kind == "api"
    }


def test_two_calls_in_another_order_pair_by_what_they_hold(tmp_path: Path) -> None:
    found = partners(tree(tmp_path / "p", [1.0, 5.0]), tree(tmp_path / "b", [5.0, 1.0]))
    assert found == {
        "Torch.mm.0.forward": ("Torch.mm.1.forward", "crosswise"),
        "Torch.mm.1.forward": ("Torch.mm.0.forward", "crosswise"),
    }


def test_calls_that_merely_differ_stay_in_their_order(tmp_path: Path) -> None:
    found = partners(tree(tmp_path / "p", [1.0, 5.0]), tree(tmp_path / "b", [5.0, 2.0]))
    # The first of ours is the benchmark's second no more than its first: one equal call crosses
    # only with its own twin, and the other takes what is left.
    assert found["Torch.mm.1.forward"] == ("Torch.mm.0.forward", "crosswise")
    assert found["Torch.mm.0.forward"] == ("Torch.mm.1.forward", "aligned")
    same = partners(tree(tmp_path / "q", [1.0, 1.0]), tree(tmp_path / "c", [2.0, 2.0]))
    assert [reason for _, reason in same.values()] == ["aligned", "aligned"]


def test_what_rounds_otherwise_in_a_coarse_format_crosses_with_nothing(tmp_path: Path) -> None:
    def rounded(folder: str, norms: list[float], dtype: str) -> Tree:
        named = {f"Torch.mm.{n}.forward": norm for n, norm in enumerate(norms)}
        data: dict[str, object] = {
            name: forward([tensor(norm, dtype=dtype)], []) for name, norm in named.items()
        }
        return build_tree(read_dump(write_dump(tmp_path / folder, data, dict.fromkeys(data))))

    def reasons(dtype: str) -> list[str]:
        ours = rounded(f"p.{dtype}", [1.004, 1.0], dtype)
        return [r for _, r in partners(ours, rounded(f"b.{dtype}", [1.01, 1.004], dtype)).values()]

    assert reasons("torch.bfloat16") == ["aligned", "aligned"]
    assert "crosswise" in reasons("torch.float32")


def test_unlike_calls_in_another_order_both_find_their_partners(tmp_path: Path) -> None:
    names = ["Torch.relu.0.forward", "Torch.mm.0.forward"]
    ours = tree(tmp_path / "p", [1.0, 5.0], names)
    theirs = tree(tmp_path / "b", [5.0, 1.0], names[::-1])
    assert {n: p for n, (p, _) in partners(ours, theirs).items()} == {n: n for n in names}


@given(st.data())
def test_any_order_of_calls_that_tell_themselves_apart_is_found(data: st.DataObject) -> None:
    import tempfile

    size = data.draw(st.integers(1, 7))
    order = data.draw(st.permutations(range(size)))
    with tempfile.TemporaryDirectory() as folder:
        ours = tree(Path(folder) / "p", [10.0**n for n in range(size)])
        theirs = tree(Path(folder) / "b", [10.0**n for n in order])
    for name, (partner, _) in partners(ours, theirs).items():
        assert order[int(partner.split(".")[2])] == int(name.split(".")[2])
    assert len(partners(ours, theirs)) == size


def optimizer_tree(folder: Path, order: list[str], modules: tuple[str, ...] = ()) -> Tree:
    """A plain optimizer: a product and a sum for each parameter."""
    norms = {name: 2.0 + n for n, name in enumerate(sorted({"a", "b", "c", *order}))}
    data: dict[str, object] = {name: forward([tensor()], [tensor()]) for name in modules}
    construct: dict[str, str | None] = {**dict.fromkeys(modules), "optimizer": None}
    for n, name in enumerate(order):
        decay, step = f"Tensor.mul_.{n}.forward", f"Tensor.add_.{n}.forward"
        data[decay] = forward([tensor(9.0), 0.9], [tensor(8.0)])
        data[step] = forward([tensor(norms[name])], [tensor(norms[name] + 0.5)])
        construct |= {decay: "optimizer", step: "optimizer"}
    header = {
        "Optimizer.SGD.step.0": {"parameters": {n: tensor(norms[n]) for n in order}, "input": {}}
    }
    return build_tree(read_dump(write_dump(folder, data, construct, optimizer=header)))


def test_an_optimizer_that_goes_another_way_pairs_by_parameter(tmp_path: Path) -> None:
    ours = optimizer_tree(tmp_path / "p", ["a", "b", "c"])
    theirs = optimizer_tree(tmp_path / "b", ["c", "a"])
    found = {name: partner for name, (partner, _) in partners(ours, theirs).items()}
    assert found == {
        "Tensor.mul_.0.forward": "Tensor.mul_.1.forward",
        "Tensor.add_.0.forward": "Tensor.add_.1.forward",
        "Tensor.mul_.2.forward": "Tensor.mul_.0.forward",
        "Tensor.add_.2.forward": "Tensor.add_.0.forward",
    }


def test_what_an_optimizer_does_to_a_parameter_of_one_run_alone_says_so(tmp_path: Path) -> None:
    ours = optimizer_tree(tmp_path / "p", ["a", "up.w"])
    theirs = optimizer_tree(tmp_path / "b", ["a", "down.w"])
    found = match_trees(ours, theirs)
    for tree_, name in ((ours, "up.w"), (theirs, "down.w")):
        calls = [tree_.by_name[f"Tensor.{call}_.1.forward"] for call in ("mul", "add")]
        assert [found.reason[call] for call in calls] == [f"other_parameter:{name}"] * 2


@pytest.mark.parametrize("weight", ["w", "gain"])  # which a port may call otherwise, too
def test_an_optimizer_of_renamed_modules_pairs_by_what_their_parameters_are_called_there(
    weight: str, tmp_path: Path
) -> None:
    ours = optimizer_tree(tmp_path / "p", ["units.0.w", "out.w"], ("Module.units.0.Mix.forward.0",))
    theirs = optimizer_tree(
        tmp_path / "b", ["out.w", f"stages.0.{weight}"], ("Module.stages.0.Mix.forward.0",)
    )
    pair = MappedPair("Module.units.0.Mix.forward.0", "Module.stages.0.Mix.forward.0", True)
    found = match_trees(ours, theirs, MatchRules(manual=[pair]))
    adds = [ours.by_name[f"Tensor.add_.{n}.forward"] for n in (0, 1)]
    assert [found.partner[call].name for call in adds] == [
        "Tensor.add_.1.forward",
        "Tensor.add_.0.forward",
    ]


def test_of_two_parameters_of_other_names_none_is_guessed(tmp_path: Path) -> None:
    ours = optimizer_tree(tmp_path / "p", ["m.a", "m.b", "out.w"], ("Module.m.Mix.forward.0",))
    theirs = optimizer_tree(tmp_path / "b", ["m.c", "m.d", "out.w"], ("Module.m.Mix.forward.0",))
    found = match_trees(ours, theirs)
    adds = [ours.by_name[f"Tensor.add_.{n}.forward"] for n in range(3)]
    assert [call in found.partner for call in adds] == [False, False, True]


def test_a_parameter_is_called_by_the_nearest_module_that_has_a_partner() -> None:
    paths = {"units.0": "stages.0", "units.0.up": "stages.0.wide", "up": "down"}
    assert renamed_parameter("units.0.up.weight", paths) == "stages.0.wide.weight"
    assert renamed_parameter("units.0.norm.inner.bias", paths) == "stages.0.norm.inner.bias"
    assert renamed_parameter("units.1.up.weight", paths) == "units.1.up.weight"


def test_another_class_at_the_same_path_is_a_partner_and_says_so(tmp_path: Path) -> None:
    def one(folder: Path, name: str) -> Tree:
        module, call = f"Module.attn.{name}.forward.0", "Torch.mm.0.forward"
        data: dict[str, object] = {n: forward([tensor()], [tensor()]) for n in (module, call)}
        return build_tree(read_dump(write_dump(folder, data, {module: None, call: module})))

    ours, theirs = one(tmp_path / "p", "Attention"), one(tmp_path / "b", "SdpaAttention")
    found = match_trees(ours, theirs)
    module = ours.by_name["Module.attn.Attention.forward.0"]
    assert found.reason[module] == "path"
    assert ours.by_name["Torch.mm.0.forward"] in found.partner


@given(st.permutations(["a.weight", "a.bias", "b.weight", "b.bias", "c.weight"]))
def test_updates_pair_by_their_parameter_in_any_order(order: list[str]) -> None:
    with TemporaryDirectory() as folder:
        sides = []
        for side, parameters in (("p", sorted(order)), ("b", order)):
            names = [f"Optimizer.{parameter}.0.forward" for parameter in parameters]
            sides.append(tree(Path(folder) / side, [1.0] * len(names), names))
        found = partners(sides[0], sides[1])
    assert {name: partner for name, (partner, _) in found.items()} == {name: name for name in found}
    assert len(found) == len(order)


def test_an_update_that_pairs_by_its_name_is_of_both_whatever_a_header_holds(
    tmp_path: Path,
) -> None:
    module = "Module.m.M.forward.0"

    def updates(folder: Path, held: list[str]) -> Tree:
        norms = {"a": 2.0, "b": 3.0}
        data: dict[str, object] = {module: forward([tensor()], [tensor()])}
        data["Tensor.mul_.0.forward"] = forward([tensor(2.0), 0.9], [tensor(2.0)])
        for name, norm in norms.items():
            data[f"Optimizer.{name}.0.forward"] = forward([tensor(norm)], [tensor(norm + 0.5)])
        calls = dict.fromkeys(name for name in data if name != module)
        construct: dict[str, str | None] = {module: None, "optimizer": None}
        construct |= dict.fromkeys(calls, "optimizer")
        parameters = {name: tensor(norms[name]) for name in held}
        header = {"Optimizer.SGD.step.0": {"parameters": parameters, "input": {}}}
        return build_tree(read_dump(write_dump(folder, data, construct, optimizer=header)))

    # Of several ranks the header of one is read, and others hold the other parameters.
    ours, theirs = updates(tmp_path / "p", ["a"]), updates(tmp_path / "b", ["a", "b"])
    found = match_trees(ours, theirs)
    for name in ("Optimizer.a.0.forward", "Optimizer.b.0.forward"):
        assert found.partner[ours.by_name[name]] is theirs.by_name[name]
        assert found.reason[ours.by_name[name]] == found.reason[theirs.by_name[name]] == "name"


def loop(folder: Path, picked: list[float], readers: list[float]) -> Tree:
    """Turns of a loop: each picks a tensor, and what reads one stands behind it."""
    data: dict[str, object] = {BLOCK: forward([tensor()], [tensor()])}
    construct: dict[str, str | None] = {BLOCK: None}
    for turn, (norm, read) in enumerate(zip(picked, readers, strict=True)):
        calls = {
            f"Tensor.gather.{turn}.forward": forward([tensor(99.0), tensor(norm)], [tensor(norm)]),
            f"Torch.mm.{turn}.forward": forward([tensor(read)], [tensor(7.0 * read + turn)]),
        }
        data |= calls
        construct |= dict.fromkeys(calls, BLOCK)
    return build_tree(read_dump(write_dump(folder, data, construct)))


def test_turns_that_take_what_the_turn_before_should_take_stay(tmp_path: Path) -> None:
    turns, shifted = [1.0, 2.0, 3.0, 4.0], [4.0, 1.0, 2.0, 3.0]
    found = partners(loop(tmp_path / "p", shifted, shifted), loop(tmp_path / "b", turns, turns))
    gathered = {name: told for name, told in found.items() if "gather" in name}
    assert gathered == {name: (name, "aligned") for name in gathered}
    assert len(gathered) == len(turns)


def test_turns_in_another_order_cross_where_their_readers_are_partners(tmp_path: Path) -> None:
    turns, shifted = [1.0, 2.0, 3.0, 4.0], [4.0, 1.0, 2.0, 3.0]
    # One call behind all of them reads what each turn picks.
    ours, theirs = (
        loop(tmp_path / side, own, [50.0] * 4)
        for side, own in zip("pb", (shifted, turns), strict=True)
    )
    found = partners(ours, theirs)
    assert found["Tensor.gather.0.forward"] == ("Tensor.gather.3.forward", "crosswise")
    assert found["Tensor.gather.1.forward"] == ("Tensor.gather.0.forward", "crosswise")
