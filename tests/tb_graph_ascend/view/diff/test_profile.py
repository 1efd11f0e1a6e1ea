"""The strip over execution order: a pass has modules; loose calls do not begin one."""

from __future__ import annotations

from tb_graph_ascend.view.diff.merge import merge
from tb_graph_ascend.view.diff.profile import profile_of
from tb_graph_ascend.view.diff.words import words_of
from tests.tb_graph_ascend.view.diff.sides import Entry, both


def passes(*top: Entry) -> list[str]:
    """The passes of a model with these entries right below its root, alike in both runs."""
    entries = [Entry("root", match=0)]
    entries += [entry._replace(parent=0, match=i) for i, entry in enumerate(top, 1)]
    rows = merge(*both(entries, entries))
    return [phase.name for phase in profile_of(rows, words_of(rows, (), 0.25)).phases]


def module(number: int, direction: str) -> Entry:
    return Entry(f"Module.fc.Linear.{direction}.{number}", direction=direction)


def call(name: str, direction: str = "forward") -> Entry:
    return Entry(f"{name}.{direction}", kind="api", direction=direction)


REDUCE, CLIP = call("Distributed.all_reduce.0"), call("Functional.clip_grad_norm.0")


def test_what_reduces_and_clips_gradients_stands_after_the_backward_pass() -> None:
    both_passes = module(0, "forward"), module(0, "backward")
    assert passes(*both_passes, REDUCE, CLIP) == ["forward", "backward", "after_backward"]


def test_the_next_micro_step_is_forward_again() -> None:
    found = passes(module(0, "forward"), module(0, "backward"), REDUCE, module(1, "forward"), CLIP)
    assert found == ["forward", "backward", "after_backward", "forward"]


def test_calls_of_the_optimizer_belong_to_it() -> None:
    step = call("Optimizer.step.0")
    found = passes(module(0, "forward"), module(0, "backward"), REDUCE, step, call("Tensor.add_.0"))
    assert found == ["forward", "backward", "after_backward", "optimizer"]


def test_a_model_without_modules_goes_by_the_direction_of_its_calls() -> None:
    found = passes(call("Tensor.mul.0"), call("Tensor.mul.0", "backward"), call("Tensor.add.0"))
    assert found == ["forward", "backward", "forward"]
