"""Nothing advises to install this package by its name, which belongs to another product on PyPI."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from msprobe_core.format.installation import install_command

ROOT = Path(__file__).resolve().parent.parent
_TEXTS = {
    ".py",
    ".md",
    ".ts",
    ".tsx",
    ".html",
    ".yaml",
    ".yml",
    ".sh",
    ".sbatch",
    ".toml",
    ".ipynb",
}
# A wheel's file name begins with the name, too: `./dist/tb_graph_ascend-0.1.0-…whl`.
BY_NAME = re.compile(
    r"""(?:pip3?|uv|conda|poetry)\s+(?:pip\s+)?(?:install|add)\b
        [^\n`;]*?(?<![\w/.-])(?:tb[-_]graph[-_]ascend|msprobe)(?![\w.-]|/)""",
    re.VERBOSE,
)


def _texts() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = [ROOT / line for line in listed.stdout.splitlines()]
    wanted = [f for f in files if f.suffix in _TEXTS or f.name == "Makefile"]
    return [f for f in wanted if f.is_file() and f != Path(__file__).resolve()]


@pytest.mark.parametrize(
    ("text", "is_wrong"),
    [
        ("pip install tb-graph-ascend", True),
        ("pip install 'tb-graph-ascend[ray]' on all hosts", True),
        ("pip install --force-reinstall --no-deps tb_graph_ascend", True),
        ("uv pip install msprobe", True),
        ("pip install '.[ray]'", False),
        ("pip install './dist/tb_graph_ascend-0.1.0-py3-none-any.whl[dump]'", False),
        ("pip uninstall tb-graph-ascend", False),
        ("pip install mindstudio-probe", False),
    ],
)
def test_advice_is_told_from_other_texts(text: str, is_wrong: bool) -> None:
    assert bool(BY_NAME.search(text)) is is_wrong


def test_nothing_advises_the_other_product() -> None:
    texts = _texts()
    assert len(texts) > 500
    found = [
        f"{file.relative_to(ROOT)}: {match[0]}"
        for file in texts
        for match in BY_NAME.finditer(file.read_text(encoding="utf-8", errors="replace"))
    ]
    assert found == []


def test_hints_and_pages_say_the_same() -> None:
    assert install_command("ray").startswith("pip install '.[ray]' in its checkout")
    assert install_command(flags="--no-deps").startswith("pip install --no-deps '.' in")
    page = (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    assert "pip install '.[dump]'" in page
    assert "PyPI is another product" in page
