"""What is said where MindSpore cannot be recorded, and that one framework never loads the other."""

from __future__ import annotations

import subprocess
import sys

import pytest

from msprobe_core.mindspore import requirements


@pytest.mark.parametrize(
    ("versions", "words"),
    [
        ({"numpy": "1.26.4"}, "needs MindSpore, which is not installed"),
        ({"numpy": "1.26.4", "mindspore": "2.7.0"}, "needs MindSpore 2.7.1 or later, not 2.7.0"),
        ({"numpy": "2.4.6", "mindspore": "2.10.0"}, "fails with NumPy 2.4.6"),
    ],
)
def test_one_line_says_what_to_install(
    versions: dict[str, str], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requirements, "_version", versions.get)
    with pytest.raises(ImportError, match=words) as raised:
        requirements.check_requirements()
    assert "pip install 'mindspore>=2.7.1' 'numpy<2'" in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("version", ["2.7.1", "2.10.0", "2.10.0rc1"])
def test_what_can_be_recorded_passes(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = {"numpy": "1.26.4", "mindspore": version}
    monkeypatch.setattr(requirements, "_version", known.get)
    requirements.check_requirements()


def test_the_dumper_of_pytorch_loads_no_mindspore() -> None:
    own = "('mindspore', 'msprobe_core.mindspore', 'msprobe.mindspore')"
    code = f"import msprobe.pytorch, sys; print(any(n.startswith({own}) for n in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_what_both_need_loads_neither() -> None:
    loaded = "print({'torch', 'mindspore'} & {*sys.modules})"
    code = f"import msprobe_core.capture.debugger_methods, sys; {loaded}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
