"""Matching: insertions, order, backward partners, several frameworks, manual pairs."""

from __future__ import annotations

from pathlib import Path

from builder.dump.reader import read_dump
from builder.match.manual_file import MappedPair
from builder.match.nodes import Matching, MatchRules, match_trees
from builder.match.tree import Tree, build_tree
from tests.builder.dumps import backward, forward, tensor, write_dump

BLOCK = "Module.block.Block.forward.0"


def tree(folder: Path, calls: list[str], parent: str | None = BLOCK, **head: object) -> Tree:
    data: dict[str, object] = {name: forward([tensor()], [tensor()]) for name in calls}
    construct: dict[str, str | None] = dict.fromkeys(calls, parent)
    if parent is not None:
        data[parent] = forward([tensor()], [tensor()])
        construct[parent] = None
    return build_tree(read_dump(write_dump(folder, data, construct, **head)))


def partners(matching: Matching) -> dict[str, str]:
    return {
        node.name: matching.partner[node].name
        for node in matching.problem.in_order
        if node in matching.partner and node.kind != "root"
    }


def test_an_inserted_call_shifts_nothing(tmp_path: Path) -> None:
    ours = tree(
        tmp_path / "p", ["Torch.relu.0.forward", "Torch.mm.0.forward", "Torch.mm.1.forward"]
    )
    theirs = tree(tmp_path / "b", ["Torch.relu.0.forward", "Torch.mm.0.forward"])
    matching = match_trees(ours, theirs)
    assert partners(matching)["Torch.mm.0.forward"] == "Torch.mm.0.forward"
    assert matching.reason[ours.by_name["Torch.mm.1.forward"]] == "absent"


def test_backward_follows_its_forward_partner(tmp_path: Path) -> None:
    def make(folder: Path, first: int) -> Tree:
        calls = [f"Torch.mm.{first}.forward", f"Torch.mm.{first + 1}.forward"]
        data: dict[str, object] = {name: forward([tensor()], [tensor()]) for name in calls}
        for call in (first, first + 1):  # an order of its own: not the reverse of the forward
            data[f"Torch.mm.{call}.backward"] = backward([tensor()], [tensor()])
        return build_tree(read_dump(write_dump(folder, data, dict.fromkeys(data))))

    found = partners(match_trees(make(tmp_path / "p", 1), make(tmp_path / "b", 5)))
    assert found["Torch.mm.1.backward"] == "Torch.mm.5.backward"
    assert found["Torch.mm.2.backward"] == "Torch.mm.6.backward"


def test_modules_that_changed_places_still_match_by_name(tmp_path: Path) -> None:
    names = ["Module.a.A.forward.0", "Module.b.B.forward.0"]
    ours = tree(tmp_path / "p", names, None)
    theirs = tree(tmp_path / "b", names[::-1], None)
    assert partners(match_trees(ours, theirs)) == {name: name for name in names}


def test_mindspore_cells_match_modules_and_mint_calls_match_torch_calls(tmp_path: Path) -> None:
    ours = tree(
        tmp_path / "p", ["Mint.mm.0.forward"], "Cell.block.Block.forward.0", framework="mindspore"
    )
    theirs = tree(tmp_path / "b", ["Torch.mm.0.forward"])
    assert partners(match_trees(ours, theirs)) == {
        "Cell.block.Block.forward.0": BLOCK,
        "Mint.mm.0.forward": "Torch.mm.0.forward",
    }


def test_modules_pair_by_position_on_request(tmp_path: Path) -> None:
    ours = tree(tmp_path / "p", ["Module.x.New.forward.0", "Module.y.New.forward.0"], None)
    theirs = tree(tmp_path / "b", ["Module.a.Old.forward.0", "Module.b.Old.forward.0"], None)
    assert partners(match_trees(ours, theirs)) == {}
    assert partners(match_trees(ours, theirs, MatchRules(by_position=True))) == {
        "Module.x.New.forward.0": "Module.a.Old.forward.0",
        "Module.y.New.forward.0": "Module.b.Old.forward.0",
    }


