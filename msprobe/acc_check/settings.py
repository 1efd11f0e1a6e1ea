"""The block `acc_check` of a config.json: which APIs, where error data go, how many decimals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from builder.errors import InputError
from msprobe_core.format.bounded import parse_yaml

_MOST_DECIMALS = 20


@dataclass(frozen=True, slots=True)
class Settings:
    """What a configuration may set; `error_data` None means the folder of the tables."""

    white: tuple[str, ...] = ()
    black: tuple[str, ...] = ()
    error_data: Path | None = None
    decimals: int = 14


def read_settings(path: Path | None) -> Settings:
    """Read a config.json (or the yaml of former releases); raises InputError naming the key."""
    if path is None:
        return Settings()
    block = _block(path)
    folder = block.get("error_data_path")
    if folder is not None and not isinstance(folder, str):
        raise InputError(f"{path}: error_data_path is {folder!r}", "give a folder")
    decimals = block.get("precision", 14)
    if isinstance(decimals, bool) or not isinstance(decimals, int) or not 0 <= decimals <= 20:
        raise InputError(f"{path}: precision is {decimals!r}", f"give 0 to {_MOST_DECIMALS}")
    return Settings(
        white=_names(path, block, "white_list"),
        black=_names(path, block, "black_list"),
        error_data=None if not folder else Path(folder),
        decimals=decimals,
    )


def _block(path: Path) -> Mapping[str, object]:
    try:
        content = parse_yaml(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}", "check the path of -config") from None
    except ValueError as error:
        raise InputError(
            f"{path}: neither JSON nor YAML ({error})", "mend it or leave -config out"
        ) from None
    block = content.get("acc_check", content) if isinstance(content, Mapping) else None
    if not isinstance(block, Mapping):
        raise InputError(f'{path}: has no block "acc_check"', 'add "acc_check": {} or more')
    return block


def _names(path: Path, block: Mapping[str, object], key: str) -> tuple[str, ...]:
    names = block.get(key) or []
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise InputError(f"{path}: {key} is {names!r}", 'give a list of names such as ["conv1d"]')
    return tuple(names)
