"""Which frames of a stack are named: a library's model counts, torch and this package do not."""

from __future__ import annotations

import pytest

from builder.dump.stack_frames import SourceLine, model_frame, place_lines, source_lines

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
    assert source_lines(stack[2:]) == [own]
    assert source_lines(["no frame"]) == []
