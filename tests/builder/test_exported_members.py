"""The public face: what is exported is there, and nothing public is left out of the list."""

from __future__ import annotations

import builder
from builder import errors
from tests.conftest import ROOT


def test_exported_members() -> None:
    # pytest puts names of its own, such as `@py_builtins`, into what belongs to a plugin of its.
    names = filter(str.isidentifier, dir(builder))
    public = {name for name in names if not name.startswith("_")}
    # Rooms become attributes once something is imported from them; they are not the face.
    rooms = {path.stem for path in (ROOT / "builder").iterdir()} - {"build"}
    assert sorted(public - rooms - {"TYPE_CHECKING"}) == sorted(builder.__all__)
    assert [name for name in builder.__all__ if not hasattr(builder, name)] == []


def test_every_error_of_a_user_is_exported_and_in_the_tree_of_the_docstring() -> None:
    listed = {
        name
        for name, member in vars(errors).items()
        if isinstance(member, type) and member.__module__ == errors.__name__
    }
    assert listed <= set(builder.__all__)
    drawn = [line.split()[0 if line[0] == "B" else 1] for line in _tree(errors.__doc__ or "")]
    assert sorted(drawn) == sorted(listed)


def _tree(text: str) -> list[str]:
    lines = [line.replace("│", " ").strip() for line in text.splitlines()]
    return [line for line in lines if line.startswith(("├", "└", "BuilderError"))]
