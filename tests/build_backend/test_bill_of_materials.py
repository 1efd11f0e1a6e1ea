"""The SBOM and the licences: complete against the lock file, permissive, written by the build."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT

STATIC = ROOT / "tb_graph_ascend" / "static"
PERMISSIVE = {"MIT", "ISC", "0BSD", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0"}
PURL = re.compile(r"pkg:(npm/(%40[\w.-]+/)?|pypi/)[\w.-]+@[\w.+-]+")


@pytest.fixture(scope="module")
def bill(tmp_path_factory: pytest.TempPathFactory) -> Any:
    target = tmp_path_factory.mktemp("bill") / "sbom.cdx.json"
    command = [sys.executable, "build_backend/bill_of_materials.py", str(target)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return json.loads(target.read_text())


def declared() -> set[str]:
    """What the interface itself asks for."""
    return set(json.loads((ROOT / "package.json").read_text())["dependencies"])


def test_every_component_is_identified(bill: Any) -> None:
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.5")
    references = [component["bom-ref"] for component in bill["components"]]
    assert len(references) == len(set(references))
    for component in bill["components"]:
        assert PURL.fullmatch(component["purl"]), component
        assert component["version"]


def test_components_are_the_requirements_and_the_locked_packages(bill: Any) -> None:
    names = {component["name"] for component in bill["components"]}
    assert declared() <= names
    required = metadata.requires("tb-graph-ascend") or []
    plain = {re.split(r"[^\w.-]", each)[0].lower() for each in required if "extra ==" not in each}
    assert plain <= {name.lower() for name in names}
    react = next(each for each in bill["components"] if each["name"] == "react")
    lock = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    assert react["version"] == lock["node_modules/react"]["version"]
    assert len(react["hashes"][0]["content"]) == 128


def test_bundle_carries_permissive_licences_with_their_texts() -> None:
    listed = json.loads((STATIC / "licenses.json").read_text())
    assert declared() <= {package["name"] for package in listed}
    assert {package["license"] for package in listed} <= PERMISSIVE
    assert [p["name"] for p in listed if len(p["text"]) < 200] == []


def test_every_dependency_has_a_lower_bound_and_its_reason() -> None:
    text = (ROOT / "pyproject.toml").read_text()
    listed = text.partition("\ndependencies = [\n")[2].partition("\n]")[0].splitlines()
    assert len(listed) >= 8
    for line in listed:
        assert re.fullmatch(r'    "[\w.-]+>=[\d.]+(,<\d+)?(; .+)?", +# \S.+', line), line


def test_bundle_carries_its_bill() -> None:
    made = json.loads((STATIC / "sbom.cdx.json").read_text())
    names = {component["name"] for component in made["components"]}
    assert declared() | {"flask", "numpy"} <= names


@pytest.mark.parametrize("package", ["msprobe", "msprobe_core", "builder", "tb_graph_ascend"])
def test_version_is_semantic_and_in_the_changelog(package: str) -> None:
    version = metadata.version("tb-graph-ascend")
    assert re.fullmatch(r"\d+\.\d+\.\d+([a-z]+\d+)?", version)
    assert version in (ROOT / "CHANGELOG.md").read_text()
    assert (ROOT / Path(package) / "py.typed").is_file()
