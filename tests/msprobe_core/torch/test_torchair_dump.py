"""Options of torchair, with a stand-in that has the members which torchair documents."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from msprobe.pytorch import set_fx_dump_config
from msprobe_core.errors import UnsupportedError


class CompilerConfig:
    def __init__(self) -> None:
        self.debug = SimpleNamespace(data_dump=SimpleNamespace(type=None, path=None, filter=None))


@pytest.fixture
def _torchair(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("torchair.configs.compiler_config")
    module.CompilerConfig = CompilerConfig  # type: ignore[attr-defined]
    for name in ("torchair", "torchair.configs"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, module.__name__, module)


@pytest.mark.usefixtures("_torchair")
def test_options_are_made_and_set(tmp_path: Path) -> None:
    config = set_fx_dump_config(str(tmp_path))
    dump = config.debug.data_dump
    assert (dump.type, dump.path, dump.filter) == ("npy", str(tmp_path / "msprobe_fx_dump"), None)
    assert (tmp_path / "msprobe_fx_dump").is_dir()


@pytest.mark.usefixtures("_torchair")
def test_options_of_the_user_get_a_filter(tmp_path: Path) -> None:
    mine = CompilerConfig()
    assert set_fx_dump_config(str(tmp_path), ["MatMul"], mine) is mine
    wanted, other = SimpleNamespace(name="aten_matmul_3"), SimpleNamespace(name="relu")
    keep = mine.debug.data_dump.filter
    assert (keep(wanted), keep(other)) == (wanted, None)


@pytest.mark.usefixtures("_torchair")
@pytest.mark.parametrize("wrong", [{"op_list": "relu"}, {"op_list": [3]}, {"compiler_config": 3}])
def test_other_types_are_refused(wrong: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=next(iter(wrong))):
        set_fx_dump_config(str(tmp_path), **wrong)  # type: ignore[arg-type]


def test_without_torchair_one_line_says_so() -> None:
    with pytest.raises(UnsupportedError, match="torchair"):
        set_fx_dump_config()
