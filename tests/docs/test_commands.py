"""Every command of the documentation, run in a folder of its own with two small dumps beside it."""

from __future__ import annotations

import glob
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from msprobe.cli import main
from msprobe.cli.program import COMMANDS
from tests.conftest import ROOT
from tests.docs.page import SHELL, Block, blocks_of

PAGES = sorted((ROOT / "docs").rglob("*.md")) + [
    ROOT / name for name in ("README.md", "README.zh.md", "CONTRIBUTING.md", "SECURITY.md")
]
SERVERS = ("tensorboard ", "msprobe serve ")
TRANSLATIONS = {"docs/zh/tutorial.md": ["docs/tutorial.md"], "README.zh.md": ["docs/tutorial.md"]}
WITH_COMMANDS = [
    page
    for page in PAGES
    if any(block.kind == "commands" for block in blocks_of(page))
    and str(page.relative_to(ROOT)) not in TRANSLATIONS
]
# Our own commands run in this process in all pages but one: starting
# Python and torch anew for each would take most of the time.
IN_SHELL = ("batch-jobs.md",)
PLAIN = re.compile(r"msprobe [^|<>$&;()]*")
# Their examples go on where the tutorial ends.
ON_TUTORIAL = ("comparison.md", "diagnosis.md", "cluster.md")
NEEDS = {"hugging-face.md": "transformers", "lightning.md": "lightning"}
MAKE = re.compile(r"^make ([a-z-]+)", re.MULTILINE)


def page_id(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The two dumps that somebody has who followed the tutorial."""
    place = tmp_path_factory.mktemp("tutorial")
    for block in blocks_of(ROOT / "docs" / "tutorial.md"):
        if block.title in ("config.json", "train.py"):
            (place / str(block.title)).write_text(block.body)
    for side in ("problem", "benchmark"):
        run(f"python train.py {side}", place)
    return place


@pytest.fixture
def folder(page: Path, samples: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    for side, source in (("problem", "problem"), ("benchmark", "bench")):
        lent = samples / "statistics" / source
        if page.name in ON_TUTORIAL:
            lent = request.getfixturevalue("recorded") / side
        shutil.copytree(lent, tmp_path / side, copy_function=shutil.copyfile)
    for each in tmp_path.rglob("*"):
        each.chmod(0o755)
    return tmp_path


def environment() -> dict[str, str]:
    scripts = Path(sys.executable).parent
    return {
        **os.environ,
        "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}",
        "HF_HUB_OFFLINE": "1",
        "CUDA_VISIBLE_DEVICES": "",
    }


def run(command: str, folder: Path) -> str:
    if command.startswith(SERVERS) and "--help" not in command:
        return serve_once(command, folder)
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, f"$ {command}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


_served: set[str] = set()


def serve_once(command: str, folder: Path) -> str:
    """Each server answers in one page; starting it in every page proves nothing more."""
    program = command.partition("graph_output")[0]
    if program in _served:
        return ""
    _served.add(program)
    return serve(command, folder)


def run_here(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Run a command of ours in this process, in the current folder."""
    words = shlex.split(command)[1:]
    found = [sorted(glob.glob(word)) or [word] if "*" in word else [word] for word in words]  # noqa: PTH207
    code = main([word for several in found for word in several])
    said = capsys.readouterr()
    assert code == 0, f"$ {command}\n{said.out}{said.err}"
    return said.out + said.err


def serve(command: str, folder: Path) -> str:
    """Start a server on any free port, wait for the address that it says, end it."""
    command = re.sub(r"--port \d+", "", command) + " --port 0"
    log = folder / "server.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            shlex.split(command), cwd=folder, env=environment(), stdout=output, stderr=output
        )
    try:
        deadline = time.monotonic() + 60
        while "http://" not in log.read_text() and time.monotonic() < deadline:
            assert process.poll() is None, log.read_text()
            time.sleep(0.1)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(30)
    assert "http://" in log.read_text(), log.read_text()
    return log.read_text()


def check_output(shown: list[str], said: str, block: Block, command: str) -> None:
    for line in filter(str.strip, shown):
        pattern = ".*".join(re.escape(part) for part in line.split("…"))
        assert re.search(pattern, said), f"{block.page}: $ {command}\nlacks: {line}\nin: {said}"


@pytest.mark.parametrize("page", WITH_COMMANDS, ids=page_id)
def test_commands_run_and_say_what_is_shown(
    page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    needed = NEEDS.get(page.name)
    if needed is not None and find_spec(needed) is None:
        pytest.skip(f"{needed} is not installed; `make contract` installs it")
    if page.name == "tutorial.md":  # it makes its own
        shutil.rmtree(folder / "problem")
        shutil.rmtree(folder / "benchmark")
    for block in blocks_of(page):
        if block.kind == "file":
            (folder / str(block.title)).write_text(block.body)
            if str(block.title).startswith("train"):  # what it records replaces the lent dump
                shutil.rmtree(folder / "problem", ignore_errors=True)
        for command, shown in block.commands if block.kind == "commands" else ():
            here = PLAIN.fullmatch(command) and not command.startswith(SERVERS)
            here = here and page.name not in IN_SHELL
            said = run_here(command, capsys) if here else run(command, folder)
            check_output(shown, said, block, command)


@pytest.mark.parametrize("page", TRANSLATIONS)
def test_translation_has_no_command_or_file_of_its_own(page: str) -> None:
    originals = [block for name in TRANSLATIONS[page] for block in blocks_of(ROOT / name)]
    commands = {re.sub(r" --port \d+", "", c) for block in originals for c, _ in block.commands}
    files = {block.body for block in originals if block.kind == "file"}
    translated = blocks_of(ROOT / page)
    assert translated
    for block in translated:
        if block.language == "console":
            named = {re.sub(r" --port \d+", "", command) for command, _ in block.commands}
            assert named <= commands, page
        elif block.kind == "file":
            assert block.body in files


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_blocks_that_are_not_run_are_well_formed(page: Path) -> None:
    for block in blocks_of(page):
        place = f"{page_id(page)}:{block.line}"
        if block.language in SHELL:
            lines = [command for command, _ in block.commands] or [block.body]
            for text in lines:
                done = subprocess.run(
                    ["bash", "-n"], input=text, capture_output=True, text=True, check=False
                )
                assert done.returncode == 0, f"{place}: {text}\n{done.stderr}"
        elif block.language == "json":
            json.loads(block.body)
        elif block.language in ("yaml", "yml"):
            assert all(document for document in yaml.safe_load_all(block.body)), place
        elif block.language == "python":
            compile(block.body, place, "exec")


def test_targets_of_make_that_are_documented_exist() -> None:
    targets = set(re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        named = set(re.findall(r"`make ([a-z0-9-]+)", text))
        for block in blocks_of(page):
            if block.language in SHELL:
                named |= set(MAKE.findall(block.body.replace("$ ", "")))
        assert named <= targets, f"{page_id(page)}: {named - targets}"


def test_options_that_are_documented_exist() -> None:
    """Options in blocks that need a cluster are at least options of our programs."""
    known = ""
    for name in (command.__name__.rpartition(".")[2] for command in COMMANDS):
        known += run(f"msprobe {name} --help", ROOT)
    for page in PAGES:
        for block in blocks_of(page):
            for command in re.findall(r"msprobe (?:\w+) [^\n|>]*", block.body):
                for option in re.findall(r"(?<=\s)--?[a-z][a-z_-]*", command):
                    assert option in known, f"{page_id(page)}: {command}"
