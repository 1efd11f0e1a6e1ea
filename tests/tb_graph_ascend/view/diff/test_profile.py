"""The strip over execution order: a pass has modules; loose calls do not begin one."""

from __future__ import annotations

from builder.results.followers.rows import merge
from tb_graph_ascend.view.diff.profile import profile_of
from tb_graph_ascend.view.diff.words import words_of
from tests.builder.results.followers.sides import Entry, both


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


def test_a_region_that_clips_gradients_is_no_module() -> None:
    both_passes = module(0, "forward"), module(0, "backward")
    clipping, update = (Entry(name, direction="forward") for name in ("clip_grad", "optimizer"))
    assert passes(*both_passes, clipping) == ["forward", "backward", "after_backward"]
    found = passes(*both_passes, clipping, update, module(1, "forward"))
    assert found == ["forward", "backward", "after_backward", "optimizer", "forward"]


def test_the_next_micro_step_is_forward_again() -> None:
    found = passes(module(0, "forward"), module(0, "backward"), REDUCE, module(1, "forward"), CLIP)
    assert found == ["forward", "backward", "after_backward", "forward"]


def test_calls_of_the_optimizer_belong_to_it() -> None:
    step = call("Optimizer.step.0")
    found = passes(module(0, "forward"), module(0, "backward"), REDUCE, step, call("Tensor.add_.0"))
    assert found == ["forward", "backward", "after_backward", "optimizer"]


def test_without_modules_only_what_is_differentiated_begins_the_next_forward_pass() -> None:
    first = call("Tensor.mul.0"), call("Tensor.mul.0", "backward")
    assert passes(*first, call("Tensor.add.0")) == ["forward", "backward", "after_backward"]
    second = call("Tensor.mul.1"), call("Tensor.mul.1", "backward")
    found = passes(*first, CLIP, *second, call("Tensor.addcdiv_.0"))
    assert found == ["forward", "backward", "after_backward"] * 2


def test_without_any_gradient_all_calls_are_one_forward_pass() -> None:
    assert passes(call("Tensor.mul.0"), call("Tensor.add.0")) == ["forward"]


def test_a_block_says_how_much_of_it_differs() -> None:
    layers = [Entry(f"Module.layers.{n}.Layer.forward.0", 0, 1 + 5 * n) for n in range(5)]
    entries = [Entry("root", match=0)]
    for n, layer in enumerate(layers):
        entries.append(layer._replace(score=0.0))
        calls = [
            Entry(f"Tensor.add.{4 * n + k}.forward", 1 + 5 * n, 2 + 5 * n + k) for k in range(4)
        ]
        entries += [
            one._replace(kind="api", score=1.0 if (n, k) == (2, 1) else 0.0)
            for k, one in enumerate(calls)
        ]
    rows = merge(*both(entries, entries))
    blocks = profile_of(rows, words_of(rows, (), 0.25)).blocks
    outer = [block for block in blocks if block.lane == 0]
    assert [block.share for block in outer] == [0, 0, 0.2, 0, 0]
    assert outer[2].worst == 1.0
