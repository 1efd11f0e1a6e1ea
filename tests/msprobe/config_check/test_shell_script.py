"""Hyper-parameters of launch scripts: what bash itself passes on is the oracle."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msprobe.config_check.shell_script import hyper_parameters

SCRIPTS = {
    "variables": 'A=1\nexport B="two words"\ntorchrun t.py --a $A --b "$B" --c ${A}0 --d ${C:-7}',
    "continued": "torchrun \\\n  --nproc_per_node 2 \\\n  t.py \\\n  --lr 1e-4 \\\n  --flag",
    "block": 'ARGS="\n  --x 1\n  --y 2.5\n"\ntorchrun t.py $ARGS --z 3',
    "array": 'ARGS=(\n --x 1 # why\n --name "a b"\n)\nARGS+=(--y 2)\ntorchrun t.py "${ARGS[@]}"',
    "sum": "N=$((2*4+1))\ntorchrun t.py --n $N --m $((N-1))",
    "blanks in a sum": "B=$((4 * 2))\nN=$(( (B + 1) * 2 ))\ntorchrun t.py --b $B --n $N",
    "rest": "N=7\ntorchrun t.py --m $(( N % 5 ))",
    "two sums": "A=4\ntorchrun t.py --a $((A * 2)) --b $((A*3)) --c $(( (A+1)*(A-1) ))",
    "signs": "torchrun t.py --a=$((-7 / 2)) --b=$((-7 % 3)) --c=$((1 << 4)) --d=$((2 ** 10))",
    "sum in an array": 'N=3\nARGS=(--x $((N * 2)) --y "$((N + 1))")\ntorchrun t.py "${ARGS[@]}"',
    "exported sum": "export B=$((4 * 4)) C=1\ntorchrun t.py --b $B --c $C",
    "equals": "torchrun --nnodes=2 t.py --a=b=c --empty= --neg -1 --sci -1e-3",
    "comment": "# torchrun t.py --wrong 1\ntorchrun t.py --right 2 # --wrong 3",
    "quotes": "torchrun t.py --a 'it is' --b \"x # y\" --c a\\ b",
    "prefix": "OMP_NUM_THREADS=1 torchrun t.py --a 1",
    "several": "torchrun t.py --betas 0.9 0.95 --last",
    "appended": 'A="--x 1"\nA+=" --y 2"\ntorchrun t.py $A',
}
# Stands in for torchrun: says which arguments it was given.
SHOW = "import json,sys; print(json.dumps(sys.argv[1:]))"


def passed_on(script: str, folder: Path) -> list[str]:
    program = folder / "torchrun"
    program.write_text(f"#!{sys.executable}\n{SHOW}\n")
    program.chmod(0o755)
    done = subprocess.run(
        ["bash", "-c", script],
        env={"PATH": f"{folder}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        check=True,
    )
    arguments: list[str] = json.loads(done.stdout)
    return arguments


def flags(arguments: list[str]) -> dict[str, object]:
    """Flags with their values from a list of words, in the simplest way that can be."""
    found: dict[str, list[str]] = {}
    name = ""
    for word in arguments:
        if word.startswith("--"):
            name, equals, value = word[2:].partition("=")
            found[name] = [value] if equals else []
            name = "" if equals else name
        elif word == "t.py":
            name = ""
        elif name:
            found[name].append(word)
    return {n: v if len(v) > 1 else v[0] if v else True for n, v in found.items()}


@pytest.mark.parametrize("name", SCRIPTS)
def test_flags_are_those_that_bash_passes_on(name: str, tmp_path: Path) -> None:
    expected = flags(passed_on(SCRIPTS[name], tmp_path))
    assert expected, "the script passes something on"
    assert hyper_parameters(SCRIPTS[name], {}) == expected


WORDS = st.text("abc019_.", min_size=1, max_size=4).filter(lambda w: not w.endswith(".py"))


@given(st.dictionaries(st.from_regex(r"[a-z]{1,4}", fullmatch=True), WORDS, max_size=4))
def test_variables_reach_their_flags(values: dict[str, str]) -> None:
    lines = [f"V_{name}={value}" for name, value in values.items()]
    line = "torchrun t.py " + " ".join(f"--{name} ${{V_{name}}}" for name in values)
    assert hyper_parameters("\n".join([*lines, line]), {}) == values


@given(st.text("ab$(){}\"'\\\n #=-;|", max_size=40))
def test_no_script_breaks_the_reader(script: str) -> None:
    assert isinstance(hyper_parameters(f"{script}\ntorchrun t.py --a 1", {}), dict)


def test_only_launch_lines_count() -> None:
    assert hyper_parameters("ls --color auto\nmkdir --parents x", {}) == {}
    assert hyper_parameters("python3 -m torch.distributed.launch t.py --a 1", {}) == {"a": "1"}
    assert hyper_parameters("torchrun t.py --a 1 | tee --append log", {}) == {"a": "1"}


def test_environment_fills_what_the_script_does_not_set() -> None:
    script = "torchrun t.py --a $A --b $B"
    assert hyper_parameters(script, {"A": "5"}) == {"a": "5", "b": "$B"}


@pytest.mark.parametrize("written", ["$(expr 4 \\* 2)", "`expr 4 \\* 2`", "$(nproc --all)"])
def test_what_only_a_shell_computes_is_told_apart_as_written(written: str) -> None:
    def batch(value: str) -> object:
        return hyper_parameters(f"B={value}\ntorchrun t.py --batch $B", {})["batch"]

    assert batch(written) != batch(written.replace("2", "4").replace("all", "any"))
    assert "$B" not in str(batch(written))


def test_a_power_takes_no_time() -> None:
    assert hyper_parameters("torchrun t.py --a $((9 ** 9 ** 9))", {})["a"] == "$((9 ** 9 ** 9))"
