"""The release, installed where there is neither Node nor a compiler, and beside a peer."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
import time
import zipfile
from base64 import urlsafe_b64encode
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.build_backend.environments import (
    COMPILER,
    PLAIN,
    call,
    copy_checkout,
    environment_with,
    pip_for,
)
from tests.conftest import ROOT
from tests.docs.page import blocks_of

pytestmark = pytest.mark.packaging

NOTHING = "/nonexistent"  # a PATH without node, npm, gcc and everything else
TUTORIAL = {block.title: block.body for block in blocks_of(ROOT / "docs" / "tutorial.md")}


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """What `make dist` makes, by the end of its name."""
    copy = copy_checkout(tmp_path_factory.mktemp("checkout"))
    out = tmp_path_factory.mktemp("dist")
    call(sys.executable, "build_backend/release.py", out, cwd=copy)
    return {path.name.rpartition("-")[2]: path for path in out.iterdir()}


@pytest.fixture(scope="module")
def scripts(release: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment with the wheel for any platform."""
    return environment_with(release["any.whl"], tmp_path_factory.mktemp("environment"))


@pytest.fixture(scope="module")
def runs(scripts: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The two runs of the tutorial, recorded in that environment."""
    folder = tmp_path_factory.mktemp("runs")
    for name in ("config.json", "train.py"):
        (folder / name).write_text(TUTORIAL[name])
    for run in ("benchmark", "problem"):
        call(scripts / "python", "train.py", run, cwd=folder, path=NOTHING)
    return folder


def test_the_release_is_an_sdist_and_a_wheel_with_and_without_the_kernel(
    release: dict[str, Path],
) -> None:
    plain = zipfile.ZipFile(release["any.whl"]).namelist()
    assert not any(name.endswith(".so") for name in plain)
    assert len(release) == (3 if COMPILER else 2)
    for ending, path in release.items():
        if ending.endswith(".whl") and ending != "any.whl":
            compiled = zipfile.ZipFile(path).namelist()
            assert [name for name in compiled if name.endswith(".so")] == [
                "msprobe_core/values/libone_pass.so"
            ]
            assert {n for n in compiled if "dist-info" not in n and ".so" not in n} == {
                n for n in plain if "dist-info" not in n
            }


def test_it_records_compares_and_diagnoses_without_node_and_compiler(
    scripts: Path, runs: Path, tmp_path: Path
) -> None:
    call(*_compare(scripts / "msprobe", runs, tmp_path), cwd=runs, path=NOTHING)
    (result,) = tmp_path.glob("compare_*.vis.db")
    said = call(scripts / "msprobe", "diagnose", result, cwd=runs, path=NOTHING)
    assert "1. Tensor.__mul__.0.forward" in said
    assert "line 20, in forward, hidden = hidden * 1.5" in said


def test_it_serves_the_page_without_node(scripts: Path, runs: Path, tmp_path: Path) -> None:
    call(*_compare(scripts / "msprobe", runs, tmp_path), cwd=runs, path=NOTHING)
    log = tmp_path / "server.log"
    with log.open("w") as output:
        server = subprocess.Popen(
            [scripts / "msprobe", "serve", tmp_path, "--port", "0"],
            env={**PLAIN, "PATH": NOTHING},
            stdout=output,
            stderr=output,
        )
    try:
        deadline = time.monotonic() + 60
        while "http://" not in log.read_text() and time.monotonic() < deadline:
            time.sleep(0.1)
        address = "http://" + log.read_text().partition("http://")[2].split()[0].rstrip("/")
        page = urlopen(f"{address}/index.html").read().decode()
        script = page.partition('src="')[2].partition('"')[0]
        assert b"export" in urlopen(f"{address}/{script}").read()
        assert b"compare_" in urlopen(f"{address}/api/databases").read()
    finally:
        server.send_signal(signal.SIGINT)
        server.wait(30)


def test_the_doctor_is_content(scripts: Path, tmp_path: Path) -> None:
    assert _problems(scripts, tmp_path, code=0) == {}


def test_beside_mindstudio_probe_the_doctor_says_which_one_wins(
    release: dict[str, Path],
    runs: Path,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """The other package has the same command and files of the same names; it is installed last."""
    scripts = environment_with(release["any.whl"], tmp_path_factory.mktemp("beside"))
    pip = pip_for(scripts / "python")
    other = _wheel_of_other(tmp_path)
    call(*pip, "install", "--quiet", "--no-deps", other, cwd=tmp_path)
    found = _problems(scripts, tmp_path, code=1)
    assert "mindstudio_probe-26.2.0 was installed later" in found["msprobe"]
    assert "1 of its files are missing or were replaced" in found["tb-graph-ascend files"]
    compared = _compare(scripts / "tb-graph-ascend", runs, tmp_path / "out")
    assert "begins: Tensor.__mul__.0.forward" in call(*compared, cwd=runs, path=NOTHING)
    call(*pip, "uninstall", "--quiet", "--yes", "mindstudio-probe", cwd=tmp_path)
    found = _problems(scripts, tmp_path, code=1)
    assert list(found) == ["tb-graph-ascend files"]
    again = ("install", "--quiet", "--no-deps", "--force-reinstall", release["any.whl"])
    call(*pip, *again, cwd=tmp_path)
    assert _problems(scripts, tmp_path, code=0) == {}


def _compare(program: Path, runs: Path, out: Path) -> tuple[object, ...]:
    sides = ("-tp", runs / "problem", "-gp", runs / "benchmark")
    return (program, "graph_visualize", *sides, "-o", out)


def _problems(scripts: Path, folder: Path, *, code: int) -> dict[str, str]:
    said = call(
        scripts / "tb-graph-ascend", "doctor", "--json", cwd=folder, path=NOTHING, code=code
    )
    checks = json.loads(said)["checks"]
    return {each["subject"]: each["text"] for each in checks if each["state"] == "problem"}


def _wheel_of_other(folder: Path) -> Path:
    """A wheel that brings what collides: the package's face and the command."""
    name = "mindstudio_probe-26.2.0"
    files = {
        "msprobe/pytorch/__init__.py": "# the other recorder\n",
        "msprobe/msprobe.py": "def main():\n    print('the other command')\n",
        f"{name}.dist-info/METADATA": (
            "Metadata-Version: 2.1\nName: mindstudio-probe\nVersion: 26.2.0\n"
        ),
        f"{name}.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{name}.dist-info/entry_points.txt": (
            "[console_scripts]\nmsprobe = msprobe.msprobe:main\n"
        ),
    }
    wheel = folder / f"{name}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        lines = []
        for path, text in files.items():
            archive.writestr(path, text)
            digest = urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
            lines.append([path, f"sha256={digest}", str(len(text))])
        record = f"{name}.dist-info/RECORD"
        rows = [",".join(line) for line in [*lines, [record, "", ""]]]
        archive.writestr(record, "\n".join(rows) + "\n")
    return wheel
