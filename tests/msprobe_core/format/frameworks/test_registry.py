"""Frameworks by name: those of this package, those that others install, those nobody describes."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import metadata
from importlib.metadata import EntryPoint

import pytest

from msprobe_core.format import frameworks as listed
from msprobe_core.format import parse_entry
from msprobe_core.format.frameworks import (
    COMMUNICATION,
    MINDSPORE,
    MODULE_PREFIXES,
    PACKAGES,
    PYTORCH,
    FrameworkDescription,
    FrameworkError,
    framework_called,
    framework_named,
    framework_of_tensors,
    registry,
)

FOREIGN = FrameworkDescription(
    "foreign",
    "Foreign",
    "fo",
    packages=("foreign_package",),
    module_prefixes=("Brick",),
    communication=("Shout",),
)


@pytest.fixture
def unknown(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No other package is asked yet; what a test registers is gone after it."""
    sets = (MODULE_PREFIXES, COMMUNICATION, PACKAGES)
    before = [set(each) for each in sets]
    monkeypatch.setattr(registry, "_registered", dict(registry._registered))
    registry._register_installed.cache_clear()
    yield
    registry._register_installed.cache_clear()
    for each, kept in zip(sets, before):
        assert isinstance(each, set)
        each.intersection_update(kept)


def install(monkeypatch: pytest.MonkeyPatch, described: object) -> None:
    class Here(EntryPoint):
        def load(self) -> object:
            if isinstance(described, Exception):
                raise described
            return described

    points = [Here("foreign", "package:FOREIGN", listed.GROUP)]
    monkeypatch.setattr(metadata, "entry_points", lambda group: points)


@pytest.mark.usefixtures("unknown")
def test_an_installed_description_is_found_by_either_name(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, FOREIGN)
    assert framework_called("fo") is FOREIGN
    assert framework_named("foreign") is FOREIGN
    assert parse_entry("Brick.net.Wall.forward.0").type_name == "Wall"
    assert "Shout" in COMMUNICATION
    assert "foreign_package" in PACKAGES


@pytest.mark.usefixtures("unknown")
def test_known_names_load_no_other_package(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, ImportError("asked for in vain"))
    assert framework_named("pytorch") is PYTORCH
    assert framework_called("ms") is MINDSPORE


@pytest.mark.usefixtures("unknown")
@pytest.mark.parametrize(
    ("described", "wrong"),
    [
        (ImportError("no such module"), r"package:FOREIGN: .* ImportError: no such module"),
        (PYTORCH.name, r"package:FOREIGN: .* is a str; make it a .*FrameworkDescription"),
    ],
)
def test_a_broken_description_is_named(
    monkeypatch: pytest.MonkeyPatch, described: object, wrong: str
) -> None:
    install(monkeypatch, described)
    for _ in range(2):
        with pytest.raises(FrameworkError, match=wrong.replace(r".* I", r".*I")):
            framework_named("foreign")


@pytest.mark.usefixtures("unknown")
def test_one_that_nobody_describes_has_a_name_and_no_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata, "entry_points", lambda group: ())
    unknown = framework_named("unheard")
    assert (unknown.name, unknown.display, unknown.words) == ("unheard", "unheard", None)
    assert framework_called("unheard") is None


def test_tensors_tell_their_framework() -> None:
    assert framework_of_tensors("mindspore.Tensor") is MINDSPORE
    assert framework_of_tensors("torch.Tensor") is PYTORCH
    assert framework_of_tensors("list") is None
