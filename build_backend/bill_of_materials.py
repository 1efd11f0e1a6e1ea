"""Lists what the distribution is made of: the licences of the bundled JavaScript, and an SBOM.

`python build_backend/bill_of_materials.py FILE` writes the SBOM (CycloneDX 1.5, JSON) with the
versions of the Python packages that are installed beside it.
"""

from __future__ import annotations

import base64
import json
import re
import sys
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LICENSES = "licenses.json"
SBOM = "sbom.cdx.json"
_REQUIREMENT = re.compile(r'^\s*"([A-Za-z0-9._-]+)([^";]*)', re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Package:
    """A JavaScript package that may end up in the bundle; `integrity` is the lock file's hash."""

    name: str
    version: str
    license: str
    integrity: str
    text: str


def write_bill(folder: Path, root: Path = ROOT) -> None:
    """Write both lists beside the bundle."""
    packages = bundled_packages(root)
    fields = ("name", "version", "license", "text")
    listed = [{field: getattr(each, field) for field in fields} for each in packages]
    (folder / LICENSES).write_text(_json(listed), encoding="utf-8")
    (folder / SBOM).write_text(_json(bill_of_materials(packages, root)), encoding="utf-8")


def bundled_packages(root: Path = ROOT) -> list[Package]:
    """All packages that the interface needs to run, as the lock file resolves them."""
    lock = json.loads((root / "package-lock.json").read_text(encoding="utf-8"))
    found = []
    for place, entry in lock.get("packages", {}).items():
        if not place or entry.get("dev") or entry.get("devOptional") or entry.get("optional"):
            continue
        name = place.rpartition("node_modules/")[2]
        text = _license_text(root / place)
        license_ = entry.get("license", "unknown")
        found.append(Package(name, entry["version"], license_, entry.get("integrity", ""), text))
    return sorted(found, key=lambda each: (each.name, each.version))


def bill_of_materials(
    packages: list[Package], root: Path = ROOT, *, installed: bool = False
) -> dict[str, Any]:
    """The SBOM; Python packages have a version only where `installed` ones are looked up."""
    name, version, requirements = _project(root)
    python = [_python_component(each, limits, installed) for each, limits in requirements]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": "project",
                "name": name,
                "version": version,
                "purl": f"pkg:pypi/{name}@{version}",
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": [*python, *map(_javascript_component, packages)],
    }


def _project(root: Path) -> tuple[str, str, list[tuple[str, str]]]:
    # No TOML reader comes with Python 3.10, and these three are plain lines of our own file.
    text = (root / "pyproject.toml").read_text(encoding="utf-8")
    name, version = (
        re.search(rf'^{key} = "([^"]+)"', text, re.MULTILINE) for key in ("name", "version")
    )
    listed = text.partition("\ndependencies = [\n")[2].partition("\n]")[0]
    assert name and version and listed, "pyproject.toml has name, version and dependencies"
    return name[1], version[1], _REQUIREMENT.findall(listed)


def _python_component(name: str, limits: str, installed: bool) -> dict[str, Any]:
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": f"pypi:{name}",
        "name": name,
        "purl": f"pkg:pypi/{name}",
        "properties": [{"name": "requirement", "value": f"{name}{limits}"}],
    }
    if installed:
        component["version"] = metadata.version(name)
        component["purl"] += f"@{component['version']}"
    return component


def _javascript_component(package: Package) -> dict[str, Any]:
    scope, _, short = package.name.rpartition("/")
    place = f"{scope.replace('@', '%40')}/{short}" if scope else short
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": f"npm:{package.name}@{package.version}",
        "name": package.name,
        "version": package.version,
        "purl": f"pkg:npm/{place}@{package.version}",
        "licenses": [{"license": {"id": package.license}}],
    }
    algorithm, _, digest = package.integrity.partition("-")
    if algorithm == "sha512":
        content = base64.b64decode(digest).hex()
        component["hashes"] = [{"alg": "SHA-512", "content": content}]
    return component


def _license_text(folder: Path) -> str:
    names = sorted(path for path in folder.glob("*") if path.name.upper().startswith("LICEN"))
    return "\n".join(path.read_text(encoding="utf-8", errors="replace") for path in names)


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    target = Path(sys.argv[1])
    target.parent.mkdir(parents=True, exist_ok=True)
    made = bill_of_materials(bundled_packages(), installed=True)
    target.write_text(_json(made), encoding="utf-8")
    print(f"{target}: {len(made['components'])} components")
