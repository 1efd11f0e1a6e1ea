"""What others wrote is parsed within limits of work; everything that is wrong is a ValueError."""

from __future__ import annotations

import ast
import io
import zipfile
from pathlib import Path

import pytest

from msprobe_core.format import bounded
from msprobe_core.format.bounded import (
    check_zip,
    compose_yaml,
    parse_expression,
    parse_json,
    parse_literal,
    parse_yaml,
)

ROOT = Path(__file__).resolve().parents[3]


def laughs(leaf: str, level: str, levels: int = 12) -> str:
    """A billion laughs: each line names the one before nine times."""
    lines = [f"a0: &a0 {leaf}"]
    for number in range(1, levels):
        inner = ", ".join(f"k{i}: *a{number - 1}" for i in range(9))
        lines.append(f"a{number}: &a{number} {level % inner}")
    return "\n".join(lines)


YAML_BOMBS = {
    "lists": "\n".join(
        [
            "a0: &a0 [x, x]",
            *(f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 12)),
        ]
    ),
    "mappings": laughs("{x: 1}", "{%s}"),
    "itself": "a: &a [*a]",
    "deep": "[" * 20_000,
    # Held back until the limits stood.
    "merges": "\n".join(
        [
            "a0: &a0 {x: 1}",
            *(f"a{i}: &a{i} {{<<: [{', '.join([f'*a{i - 1}'] * 9)}]}}" for i in range(1, 12)),
        ]
    ),
    "keys": "? &a [" + "x, " * 5 + "x]\n: 1",
    "digits": "a: " + "9" * 5_000,
    "hexadecimal": "a: 0x" + "f" * 5_000,
    "sexagesimal": "a: 1" + ":10" * 2_000,
    "date": "a: 2024-99-99",
    "odd tag": "a: !!python/object/apply:os.system [x]",
    "itself in a mapping": "&a {k: {j: *a}}",
}


@pytest.mark.parametrize("name", YAML_BOMBS)
def test_yaml_that_grows_is_refused_before_it_is_built(name: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        parse_yaml(YAML_BOMBS[name])
    assert len(str(caught.value)) < 500


def test_nodes_of_a_bomb_are_refused_too() -> None:
    for name in ("lists", "itself", "deep"):
        with pytest.raises(ValueError, match=r"expand|itself|deep"):
            compose_yaml(YAML_BOMBS[name])


def test_aliases_of_people_and_large_mappings_are_read() -> None:
    text = "base: &base {lr: 1, list: [1, 2]}\n" + "\n".join(
        f"run{i}:\n  <<: *base\n  seed: {i}" for i in range(3_000)
    )
    content = parse_yaml(text)
    assert content["run7"] == {"lr": 1, "list": [1, 2], "seed": 7}
    assert parse_yaml("") is None
    assert parse_yaml("a: 0x1F\nb: 1:30\nc: 2024-02-03")["b"] == 90


def test_text_without_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded, "_MOST_YAML", 10)
    with pytest.raises(ValueError, match="MiB"):
        parse_yaml("a: 1\n" * 10)
    monkeypatch.setattr(bounded, "_MOST_LITERAL", 10)
    with pytest.raises(ValueError, match="MiB"):
        parse_literal("[1, 2, 3, 4, 5]")


@pytest.mark.parametrize("text", ["[" * 200_000, '{"a":' * 200_000, "9" * 5_000, "{", "", "\x00"])
def test_json_is_one_kind_of_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_json(text)


@pytest.mark.parametrize(
    "text",
    ["(" * 10_000, "-" * 10_000 + "1", "{[]: 1}", "9" * 5_000, "1 +", "f()", "[" * 300 + "]" * 300],
)
def test_literal_is_one_kind_of_error(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_literal(text)


def test_literals_are_read() -> None:
    assert parse_literal("{'a': [1, (2.5, None)]}") == {"a": [1, (2.5, None)]}
    assert isinstance(parse_expression("a + b"), ast.BinOp)


def packed(
    *sizes: int, method: int = zipfile.ZIP_DEFLATED, letter: bytes = b"0"
) -> zipfile.ZipFile:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method) as writing:
        for number, size in enumerate(sizes):
            writing.writestr(f"{number}.json", letter * size)
    return zipfile.ZipFile(file)


def test_zip_that_inflates_out_of_proportion_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    check_zip(packed(1 << 20))  # of a small one the ratio says nothing
    monkeypatch.setattr(bounded, "_SMALL", 1 << 18)
    for sizes in ((1 << 20,), (1 << 17,) * 8):  # in one member, and in many of which none is large
        with pytest.raises(ValueError, match="inflates"):
            check_zip(packed(*sizes))
    check_zip(packed(1 << 20, method=zipfile.ZIP_STORED))
    monkeypatch.setattr(bounded, "_MOST_INFLATED", 1000)
    with pytest.raises(ValueError, match="inflates"):
        check_zip(packed(2000, method=zipfile.ZIP_STORED))


def test_zip_of_other_methods_and_of_many_members_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for method in (zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2):
        with pytest.raises(ValueError, match="another method"):
            check_zip(packed(10, method=method))
    monkeypatch.setattr(bounded, "_MOST_MEMBERS", 2)
    with pytest.raises(ValueError, match="3 members"):
        check_zip(packed(1, 1, 1))


# Where a parser may stand besides `bounded`, and why.
_PARSERS = {
    "json.loads",
    "yaml.safe_load",
    "yaml.load",
    "yaml.compose",
    "ast.literal_eval",
    "ast.parse",
}
_OWN = {
    "builder/dump/json_files.py": "catches RecursionError itself; the form is msgspec's",
    "builder/dump/inspection/scan.py": "catches RecursionError itself, of one entry",
    "builder/dump/inspection/json_lines.py": "catches RecursionError itself, of one line",
    "msprobe/cli/check.py": "reasons of this process",
    "msprobe/cli/compare.py": "messages of this process",
    "msprobe/pytorch/monitor/monitor_settings.py": "a configuration of the user's own program",
    "msprobe/pytorch/monitor/switched_on.py": "a configuration of the user's own program",
    "msprobe/core/monitor_v2/monitor_config.py": "a configuration of the user's own program",
}


def test_everything_that_is_parsed_goes_through_the_limits() -> None:
    found = set()
    for package in ("builder", "tb_graph_ascend", "msprobe"):
        for path in (ROOT / package).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            if not any(name.partition(".")[2] + "(" in text for name in _PARSERS):
                continue
            calls = (n.func for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Call))
            names = {ast.unparse(f) for f in calls if isinstance(f, ast.Attribute)}
            if names & _PARSERS:
                found.add(str(path.relative_to(ROOT)))
    assert found == set(_OWN)


def test_every_zip_that_is_read_is_checked() -> None:
    opened = {
        str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
        for package in ("builder", "tb_graph_ascend", "msprobe")
        for path in (ROOT / package).rglob("*.py")
        if "ZipFile(" in path.read_text(encoding="utf-8")
    }
    own = {
        "msprobe_core/format/bounded.py",
        "msprobe/config_check/growing_pack.py",
    }  # reads its own
    assert {name for name, text in opened.items() if "check_zip(" not in text} <= own
