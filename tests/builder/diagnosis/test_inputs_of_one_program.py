"""What one of two programs alone hands to a module is told: the others alone agree."""

from __future__ import annotations

from pathlib import Path

import builder
from tests.builder.dumps import forward, tensor, write_dump

NORMS = (5.0, 6.0, 7.0)


def program(folder: Path, name: str, factor: float, *given: float) -> Path:
    """Three layers with a weight each; `given` is handed to all, `factor` is of the last."""
    entries = {
        f"Module.{name}.{at}.Linear.forward.0": forward(
            [tensor(1.0 + at), *map(tensor, given)],
            [tensor((factor if at + 1 == len(NORMS) else 1.0) * (2.0 + at))],
            parameters={"weight": tensor(norm)},
        )
        for at, norm in enumerate(NORMS)
    }
    return write_dump(folder / "step0" / "rank", entries, dict.fromkeys(entries), {}).parents[1]


def reasons(tmp_path: Path, *given: float) -> list[str]:
    ours = program(tmp_path / "a", "blocks", 1.5, *given)
    theirs = program(tmp_path / "b", "layers", 1.0)
    first, *_ = builder.diagnose(builder.build(ours, theirs, tmp_path / "o").path).findings
    assert first.node == "Module.blocks.2.Linear.forward.0"
    return first.reasons


def test_an_input_of_one_program_alone_is_told(tmp_path: Path) -> None:
    agree, *others = reasons(tmp_path, 3.0)
    assert agree.startswith("its inputs agree")
    assert others == [
        "the argument input.1 is a float32 tensor here and not given in the benchmark"
    ]


def test_of_many_the_first_two_are_told_and_of_none_nothing(tmp_path: Path) -> None:
    told = reasons(tmp_path / "many", 3.0, 4.0, 5.0)[1:]
    assert [line.split()[2] for line in told] == ["input.1", "input.2"]
    assert len(reasons(tmp_path / "none")) == 1
