"""The names that users import from `msprobe.pytorch`: none is lost, none appears by accident."""

from __future__ import annotations

from types import ModuleType

import msprobe.pytorch
import msprobe_core

EXPORTED = {
    "AclGraphDumper",
    "PrecisionDebugger",
    "acl_save",
    "module_dump",
    "module_dump_end",
    "random_save",
    "save",
    "seed_all",
}


TABLES = {"compare", "compare_distributed"}
TOOLS = {"Trends", "TrainerMon", "set_fx_dump_config"}


def test_exported_members() -> None:
    # Sub-modules become attributes once somebody has imported them; `compare` can be called too.
    public = {
        name
        for name, found in vars(msprobe.pytorch).items()
        if not name.startswith("_") and (name in TABLES or not isinstance(found, ModuleType))
    }
    assert set(msprobe.pytorch.__all__) == EXPORTED | TABLES | TOOLS == public


def test_the_face_shows_what_the_dumper_has() -> None:
    assert set(msprobe_core.__all__) == EXPORTED
    for name in EXPORTED:
        assert getattr(msprobe.pytorch, name) is getattr(msprobe_core, name)
