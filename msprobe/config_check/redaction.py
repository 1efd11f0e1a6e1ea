"""Takes secrets out of names and texts before anything is written.

Two rules: what a name says (`…_TOKEN`, `--password`) and what a value looks like (the token formats
of known services, keys, credentials in an address). A redacted value keeps nothing of itself, no
hash either: a short secret is found from its hash.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

REDACTED = "<redacted>"

_NO_SECRETS = frozenset({"none", "null", "true", "false", "0", "1", REDACTED})

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# Anywhere in a name.
_SECRET_WORDS = frozenset(
    """
    secret secrets password passwords passwd passphrase credential credentials apikey apitoken
    authtoken authorization cookie cookies bearer webhook sas dsn pwd signature
    pgpassword mysqlpassword sshpass
    """.split()
)
_SECRET_KEYS = frozenset(
    """
    api access private secret auth encryption signing ssh license wandb swanlab account storage
    master deploy service client session security subscription admin
    """.split()
)
# `eos_token` and `max_tokens` are about text.
_TOKENS_OF_TEXT = frozenset(
    """
    eos bos pad unk sep cls mask image video audio start end stop special per each no drop last
    first next new max min num thinking think
    """.split()
)
_HARMLESS = frozenset({"PWD", "OLDPWD"})
_SECRET_TEXT = tuple(
    re.compile(pattern, re.DOTALL)
    for pattern in (
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)",
        r"\bgh[pousr]_[A-Za-z0-9]{20,}",
        r"\bgithub_pat_\w{20,}",
        r"\bglpat-[\w\-]{15,}",
        r"\bhf_[A-Za-z0-9]{20,}",
        r"\bsk-[\w\-]{16,}",
        r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
        r"\bxox[abeoprs]-[\w\-]{10,}",
        r"\bAIza[\w\-]{30,}",
        r"\bpypi-[\w\-]{20,}",
        r"\bnpm_[A-Za-z0-9]{20,}",
        r"\beyJ[\w\-]+\.[\w\-]+\.[\w\-]*",  # a JSON web token
    )
)
_CREDENTIALS_IN_ADDRESS = re.compile(
    r"(?P<scheme>\b[a-z][a-z0-9+.\-]*://)[^/\s@'\"]+@", re.IGNORECASE
)
_HEADER = re.compile(r"(?P<kind>\b(?:Bearer|Basic))\s+[\w\-.~+/]{8,}=*", re.IGNORECASE)
# `name=`, `"name": ` and `--name ` before a value.
_NAMED = re.compile(
    r"(?P<name>[A-Za-z_][\w\-.]*)['\"]?\s*[=:]\s*|-(?P<flag>[A-Za-z][\w\-.]*)\s+(?=[^\s-])"
)
_VALUE = re.compile(r"\"[^\"]*\"|'[^']*'|[^\s,;&'\"()]+")
_RANDOM = re.compile(r"(?<![\w/.+\-])[A-Za-z0-9+_\-]{32,}={0,2}(?![\w/.+\-])")


def is_secret_name(name: str) -> bool:
    """Whether a variable, a flag or a dotted key holds a secret by its name."""
    words = [word.lower() for word in _WORD.findall(name.rpartition("/")[2].rpartition(".")[2])]
    if not words or name in _HARMLESS:
        return False
    if _SECRET_WORDS.intersection(words) or " ".join(words[-2:]) == "connection string":
        return True
    *before, last = words[:-1] if words[-1] in ("id", "value") and len(words) > 2 else words
    if last == "token":
        return not _TOKENS_OF_TEXT.intersection(before[-1:])
    if last in ("key", "keys"):
        return name.isupper() or bool(_SECRET_KEYS.intersection(before[-1:]))
    return last in ("auth", "pass")


def redacted(name: str, value: Any) -> Any:
    """The value as it may be written: REDACTED for a secret name, texts without secrets inside."""
    if isinstance(value, Mapping):
        return {key: redacted(str(key), inner) for key, inner in value.items()}
    if isinstance(value, str | bytes) and value and is_secret_name(name):
        return value if value.strip().lower() in _NO_SECRETS else REDACTED
    if isinstance(value, int | float) and _SECRET_WORDS.intersection(name.lower().split("_")):
        return value if isinstance(value, bool) else REDACTED  # a password of digits
    if isinstance(value, list | tuple):
        return [redacted(name, inner) for inner in value]
    return redacted_text(value) if isinstance(value, str) else value


def redacted_text(text: str) -> str:
    """The text with what looks like a secret replaced."""
    for pattern in _SECRET_TEXT:
        text = pattern.sub(REDACTED, text)
    text = _CREDENTIALS_IN_ADDRESS.sub(lambda match: f"{match['scheme']}{REDACTED}@", text)
    text = _HEADER.sub(lambda match: f"{match['kind']} {REDACTED}", text)
    text = _without_named(text)
    return _RANDOM.sub(_without_randomness, text)


def _without_named(text: str) -> str:
    """Values after secret names; a value that is none may hold a name of its own."""
    pieces: list[str] = []
    position = 0
    while match := _NAMED.search(text, position):
        pieces.append(text[position : match.end()])
        position = match.end()
        value = _VALUE.match(text, position)
        if value is not None and is_secret_name(match["name"] or match["flag"]):
            pieces.append(REDACTED)
            position = value.end()
    return "".join([*pieces, text[position:]])


def _without_randomness(match: re.Match[str]) -> str:
    """Long runs of mixed letters and digits are keys; words, numbers and hexadecimals are not."""
    text = match[0]
    kinds = (str.isupper, str.islower, str.isdecimal)
    changes = sum(any(kind(a) != kind(b) for kind in kinds) for a, b in pairwise(text))
    mixed = all(any(kind(c) for c in text) for kind in kinds)
    return REDACTED if mixed and changes > len(text) / 3 else text
