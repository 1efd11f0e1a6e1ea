"""The sdist and the wheel: built in isolation, complete, and installable without Node."""

from __future__ import annotations

import sys
import tarfile
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

from tests.build_backend.environments import (
    COMPILER,
    call,
    copy_checkout,
    environment_with,
    path_without_node,
    pip_for,
)

pytestmark = pytest.mark.packaging

PAGE = "tb_graph_ascend/static/index.html"
NAMES = "builder/operators/argument_names.json"
KERNEL = "msprobe_core/values/libone_pass.so"


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    copy = copy_checkout(tmp_path_factory.mktemp("checkout"))
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
    return environment_with(wheel, tmp_path_factory.mktemp("environment"))


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
    assert NAMES in names
    assert (KERNEL in names) == compiles == (not wheel.name.endswith("-any.whl"))


def test_installed_command_builds_and_diagnoses(
    installed: Path, samples: Path, tmp_path: Path
) -> None:
    msprobe = installed / "msprobe"
    path = path_without_node()
    kernels = "from msprobe_core.torch.measure.tensor_kernels import kernels; print(len(kernels))"
    loaded = call(installed / "python", "-c", kernels, cwd=tmp_path, path=path)
    assert loaded.strip() == ("0" if COMPILER is None else "2")
    assert f"tb-graph-ascend {metadata.version('tb-graph-ascend')}" in call(
        msprobe, "--version", cwd=tmp_path, path=path
    )
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
