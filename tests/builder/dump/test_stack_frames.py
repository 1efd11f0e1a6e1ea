"""Which frames of a stack are named: a library's model counts, torch and this package do not."""

from __future__ import annotations

import pytest

from builder.dump.stack_frames import (
    SourceLine,
    line_there,
    model_frame,
    place_lines,
    source_lines,
    telling_frame,
)

SITE = "/env/lib/python3.11/site-packages"
TORCH = f"File {SITE}/torch/nn/modules/module.py, line 1, in inner, \n result = f()"
PROBE = f"File {SITE}/msprobe_core/torch/watch/calls.py, line 5, in call, \n return f()"
LLAMA = f"File {SITE}/transformers/models/llama/modeling_llama.py, line 155, in forward, \n a = b"
STANDARD = "File /usr/lib/python3.11/contextlib.py, line 81, in inner, \n return func()"
OWN = "File /job/train.py, line 9, in <module>, \n loss = model(x)"

LLAMA_LINE, OWN_LINE, TORCH_LINE = (" ".join(line.split()) for line in (LLAMA, OWN, TORCH))


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        ([TORCH, PROBE, LLAMA, TORCH, STANDARD, OWN], [LLAMA_LINE, OWN_LINE]),
        ([TORCH, OWN, LLAMA], [OWN_LINE]),
        ([TORCH, LLAMA], [LLAMA_LINE]),
        ([TORCH, PROBE], [TORCH_LINE]),
        (["no frame"], []),
        ([], []),
    ],
)
def test_the_place_and_the_users_own_line(stack: list[str], expected: list[str]) -> None:
    assert place_lines(stack) == expected


def test_the_place_is_the_models_frame() -> None:
    frame = model_frame([TORCH, LLAMA, OWN])
    assert frame is not None
    assert (frame.place, frame.code) == ("modeling_llama.py:155 in forward", "a = b")


def test_the_same_frames_are_taken_apart() -> None:
    site = "/env/lib/python3.11/site-packages"
    stack = [
        f"File {site}/torch/nn/modules/module.py, line 1, in inner, \n return f()",
        f"File {site}/transformers/modeling_llama.py, line 155, in forward, \n a = b * c",
        "File /job/train.py, line 9, in <module>, \n loss = model(x)",
    ]
    model = SourceLine(f"{site}/transformers/modeling_llama.py", 155, "forward", "a = b * c")
    own = SourceLine("/job/train.py", 9, "<module>", "loss = model(x)")
    assert source_lines(stack) == [model, own]
    assert telling_frame(stack) == model_frame(stack)  # a library's model keeps its name
    assert source_lines(stack[2:]) == [own]
    assert source_lines(["no frame"]) == []


def test_of_a_helper_the_line_that_calls_it_is_told() -> None:
    def stack(code: str, *around: tuple[str, str]) -> list[str]:
        frames = [("/job/run.py, line 49, in <lambda>", code), *around]
        return [TORCH, *(f"File {place}, {line}" for place, line in frames)]

    main = ("/job/run.py, line 80, in <module>", "main()")
    twice = stack("x * scale", ("/job/run.py, line 50, in main", "y = double(double(x))"), main)
    once = stack("x * scale", ("/job/run.py, line 51, in main", "y = double(x)"), main)
    assert [line.line for line in source_lines(twice)] == [49, 50]  # one run alone makes the call
    assert [line.line for line in source_lines(twice, once)] == [49, 50]  # reads otherwise
    assert [line.line for line in source_lines(twice, twice)] == [49]
    other = line_there(twice, once, called_otherwise=False)
    assert other is not None and other.code == "y = double(x)"
    named = telling_frame(twice, once)
    assert named is not None and named.place == "run.py:50 in main"

    # The line itself reads otherwise: nothing around it tells more.
    moved = stack("x * 2", ("/job/run.py, line 51, in main", "y = double(x)"), main)
    assert [line.line for line in source_lines(twice, moved)] == [49]
    # Other functions around it are no other lines of the same; a call of `main` tells nothing.
    elsewhere = stack("x * scale", ("/job/run.py, line 9, in warm", "y = double(x)"), main)
    assert [line.line for line in source_lines(twice, elsewhere)] == [49]
    assert [line.line for line in source_lines([f"File {main[0]}, {main[1]}"])] == [80]
    step = ["File /job/run.py, line 3, in main, y = net(x)", f"File {main[0]}, {main[1]}"]
    assert [line.line for line in source_lines(step)] == [3]


def test_the_benchmarks_line_is_told_where_it_tells_something() -> None:
    def at(code: str, own: str = "") -> list[str]:
        library = "/venv/lib/python3.11/site-packages/models/llama.py"
        frames = [f"File {library if own else '/job/net.py'}, line 3, in forward, {code}"]
        return [*frames, f"File /job/train.py, line 9, in <module>, {own}"] if own else frames

    other = line_there(at("y = x * 2"), at("y = x * 3"), called_otherwise=False)
    assert other is not None and other.told == "File /job/net.py, line 3, in forward, y = x * 3"
    assert line_there(at("y = x"), at("y  =  x"), called_otherwise=False) is None
    same = line_there(at("y = x"), at("y = x"), called_otherwise=True)
    assert same is not None and same.code == "y = x"  # what is given comes from elsewhere
    assert line_there(at("y = x"), [], called_otherwise=True) is None
    own = at("sdpa(q)", "net(x, 0.5)"), at("sdpa(q)", "net(x, 1.0)")
    found = line_there(*own, called_otherwise=True)
    assert found is not None and found.code == "net(x, 1.0)"
    assert line_there(*own, called_otherwise=False) is None
