"""When the bundle is built, with which Node, and what a failed build says."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

NODE = "#!/bin/sh\necho {version}\n"
NPM = """#!/bin/sh
echo "$@" >> {log}
[ "$1" = run ] || exit 0
{build}
"""
BUILDS = "mkdir -p tb_graph_ascend/static && echo '<p>' > tb_graph_ascend/static/index.html"
NODEENV = """
import pathlib, sys
scripts = pathlib.Path(sys.argv[-1]) / "bin"
scripts.mkdir(parents=True)
for name, source in (("node", {node!r}), ("npm", {npm!r})):
    (scripts / name).write_text(source)
    (scripts / name).chmod(0o755)
"""


class Checkout:
    """A copy of the build backend beside two source files, with its own PATH."""

    def __init__(self, root: Path) -> None:
        self.root = root / "checkout"
        self.path = root / "bin"
        self.log = root / "npm.log"
        self.modules = root / "modules"
        for folder in (self.path, self.modules, self.root / "tb_graph_ascend" / "frontend"):
            folder.mkdir(parents=True)
        shutil.copytree(
            ROOT / "build_backend",
            self.root / "build_backend",
            ignore=shutil.ignore_patterns("__pycache__"),
        )
        shutil.copyfile(ROOT / "pyproject.toml", self.root / "pyproject.toml")
        (self.root / "package.json").write_text("{}")
        (self.root / "package-lock.json").write_text("{}")
        self.source.write_text("let a = 1;")

    @property
    def source(self) -> Path:
        return self.root / "tb_graph_ascend" / "frontend" / "index.ts"

    @property
    def page(self) -> Path:
        return self.root / "tb_graph_ascend" / "static" / "index.html"

    def install_node(self, version: str, build: str = BUILDS) -> None:
        self._script("node", NODE.format(version=version))
        self._script("npm", NPM.format(log=self.log, build=build))

    def offer_nodeenv(self) -> None:
        npm = NPM.format(log=self.log, build=BUILDS)
        source = NODEENV.format(node=NODE.format(version="v22.0.0"), npm=npm)
        (self.modules / "nodeenv.py").write_text(source)

    def build(self) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "PATH": f"{self.path}{os.pathsep}/usr/bin{os.pathsep}/bin",
            "PYTHONPATH": str(self.modules),
        }
        return subprocess.run(
            [sys.executable, "build_backend/bundle.py"],
            cwd=self.root,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )

    def npm_calls(self) -> list[str]:
        return self.log.read_text().splitlines() if self.log.is_file() else []

    def _script(self, name: str, text: str) -> None:
        (self.path / name).write_text(text)
        (self.path / name).chmod(0o755)


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


def test_builds_once_until_a_source_changes(checkout: Checkout) -> None:
    checkout.install_node("v20.1.0")
    assert checkout.build().returncode == 0
    assert checkout.page.is_file()
    assert checkout.npm_calls() == ["ci --no-audit --no-fund", "run build"]
    assert checkout.build().returncode == 0
    assert len(checkout.npm_calls()) == 2
    checkout.source.write_text("let a = 2;")
    assert checkout.build().returncode == 0
    assert checkout.npm_calls()[2:] == ["ci --no-audit --no-fund", "run build"]


def test_installed_modules_are_kept_when_the_lock_is_older(checkout: Checkout) -> None:
    checkout.install_node("v20.1.0")
    installed = checkout.root / "node_modules" / ".package-lock.json"
    installed.parent.mkdir()
    installed.write_text("{}")
    assert checkout.build().returncode == 0
    assert checkout.npm_calls() == ["run build"]


def test_unpacked_sdist_needs_no_node(checkout: Checkout) -> None:
    checkout.install_node("v20.1.0")
    (checkout.root / "PKG-INFO").write_text("Name: tb-graph-ascend")
    checkout.page.parent.mkdir()
    checkout.page.write_text("<p>")
    assert checkout.build().returncode == 0
    assert checkout.npm_calls() == []


def test_failed_build_fails_with_its_reason(checkout: Checkout) -> None:
    checkout.install_node("v20.1.0", build="echo 'ERROR in index.ts: no such module'; exit 2")
    done = checkout.build()
    assert done.returncode == 1
    assert "npm run build` failed with code 2" in done.stderr
    assert "ERROR in index.ts: no such module" in done.stderr
    assert "Traceback" not in done.stderr


def test_build_that_writes_nothing_fails(checkout: Checkout) -> None:
    checkout.install_node("v20.1.0", build="exit 0")
    done = checkout.build()
    assert done.returncode == 1
    assert "index.html" in done.stderr


def test_old_node_is_replaced_by_one_that_nodeenv_makes(checkout: Checkout) -> None:
    checkout.install_node("v18.19.0", build="echo too old; exit 1")
    checkout.offer_nodeenv()
    done = checkout.build()
    assert done.returncode == 0, done.stderr
    assert checkout.page.is_file()
