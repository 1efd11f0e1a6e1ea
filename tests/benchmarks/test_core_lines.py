"""The count of the lines that answer where a difference begins."""

from __future__ import annotations

from benchmarks.core_lines import PARTS, core_lines, of_this_tree


def test_counts_the_lines_of_the_files_of_a_part_and_of_no_other() -> None:
    texts = {"builder/flow/a.py": "1\n2\n", "builder/flow/b.py": "1\n", "builder/cli.py": "1\n"}
    counted = core_lines(texts, texts.__getitem__)
    assert counted["flow"] == 3
    assert sum(counted.values()) == 3


def test_every_part_has_files_in_this_tree() -> None:
    counted = of_this_tree()
    assert counted.keys() == PARTS.keys()
    assert all(counted.values())