def test_a_manual_pair_wins_over_names_and_brings_its_descendants(tmp_path: Path) -> None:
    def make(folder: Path) -> Tree:
        names = ["Module.a.A.forward.0", "Module.b.A.forward.0"]
        data = {"Torch.mm.0.forward": forward([tensor()], [tensor()])}
        construct = {"Torch.mm.0.forward": names[0], names[0]: None, names[1]: None}
        if folder.name == "b":
            construct["Torch.mm.0.forward"] = names[1]
        return build_tree(read_dump(write_dump(folder, data, construct)))

    pair = MappedPair("Module.a.A.forward.0", "Module.b.A.forward.0", descendants=True)
    matching = match_trees(make(tmp_path / "p"), make(tmp_path / "b"), MatchRules(manual=[pair]))
    found = partners(matching)
    assert found["Module.a.A.forward.0"] == "Module.b.A.forward.0"
    assert found["Torch.mm.0.forward"] == "Torch.mm.0.forward"
    assert "Module.b.A.forward.0" not in found


def test_below_a_manual_pair_modules_of_other_names_pair_in_their_order(tmp_path: Path) -> None:
    def make(folder: Path, top: str, names: list[str]) -> Tree:
        modules = [f"Module.{top}.{name}.Linear.forward.0" for name in names]
        block = f"Module.{top}.MLP.forward.0"
        data: dict[str, object] = {n: forward([tensor()], [tensor()]) for n in (block, *modules)}
        construct = {block: None, **dict.fromkeys(modules, block)}
        return build_tree(read_dump(write_dump(folder, data, construct)))

    ours = make(tmp_path / "p", "ffn", ["first", "second"])
    theirs = make(tmp_path / "b", "mlp", ["fc1", "fc2"])
    pair = MappedPair("Module.ffn.MLP.forward.0", "Module.mlp.MLP.forward.0", descendants=True)
    matching = match_trees(ours, theirs, MatchRules(manual=[pair]))
    assert partners(matching) == {
        "Module.ffn.MLP.forward.0": "Module.mlp.MLP.forward.0",
        "Module.ffn.first.Linear.forward.0": "Module.mlp.fc1.Linear.forward.0",
        "Module.ffn.second.Linear.forward.0": "Module.mlp.fc2.Linear.forward.0",
    }
    below = ours.by_name["Module.ffn.first.Linear.forward.0"]
    assert matching.reason[below] == "manual"


def test_every_node_says_why_it_has_or_lacks_a_partner(tmp_path: Path) -> None:
    ours = tree(tmp_path / "p", ["Torch.mm.0.forward", "Torch.relu.0.forward"])
    theirs = tree(tmp_path / "b", ["Torch.mm.0.forward"])
    matching = match_trees(ours, theirs)
    assert set(matching.reason) == {*ours.in_order, *theirs.in_order}


def test_gradients_of_a_module_whose_backward_pass_one_side_lacks(tmp_path: Path) -> None:
    module, gradient = "Module.norm.BatchNorm2d", "Module.norm.BatchNorm2d.parameters_grad.0"

    def make(folder: Path, *, passes_back: bool) -> Tree:
        data: dict[str, object] = {
            f"{module}.forward.0": forward([tensor()], [tensor()]),
            gradient: {"weight": [tensor()]},
        }
        construct: dict[str, str | None] = dict.fromkeys(data)
        if passes_back:
            data[f"{module}.backward.0"] = backward([tensor()], [tensor()])
            construct |= {f"{module}.backward.0": None, gradient: f"{module}.backward.0"}
        return build_tree(read_dump(write_dump(folder, data, construct)))

    with_it = make(tmp_path / "with", passes_back=True)
    without = make(tmp_path / "without", passes_back=False)
    for sides in ((with_it, without), (without, with_it)):
        assert partners(match_trees(*sides))[gradient] == gradient
