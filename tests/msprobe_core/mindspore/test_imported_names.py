"""Functions are found under the names that other modules have imported them by, also later ones."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from types import ModuleType

import pytest

from msprobe_core.mindspore.watch.imported_names import ImportedNames


def function() -> None:
    """Stands for one of MindSpore's."""


BY_VALUE = {id(function): function}
HERE = (sys.modules[__name__], "function")


@pytest.fixture(params=["own", "installed"])
def module(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A module that has none of the functions yet."""
    made = ModuleType(f"a_module_that_is_{request.param}")
    folder = sysconfig.get_path("purelib") if request.param == "installed" else "/a/users"
    made.__file__ = str(Path(folder, "module.py"))
    made.act = None  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, made.__name__, made)
    return made


def test_a_name_that_is_new_since_the_last_look_is_found(module: ModuleType) -> None:
    names = ImportedNames()
    assert (module, "act") not in names.of(BY_VALUE)
    module.later = function  # type: ignore[attr-defined]
    found = names.of(BY_VALUE)
    assert (module, "later") in found
    assert HERE in found
    del module.later
    assert (module, "later") not in names.of(BY_VALUE)


def test_other_functions_are_looked_for_anew(module: ModuleType) -> None:
    names = ImportedNames()
    names.of(BY_VALUE)
    assert (module, "__name__") in names.of({id(module.__name__): module.__name__})


def test_a_name_of_a_users_own_module_may_change_what_it_stands_for(module: ModuleType) -> None:
    names = ImportedNames()
    names.of(BY_VALUE)
    module.act = function  # type: ignore[attr-defined]
    assert ((module, "act") in names.of(BY_VALUE)) == ("own" in module.__name__)


def test_objects_that_stand_in_the_place_of_modules_are_passed_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "no_module", object())  # type: ignore[arg-type]
    assert HERE in ImportedNames().of(BY_VALUE)
