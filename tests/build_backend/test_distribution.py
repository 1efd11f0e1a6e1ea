"""The sdist and the wheel: built in isolation, complete, and installable without Node."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.packaging

PAGE = "tb_graph_ascend/static/index.html"
KERNEL = "msprobe_core/values/libone_pass.so"
# pip and the build frontends warn of their own matters on stderr; only a failure counts here.
PLAIN = {key: value for key, value in os.environ.items() if key != "PYTHONWARNINGS"}
COMPILER = shutil.which("cc") or shutil.which("gcc")
if COMPILER is not None:  # it may lie beside Node, with the programs that it calls
    PLAIN["CC"] = f"{COMPILER} -B{Path(COMPILER).parent}"


def path_without_node() -> str:
    folders = os.environ["PATH"].split(os.pathsep)
    return os.pathsep.join(
        folder
        for folder in folders
        if not any((Path(folder) / n).exists() for n in ("node", "npm"))
    )


def call(*command: object, cwd: Path, path: str | None = None) -> str:
    environment = {**PLAIN, **({"PATH": path} if path is not None else {})}
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def pip_for(python: Path) -> tuple[object, ...]:
    """The pip of the running environment, at work on another."""
    return (sys.executable, "-m", "pip", "--python", python)


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An sdist built from a copy of the checkout, with the installed node_modules lent to it."""
    copy = tmp_path_factory.mktemp("checkout") / "tree"
    listed = call("git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", cwd=ROOT)
    for name in filter(None, listed.split("\0")):
        if (ROOT / name).is_file():
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, copy / name)
    (copy / "node_modules").symlink_to(ROOT / "node_modules")
    out = tmp_path_factory.mktemp("sdist")
    call(sys.executable, "-m", "build", "--sdist", "--outdir", out, copy, cwd=out)
    (made,) = out.iterdir()
    return made


@pytest.fixture(scope="module")
def wheel(sdist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from the sdist where there is no Node."""
    out = tmp_path_factory.mktemp("wheel")
    command = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", out, sdist)
    call(*command, cwd=out, path=path_without_node())
    (made,) = out.iterdir()
    return made


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel; what it depends on is lent from this environment."""
    folder = tmp_path_factory.mktemp("environment")
    # Without pip, for it brings a setuptools of its own that hides the one that torch asks for.
    call(sys.executable, "-m", "venv", "--without-pip", folder, cwd=folder)
    python = folder / "bin" / "python"
    install = (*pip_for(python), "install", "--quiet", "--no-deps", wheel)
    call(*install, cwd=folder, path=path_without_node())
    where = call(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder)
    lent = f"{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n"
    (Path(where.strip()) / "lent.pth").write_text(lent)
    return folder / "bin"


def test_sdist_carries_sources_and_bundle(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert PAGE in names
    assert any(
        name.startswith("tb_graph_ascend/static/") and name.endswith(".js") for name in names
    )
    for name in ("package.json", "package-lock.json", "webpack.config.js", "LICENSE", "README.md"):
        assert name in names
    assert "build_backend/bundle_backend.py" in names
    assert {"build_backend/kernel.py", "msprobe_core/values/one_pass.c"} <= names
    assert KERNEL not in names
    assert any(name.startswith("tb_graph_ascend/frontend/src/") for name in names)
    assert not any("node_modules" in name or "__pycache__" in name for name in names)


def test_wheel_carries_bundle_types_and_entry_points(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        entry = next(name for name in names if name.endswith("entry_points.txt"))
        points = archive.read(entry).decode()
    assert PAGE in names
    for package in ("msprobe", "msprobe_core", "builder", "tb_graph_ascend"):
        assert f"{package}/py.typed" in names
    for name in ("licenses.json", "sbom.cdx.json"):
        assert f"tb_graph_ascend/static/{name}" in names
    assert "tb_graph_ascend = tb_graph_ascend.plugin:GraphAscendLoader" in points
    assert "msprobe = msprobe.cli:main" in points
    assert "msprobe = msprobe.pytest_plugin" in points
    tops = {name.split("/")[0] for name in names if ".dist-info" not in name}
    assert tops == {"msprobe", "msprobe_core", "builder", "tb_graph_ascend"}
    assert not any(name.startswith("tb_graph_ascend/frontend/") for name in names)
    compiles = COMPILER is not None
    assert (KERNEL in names) == compiles == (not wheel.name.endswith("-any.whl"))


def test_installed_command_builds_and_diagnoses(
    installed: Path, samples: Path, tmp_path: Path
) -> None:
    msprobe = installed / "msprobe"
    path = path_without_node()
    kernels = "from msprobe_core.torch.measure.tensor_kernels import kernels; print(len(kernels))"
    loaded = call(installed / "python", "-c", kernels, cwd=tmp_path, path=path)
    assert loaded.strip() == ("0" if COMPILER is None else "2")
    assert "tb-graph-ascend 0.1.0" in call(msprobe, "--version", cwd=tmp_path, path=path)
    sides = samples / "statistics"
    places = ("-tp", sides / "problem", "-gp", sides / "bench", "-o", tmp_path / "out")
    call(msprobe, "graph_visualize", *places, cwd=tmp_path, path=path)
    (made,) = (tmp_path / "out").glob("*.vis.db")
    assert "Tensor.__mul__.0.forward" in call(msprobe, "diagnose", made, cwd=tmp_path, path=path)


def test_requirements_fit_together(installed: Path) -> None:
    said = call(*pip_for(installed / "python"), "check", cwd=installed)
    assert said.strip() == "No broken requirements found."


def test_tensorboard_of_the_installed_environment_finds_the_plugin(
    installed: Path, tmp_path: Path
) -> None:
    code = (
        "import importlib.metadata as m, pathlib, tb_graph_ascend as t;"
        "(p,) = m.entry_points(group='tensorboard_plugins', name='tb_graph_ascend');"
        "page = pathlib.Path(t.__file__).parent / 'static' / 'index.html';"
        "print(p.load().__name__, page.is_file(), pathlib.Path(t.__file__).parents[4])"
    )
    out = call(installed / "python", "-c", code, cwd=tmp_path, path=path_without_node())
    name, page, prefix = out.split()
    assert (name, page) == ("GraphAscendLoader", "True")
    assert Path(prefix) == installed.parent
