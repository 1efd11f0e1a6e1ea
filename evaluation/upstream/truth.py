"""Whether a finding stands where two releases of a package differ, told by their sources.

A finding is right when the innermost frame of the package in its stack lies in a function, or in
a method, that the other release has not or has with another body.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from evaluation.upstream.cases import Release

_FRAME = re.compile(r"File (?P<file>\S+), line (?P<line>\d+), in (?P<function>\S+?),? ")


def is_where_they_differ(
    stack: str | None, package: str, folders: tuple[Path, Path], is_alone: bool = False
) -> bool:
    """Whether the innermost frame of a package stands in a function that its releases disagree on.

    `folders` hold the two releases; the stack names a file of either. A call that one run alone
    makes may be made in helpers alike in both, by the function that was changed.
    """
    for frame in _FRAME.finditer((stack or "").replace('"', "") + " "):
        for here, there in (folders, folders[::-1]):
            path = Path(frame["file"])
            if path.is_relative_to(here / package):
                other = there / path.relative_to(here)
                is_changed = changed(path, other, int(frame["line"]))
                if is_changed or not is_alone:
                    return is_changed
    return False


def is_right(stack: str | None, is_alone: bool, case: Release, folders: tuple[Path, Path]) -> bool:
    """Whether what was mended between the two releases of a case is where a stack leads."""
    if case.shows:
        return case.shows in (stack or "").partition("\n")[0]
    return is_where_they_differ(stack, case.package, folders, is_alone)


def changed(path: Path, other: Path, line: int) -> bool:
    """Whether the function around a line of one file is another one, or missing, in the other."""
    own = [(name, node) for name, node in functions(path) if _holds(node, line)]
    if not own or not other.is_file():
        return True
    name, function = max(own, key=lambda each: each[1].lineno)
    return _body(function) not in {_body(node) for known, node in functions(other) if known == name}


def functions(path: Path) -> Iterator[tuple[str, ast.FunctionDef]]:
    """All functions of a file with their qualified names."""
    pending: list[tuple[str, ast.AST]] = [("", ast.parse(path.read_text(encoding="utf-8")))]
    while pending:
        above, node = pending.pop()
        for child in ast.iter_child_nodes(node):
            named = isinstance(child, ast.FunctionDef | ast.ClassDef)
            name = f"{above}.{child.name}" if named else above  # type: ignore[attr-defined]
            pending.append((name, child))
            if isinstance(child, ast.FunctionDef):
                yield name, child


def _holds(node: ast.FunctionDef, line: int) -> bool:
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _body(node: ast.FunctionDef) -> str:
    """What a function computes: its statements without the text that documents it."""
    text = ast.get_docstring(node, clean=False)
    statements = node.body[1:] if text is not None else node.body
    return "\n".join(map(ast.dump, statements))
