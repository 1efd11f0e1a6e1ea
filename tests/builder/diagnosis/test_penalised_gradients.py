"""A penalty on gradients: what is computed of them comes before the pass through them."""

from __future__ import annotations

from pathlib import Path

import pytest

from builder.dump.reader import read_dump
from builder.match.tree import Tree, build_tree
from builder.reasons import ArgumentDiffers, UpdatedAlone
from tests.builder.diagnosis.adversarial_nets import Fault, found, recorded


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Tree:
    path = recorded(tmp_path_factory.mktemp("run"), Fault())
    return build_tree(read_dump(next((path / "step0").iterdir())))


def test_what_is_computed_of_gradients_runs_forward(tree: Tree) -> None:
    norm = tree.by_name["Tensor.norm.0.forward"]
    assert norm.phase == "forward"
    assert norm.backward is not None
    before, behind = (tree.by_name[f"Tensor.{name}.backward"] for name in ("sum.3", "norm.0"))
    assert before.in_step < norm.in_step < behind.in_step


def test_what_the_second_pass_alone_reaches_is_part_of_it(tree: Tree) -> None:
    label = tree.by_name["Module.judge.label.Embedding.backward.2"]
    assert label.parent is not None
    assert label.parent.name == "Module.judge.Judge@2.backward.2"
    assert label.in_step > tree.by_name["Tensor.norm.0.backward"].in_step


def test_gradients_of_fewer_passes_than_calls_are_of_the_last_that_ran(tree: Tree) -> None:
    first, second = (
        tree.by_name[f"Module.judge.last.Linear.parameters_grad.{n}"].parent for n in (0, 1)
    )
    assert first is not None
    assert second is not None
    assert (first.name, second.name) == (
        "Module.judge.last.Linear.backward.0",
        "Module.judge.last.Linear.backward.3",
    )


def test_a_call_is_known_of_each_pass_through_it(tree: Tree) -> None:
    second = next(node for node in tree.in_order if node.name.startswith("Functional.linear@2."))
    name = second.name.replace("@2", "")
    call = tree.by_name[name.replace("backward", "forward")]
    assert second.forward is None
    assert second.goes_through is call
    assert call.backward is tree.by_name[name]


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (Fault(over=0), "Tensor.norm.0.forward"),
        (Fault(centre=0.0), "Tensor.__sub__.1.forward"),
        (Fault(weight=1.0), "Tensor.__rmul__.0.forward"),
        (Fault(slope=0.01), "Functional.leaky_relu.0.forward"),
    ],
    ids=["axis", "centre", "weight", "slope"],
)
def test_a_fault_of_the_penalty_is_the_one_cause(tmp_path: Path, fault: Fault, name: str) -> None:
    (finding,) = found(tmp_path, fault, Fault())
    assert (finding.name, finding.step) == (name, 0)
    assert isinstance(finding.reasons[0], ArgumentDiffers)


def test_equal_runs_have_none(tmp_path: Path) -> None:
    assert found(tmp_path, Fault(), Fault()) == ()


@pytest.mark.parametrize("net", ["maker", "judge"])
def test_what_one_optimizer_lacks_stands_beside_another_fault(tmp_path: Path, net: str) -> None:
    first, second = found(tmp_path, Fault(over=0, forgets=net), Fault())
    assert first.name == "Tensor.norm.0.forward"
    assert second.reasons[0] == UpdatedAlone("benchmark", f"{net}.last.weight, {net}.last.bias", 2)
    assert second.stands_alone
    assert second.basis == "recorded"


@pytest.mark.parametrize("net", ["maker", "judge"])
def test_what_one_optimizer_lacks_is_named_alone(tmp_path: Path, net: str) -> None:
    (finding,) = found(tmp_path, Fault(), Fault(forgets=net))
    assert finding.reasons[0] == UpdatedAlone("problem", f"{net}.last.weight, {net}.last.bias", 2)
    assert finding.basis == "recorded"
