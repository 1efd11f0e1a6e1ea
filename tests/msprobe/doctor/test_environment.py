"""Versions, plugin, and the other package of the same name, in environments made for it."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from builder.dump.inspection.check import Check
from msprobe.coexistence import other_distribution
from msprobe.doctor import environment
from tests.conftest import ROOT

OTHER = "mindstudio_probe-26.2.0"


def checks_of(subject: str) -> list[Check]:
    return [check for check in environment.check_environment() if check.subject == subject]


def test_this_environment_has_no_problem() -> None:
    found = {check.subject: check for check in environment.check_environment()}
    assert [c for c in found.values() if c.state == "problem"] == []
    assert found["tensorboard"].text == metadata.version("tensorboard")
    assert found["plugin"].text.endswith("tb_graph_ascend.plugin:GraphAscendLoader")
    assert Path(found["bundle"].text, "index.html").is_file()


def test_missing_entry_point_and_failing_import_are_problems(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(metadata, "entry_points", lambda **_: ())
    (check,) = checks_of("plugin")
    assert check.state == "problem"
    assert "pip install" in (check.next_step or "")
    broken = metadata.EntryPoint("tb_graph_ascend", "no_such_module:Loader", "tensorboard_plugins")
    monkeypatch.setattr(metadata, "entry_points", lambda **_: (broken,))
    (check,) = checks_of("plugin")
    assert "no_such_module" in check.text


def test_missing_packages_say_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    find_spec = environment.util.find_spec
    hidden = {"torch", "tensorboard"}
    monkeypatch.setattr(
        environment.util, "find_spec", lambda name: None if name in hidden else find_spec(name)
    )
    (torch,) = checks_of("torch")
    (tensorboard,) = checks_of("tensorboard")
    assert (torch.state, tensorboard.state) == ("note", "problem")
    assert "msprobe serve" in (tensorboard.next_step or "")


def test_old_tensorboard_beside_new_setuptools_is_a_problem(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    version = metadata.version
    old = {"tensorboard": "2.16.2"}
    monkeypatch.setattr(metadata, "version", lambda name: old.get(name) or version(name))
    find_spec = environment.util.find_spec
    monkeypatch.setattr(
        environment.util, "find_spec", lambda n: None if n == "pkg_resources" else find_spec(n)
    )
    first, second = checks_of("tensorboard")
    assert (first.state, second.state) == ("ok", "problem")
    assert "setuptools<81" in (second.next_step or "")


def test_second_installation_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    twin = tmp_path / "tb_graph_ascend-0.0.9.dist-info"
    twin.mkdir()
    (twin / "METADATA").write_text("Metadata-Version: 2.1\nName: tb-graph-ascend\nVersion: 0.0.9\n")
    (twin / "RECORD").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    found = checks_of("tb-graph-ascend")
    assert [check.state for check in found] == ["ok", "problem"]
    assert str(tmp_path) in found[1].text


# What stands in for torch_npu, what it makes of torch.npu, and what doctor says of both.
NPU_CASES = {
    "cannot load": ('raise OSError("libascendcl.so: cannot open")', "problem", "libascendcl"),
    "no device": ("import torch; torch.npu = Npu(0)", "note", "sees no device"),
    "silent driver": ("import torch; torch.npu = Npu(None)", "note", "cannot be counted"),
    "one device": ("import torch; torch.npu = Npu(1)", "ok", "2.9.0, 1 device"),
    "devices": ("import torch; torch.npu = Npu(8)", "ok", "2.9.0, 8 devices"),
}
NPU = """
__version__ = "2.9.0"
class Npu:
    def __init__(self, count): self.count = count
    def device_count(self):
        if self.count is None: raise RuntimeError("drvErr 87")
        return self.count
"""


@pytest.mark.parametrize("case", NPU_CASES)
def test_what_is_said_of_torch_npu_is_true(
    case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body, state, words = NPU_CASES[case]
    (tmp_path / "torch_npu.py").write_text(NPU + body)
    monkeypatch.setenv("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
    done = python(tmp_path, "-m", "msprobe.cli", "doctor", "--json")
    found = {c["subject"]: c for c in json.loads(done.stdout)["checks"]}
    assert (found["torch_npu"]["state"], words in found["torch_npu"]["text"]) == (state, True)
    assert (found["torch_npu"]["next_step"] is None) == (state == "ok")
    said = found["devices"]["text"]
    assert ("NPU" in said) == (state == "ok")
    assert done.returncode == (1 if state == "problem" else 0)


def test_torch_that_cannot_load_torch_npu_is_not_to_be_installed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "torch_npu.py").write_text("")
    monkeypatch.syspath_prepend(str(tmp_path))
    real = environment.import_module

    def importing(name: str) -> object:
        if name == "torch":
            raise RuntimeError("Failed to load the backend extension: torch_npu.")
        return real(name)

    monkeypatch.setattr(environment, "import_module", importing)
    (check,) = checks_of("torch_npu")
    assert check.state == "problem"
    assert "set_env.sh" in (check.next_step or "")


def test_without_torch_npu_it_is_not_spoken_of() -> None:
    assert checks_of("torch_npu") == []
    (devices,) = checks_of("devices")
    assert "NPU" not in devices.text


@pytest.fixture
def beside_other(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / f"{OTHER}.dist-info").mkdir()
    yield tmp_path


def python(place: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment_ = {"PYTHONPATH": str(place), "PATH": "/usr/bin:/bin"}
    command = [sys.executable, "-W", "error", *arguments]
    return subprocess.run(
        command, cwd=place, env=environment_, capture_output=True, text=True, check=False
    )


def test_import_beside_the_other_package_warns_in_one_line(beside_other: Path) -> None:
    done = python(beside_other, "-c", "import msprobe; from msprobe.cli import main")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("\n") == 1
    assert OTHER in done.stderr
    assert "doctor" in done.stderr


def test_import_alone_says_nothing() -> None:
    assert other_distribution() is None
    done = subprocess.run(
        [sys.executable, "-c", "import msprobe"], cwd=ROOT, capture_output=True, check=True
    )
    assert done.stderr == b""


@pytest.mark.parametrize("winner", ["ours", "other"])
def test_doctor_says_which_package_wins(beside_other: Path, winner: str) -> None:
    package = beside_other / "msprobe"
    package.mkdir()
    for part in (ROOT / "msprobe").iterdir():
        if part.name not in ("__init__.py", "__pycache__", "pytorch"):
            (package / part.name).symlink_to(part)
    (package / "pytorch").mkdir()
    (package / "__init__.py").write_text("")
    source = (ROOT / "msprobe" / "pytorch" / "__init__.py").read_text()
    (package / "pytorch" / "__init__.py").write_text(source if winner == "ours" else "# other\n")
    done = python(beside_other, "-m", "msprobe.cli", "doctor", "--json")
    found = [c for c in json.loads(done.stdout)["checks"] if c["subject"] == "msprobe"]
    assert [check["state"] for check in found] == ["note" if winner == "ours" else "problem"]
    assert OTHER in found[0]["text"]
    assert "pip uninstall mindstudio-probe" in found[0]["next_step"]
    assert done.returncode == (0 if winner == "ours" else 1)
