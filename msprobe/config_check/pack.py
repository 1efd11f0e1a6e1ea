"""The zip that one run is packed into, and what is read back from it.

Members: `env`, `pip`, `hyperparameters/*.json`, `dataset/step<n>/rank<r>/dataset.json`,
`weights/step<n>/rank<r>/weight.json`, `random/rank<r>.json`. All is redacted when written and,
since other tools write such zips too, when read.
"""

from __future__ import annotations

import json
import os
import re
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msprobe.config_check.hyper_parameters import collect
from msprobe.config_check.packages import installed_packages, parse_packages
from msprobe.config_check.redaction import redacted, redacted_text
from msprobe.config_check.tensor_statistics import named_statistics
from msprobe.errors import CheckError
from msprobe_core.format.bounded import check_zip, parse_json
from msprobe_core.format.whole_file import written_whole

STATIC = "hyperparameters/hyperparameters_static.json"
DYNAMIC = "hyperparameters/hyperparameters_dynamic.json"
_STATISTICS = re.compile(r"(?P<item>dataset|weights)/step(?P<step>\d+)/rank(?P<rank>\d+)/\w+\.json")
_RANDOM = re.compile(r"random/rank(?P<rank>\d+)\.json")
_LARGEST = 1 << 30  # bytes of a member; more than this is no configuration


@dataclass(frozen=True, slots=True)
class Pack:
    """What a zip holds; an item that it lacks is None."""

    path: Path
    environment: dict[str, str] | None
    packages: dict[str, str] | None
    hyper_parameters: dict[str, dict[str, Any]] | None
    dataset: dict[tuple[int, int], dict[str, Any]] | None
    weights: dict[tuple[int, int], dict[str, Any]] | None
    random: dict[int, dict[str, list[dict[str, Any]]]] | None
    members: dict[str, str]


def static_members(files: list[Path], environment: Mapping[str, str]) -> dict[str, str]:
    """What can be packed without running anything, as text by name of the member."""
    members = {
        "env": as_json({name: redacted(name, value) for name, value in environment.items()}),
        "pip": installed_packages(),
    }
    if files:
        members[STATIC] = as_json(collect(files))
    return members


def write_pack(path: Path, files: list[Path]) -> None:
    """Pack this environment and the files' hyper-parameters; raises CheckError, writes whole."""
    check_target(path)
    members = static_members(files, os.environ)
    try:
        with (
            written_whole(path) as partial,
            zipfile.ZipFile(partial, "w", zipfile.ZIP_DEFLATED) as packed,
        ):
            for name, text in members.items():
                packed.writestr(name, text)
    except OSError as error:
        raise CheckError(
            f"{path}: cannot be written ({error.strerror})", "choose another"
        ) from error


def check_target(path: Path) -> None:
    """Refuse a place that no pack can be written to."""
    if path.suffix != ".zip":
        raise CheckError(f"{path}: a pack is a zip", "give a name that ends in .zip")
    if path.is_dir():
        raise CheckError(f"{path}: is a folder", "give the name of a file in it")
    if not path.parent.is_dir():
        raise CheckError(f"{path.parent}: is no folder", "make it or choose another place")


def read_pack(path: Path) -> Pack:
    """Read a zip that this or mindstudio-probe's config_check wrote; raises CheckError."""
    texts = _members(path)
    contents = {name: _parsed(path, name, text) for name, text in texts.items() if name != "pip"}
    return Pack(
        path,
        _environment(contents.get("env")),
        parse_packages(texts["pip"]) if "pip" in texts else None,
        _hyper_parameters(contents),
        _statistics(contents, "dataset"),
        _statistics(contents, "weights"),
        _random(contents),
        {n: texts[n] if n == "pip" else as_json(contents[n]) for n in texts},
    )


def holds_members_alone(folder: Path) -> bool:
    """Whether a folder is an unpacked pack, and holds nothing else."""
    files = (file for file in folder.rglob("*") if not file.is_dir())
    return all(_is_known(file.relative_to(folder).as_posix()) for file in files)


def as_json(content: object) -> str:
    """The text of a member."""
    return json.dumps(content, indent=4, ensure_ascii=False, default=str)


def _members(path: Path) -> dict[str, str]:
    if not path.is_file():
        raise CheckError(f"{path}: is no file", "give the zip that config_check -d wrote")
    try:
        with zipfile.ZipFile(path) as packed:
            check_zip(packed)
            known = [info for info in packed.infolist() if _is_known(info.filename)]
            large = [info.filename for info in known if info.file_size > _LARGEST]
            if large:
                raise CheckError(
                    f"{path}: {large[0]} is too large for a configuration",
                    "give the zip that config_check -d wrote",
                )
            texts = {info.filename: packed.read(info).decode() for info in known}
    except (zipfile.BadZipFile, zlib.error, ValueError, OSError) as error:
        raise CheckError(f"{path}: is no zip of config_check ({error})", "pack again") from error
    if not texts:
        raise CheckError(f"{path}: holds nothing of config_check", "give the zip that -d wrote")
    return texts


def _is_known(name: str) -> bool:
    if name in ("env", "pip", STATIC, DYNAMIC):
        return True
    return any(pattern.fullmatch(name) for pattern in (_STATISTICS, _RANDOM))


def _parsed(path: Path, name: str, text: str) -> dict[str, Any]:
    try:
        content = parse_json(text)
    except ValueError as error:
        raise CheckError(f"{path}: {name} is damaged ({error})", "pack again") from error
    if not isinstance(content, dict):
        raise CheckError(f"{path}: {name} is no JSON object", "pack again")
    if _RANDOM.fullmatch(name):
        if not all(isinstance(p, list) and all(map(_is_place, p)) for p in content.values()):
            raise CheckError(f"{path}: {name} holds no counts with stacks", "pack again")
        return {op: [_redacted_place(place) for place in places] for op, places in content.items()}
    if _STATISTICS.fullmatch(name):
        return content  # names of tensors and numbers: nothing to hide
    return {key: redacted(key, value) for key, value in content.items()}


def _is_place(place: Any) -> bool:
    if not isinstance(place, dict) or not isinstance(place.get("count"), int):
        return False
    stack = place.get("stack")
    return isinstance(stack, list) and all(isinstance(frame, str) for frame in stack)


def _redacted_place(place: dict[str, Any]) -> dict[str, Any]:
    return {**place, "stack": [redacted_text(frame) for frame in place["stack"]]}


def _environment(content: dict[str, Any] | None) -> dict[str, str] | None:
    return None if content is None else {name: str(value) for name, value in content.items()}


def _hyper_parameters(contents: Mapping[str, Any]) -> dict[str, dict[str, Any]] | None:
    by_file = {n.rpartition("/")[2]: contents[n] for n in (STATIC, DYNAMIC) if n in contents}
    return by_file or None


def _statistics(
    contents: Mapping[str, Any], item: str
) -> dict[tuple[int, int], dict[str, Any]] | None:
    matches = {name: _STATISTICS.fullmatch(name) for name in contents}
    statistics = {
        (int(match["step"]), int(match["rank"])): dict(named_statistics(contents[name]))
        for name, match in matches.items()
        if match is not None and match["item"] == item
    }
    return statistics or None


def _random(contents: Mapping[str, Any]) -> dict[int, dict[str, list[dict[str, Any]]]] | None:
    matches = {name: _RANDOM.fullmatch(name) for name in contents}
    by_rank = {int(m["rank"]): contents[name] for name, m in matches.items() if m is not None}
    return by_rank or None
