"""One column of nodes by their ids: names and stacks, with what is not there left out."""

from __future__ import annotations

from pathlib import Path

import builder
from tests.builder.dumps import forward, tensor, write_dump

A, B, C, D = (f"Torch.op{x}.0.forward" for x in "abcd")


def test_calls_of_one_stack_have_one_number(tmp_path: Path) -> None:
    data = {name: forward([tensor(1.0)], [tensor(2.0)]) for name in (A, B, C, D)}
    frames = ["File /job/train.py, line 9, in <module>, \n loss = model(x)"]
    other = ["File /job/train.py, line 10, in <module>, \n loss.backward()"]
    stacks = {"0": [[A, B], frames], "1": [[C], other]}
    for side in ("p", "b"):
        write_dump(tmp_path / side, data, dict.fromkeys(data), stacks)
    results = builder.open(builder.build(tmp_path / "p", tmp_path / "b", tmp_path / "out").path)
    ids = results.side_nodes(0, 0)[0].id.tolist()
    names = {name: id_ for id_, name in results.names_by_id([*ids, 10**9]).items()}
    numbers = results.stacks_by_id([*ids, 10**9])
    assert {names[name] for name in (A, B, C)} == set(numbers)
    assert numbers[names[A]] == numbers[names[B]] != numbers[names[C]]
    results.close()
