"""The house rules that can be checked: who imports whom, what loads torch, how files are named."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("msprobe", "msprobe_core", "builder", "tb_graph_ascend")
FOLDERS = (*PACKAGES, "tests", "benchmarks", "evaluation", "examples", "build_backend")
BANNED = {"utils", "util", "common", "helper", "helpers", "manager", "const", "constants", "misc"}
LONGEST = 600
TOO_LONG: dict[str, int] = {}  # to be cut; none of them may grow, and none may join them
FEWEST_WORDS = 4
MOST_NAMING = 8  # files that name MindSpore outside of its own packages
# Python itself gives these names a meaning in each folder.
GIVEN_NAMES = {"__init__.py", "__main__.py"}
# What silences a checker or swallows any error, and what has to stand behind it: a reason in words.
SUPPRESSES = re.compile(r"# noqa\b|# type: ignore\b|\bexcept (?:Base)?Exception\b|\bexcept:")
REASONED = re.compile(
    r"# noqa: [A-Z0-9, ]+?(?: -|  #) \w.+|# type: ignore\[[\w,-]+\]  # \w.+"
    r"|\bexcept (?:Base)?Exception(?: as \w+)?:  # (?!noqa|type:)\w.+"
)


def python_files() -> list[Path]:
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")]
    return [path for path in files if not {"node_modules", "samples"} & set(path.parts)]


@pytest.mark.parametrize(
    "module",
    [
        "builder",
        "tb_graph_ascend.plugin",
        "msprobe",
        "msprobe.cli",
        "msprobe_core.format",
        "msprobe_core.capture.lifecycle",
        "msprobe_core.writer.step_files",
    ],
)
def test_import_loads_no_torch(module: str) -> None:
    code = f"import {module}, sys; print('torch' in sys.modules, 'torch_npu' in sys.modules)"
    assert _python(code) == "False False"


def test_command_line_loads_no_room_before_a_command_runs() -> None:
    heavy = "{'numpy', 'sqlalchemy', 'flask', 'msgspec', 'tensorboard', 'builder'}"
    code = f"import msprobe.cli, sys; print(sorted({heavy} & set(sys.modules)))"
    assert _python(code) == "[]"


def test_only_the_server_of_programs_loads_the_protocol() -> None:
    code = "import msprobe.answers.questions, msprobe.cli.mcp, sys; print('mcp' in sys.modules)"
    assert _python(code) == "False"


def test_an_error_of_the_builder_loads_no_build() -> None:
    # Every process that checks, records or monitors needs an error; few of them build.
    rooms = "('builder.run', 'builder.work', 'builder.compare', 'builder.results', 'numpy')"
    code = f"import builder.errors, sys; print([m for m in sys.modules if m.startswith({rooms})])"
    assert _python(code) == "[]"


def test_a_process_that_checks_calls_loads_no_compiler() -> None:
    code = (
        "import sys; from msprobe.acc_check.worker import Setup, _bench; "
        "_bench(0, Setup(devices=('cpu',))); "
        "print(sorted({'torch._dynamo', 'torch._inductor', 'builder.run'} & set(sys.modules)))"
    )
    assert _python(code) == "[]"


def test_imports_run_one_way() -> None:
    done = subprocess.run(
        [Path(sys.executable).parent / "lint-imports", "--no-cache"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_file_is_too_long() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in python_files()}
    assert lengths, "no Python files found"
    allowed = {ROOT / path: length for path, length in TOO_LONG.items()}
    too_long = {p: n for p, n in lengths.items() if n > allowed.get(p, LONGEST)}
    assert too_long == {}


def test_no_module_is_named_after_nothing() -> None:
    stems = {path: path.stem for path in python_files()}
    packages = {path: path.parent.name for path in python_files()}
    named = [path for path in stems if {stems[path], packages[path]} & BANNED]
    assert named == []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_file_name_occurs_once_in_a_package(package: str) -> None:
    files = [path for path in python_files() if path.is_relative_to(ROOT / package)]
    counts = Counter(path.name for path in files if path.name not in GIVEN_NAMES)
    assert len(counts) > 10
    assert {name for name, count in counts.items() if count > 1} == set()


def test_frameworks_are_asked_for_by_their_description() -> None:
    own = ("msprobe_core/mindspore/", "msprobe/mindspore/", "msprobe/acc_check/mindspore/")
    sources = [
        path
        for folder in (*PACKAGES, "benchmarks", "build_backend")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".py", ".ts", ".tsx"} and "node_modules" not in path.parts
    ]
    naming = [
        path.relative_to(ROOT).as_posix()
        for path in sources
        if "mindspore" in path.read_text(encoding="utf-8").lower()
    ]
    elsewhere = [path for path in naming if not path.startswith(own)]
    assert "msprobe_core/format/frameworks/mindspore_names.py" in elsewhere
    assert len(elsewhere) <= MOST_NAMING, elsewhere


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        path
        for path in python_files()
        if path.read_text(encoding="utf-8").strip()
        and len((ast.get_docstring(_parsed(path)) or "").split()) < FEWEST_WORDS
    ]
    assert silent == []


def test_a_suppression_says_why() -> None:
    silent = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in python_files()
        if path.relative_to(ROOT).parts[0] in PACKAGES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if not _is_reasoned(line)
    ]
    assert not silent, "\n".join(["give each a reason behind it:", *silent])


@pytest.mark.parametrize(
    ("line", "reasoned"),
    [
        ("x = 1", True),
        ("x = f()  # noqa: ANN401 - a module", True),
        ("x = f()  # noqa: ANN401  # a hook of torch", True),
        ("x = f()  # noqa: ANN401", False),
        ("x = f()  # noqa", False),
        ("x = f()  # type: ignore[misc]  # no types", True),
        ("x = f()  # type: ignore[misc]", False),
        ("x = f()  # type: ignore", False),
        ("except Exception as error:  # a driver raises what it likes", True),
        ("except Exception:", False),
        ("except BaseException as error:", False),
        ("except:", False),
        ("except Exception:  # noqa: BLE001", False),
        ("x = f()  # type: ignore[misc]  # noqa: N818 - an outcome", False),
    ],
)
def test_what_a_reason_is(line: str, reasoned: bool) -> None:
    assert _is_reasoned(line) is reasoned


def _is_reasoned(line: str) -> bool:
    """Whether a line suppresses nothing, or gives a reason for each suppression."""
    return len(SUPPRESSES.findall(line)) <= len(REASONED.findall(line))


def _parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()
