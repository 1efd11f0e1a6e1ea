"""Writes what the page has of the builder: types of messages, from the server's OpenAPI document
with openapi-typescript, and the words of reasons and of an all-clear, from the tables of words.

`python build_backend/page_messages.py` after a message of the server changed; a test compares.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_args

from builder import reasons
from builder.claim_words import NAMED, WORDS, Language
from builder.dump.stack_frames import RECORDERS
from builder.finding_certainty import CERTAINTY_WORDS
from builder.reasons.beginning_words import BEGINNINGS
from builder.reasons.first_reasons import FED, SAYS_WHY
from builder.reasons.phrase_words import PHRASES
from builder.reasons.reason_words import SENTENCES
from msprobe_core.format.frameworks import PACKAGES
from tb_graph_ascend.server import create_app

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "tb_graph_ascend" / "frontend" / "src"
WRITTEN = SOURCES / "api" / "messages.ts"
WORDED: dict[Language, Path] = {
    "en": SOURCES / "i18n" / "claim.en.ts",
    "zh": SOURCES / "i18n" / "claim.zh.ts",
}
_LANGUAGES: tuple[Language, ...] = ("en", "zh")
_HEAD = (
    "/* Written by `make messages` from builder/claim_words.py, which alone words an all-clear. */"
)
_REASONS_HEAD = "/* Written by `make messages` from builder/reasons, which alone words a reason. */"
_SURE_HEAD = (
    "/* Written by `make messages` from builder/finding_certainty.py, which alone words it. */"
)
_PACKAGES_HEAD = "/* Written by `make messages` from msprobe_core/format/frameworks. */"
_KINDS: tuple[tuple[type[reasons.Fact], str], ...] = (
    (reasons.RuleFact, "rule"),
    (reasons.ValueFact, "value"),
    (reasons.ValueNote, "note"),
    (reasons.FindingFact, "finding"),
    (reasons.ComparisonFact, "comparison"),
    (reasons.PairingFact, "pairing"),
    (reasons.MsprobeFact, "msprobe"),
    (reasons.NotUnderstood, "foreign"),
)
_COMMAND = ("npx", "--no-install", "openapi-typescript")
_OPTIONS = ("--root-types", "--root-types-no-schema-prefix", "--default-non-nullable=false")


def write_messages(target: Path) -> None:
    """Write the types of all messages; needs the modules that `npm ci` installs."""
    with tempfile.TemporaryDirectory() as folder:
        document = Path(folder) / "openapi.json"
        document.write_text(json.dumps(_messages_only(Path(folder))), encoding="utf-8")
        command = [*_COMMAND, str(document), *_OPTIONS, "--output", str(target)]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def _messages_only(folder: Path) -> dict[str, object]:
    # The page writes its requests itself: the paths would be three quarters of the file.
    answer = create_app([folder]).test_client().get("/api/openapi.json")
    document: dict[str, object] = json.loads(answer.data)
    return document | {"paths": {}}


def claim_texts(language: Language) -> str:
    """The words of an all-clear in a language as a module of the page."""
    texts: dict[str, object] = {}
    for key, text in WORDS[language].items():
        *groups, name = key.split(".")
        if key == "colon" or (len(groups) > 1 and groups[1] != "trends"):
            continue  # of what the page does not show
        inner = texts
        for group in groups:
            inner = inner.setdefault(group, {})  # type: ignore[assignment]
        inner[name] = re.sub(r"\{(\w+)[^}]*\}", r"{{\1}}", text)
    written = _typescript(texts)
    name = f"claim{language.title()}"
    module = f"{_HEAD}\n\nexport const {name} = {written};\n"
    if language != "en":
        return module
    named = f"export const CLAIM_NAMED = new Set<string>({json.dumps(sorted(NAMED))});\n"
    return f"{module}\n/** Gaps and differences of which the first is named. */\n{named}"


def page_files() -> dict[Path, str]:
    """What else the page has, by its files: sentences of reasons, what they are put together of,
    their kinds, and the packages of frameworks.
    """
    files = {
        SOURCES / "i18n" / "reasonkinds.ts": _kinds(),
        SOURCES / "state" / "frameworkpackages.ts": _packages(),
    }
    for language in _LANGUAGES:
        files[SOURCES / "i18n" / f"sure.{language}.ts"] = (
            f"{_SURE_HEAD}\n\nexport const sure{language.title()} = "
            f"{_typescript(_nested(CERTAINTY_WORDS, language))};\n"
        )
        sentences = {key: _page_text(getattr(words, language)) for key, words in SENTENCES.items()}
        phrases = _nested(PHRASES, language)
        end = language.title()
        files[SOURCES / "i18n" / f"reasons.{language}.ts"] = (
            f"{_REASONS_HEAD}\n\n"
            f"export const reasons{end}: Record<string, string> = {_typescript(sentences)};\n"
        )
        files[SOURCES / "i18n" / f"begins.{language}.ts"] = (
            f"{_REASONS_HEAD}\n\n"
            f"export const begins{end} = {_typescript(_nested(BEGINNINGS, language))};\n"
        )
        files[SOURCES / "i18n" / f"facts.{language}.ts"] = (
            f"{_REASONS_HEAD}\n\nexport const facts{end} = {_typescript(phrases)};\n"
        )
    return files


def _nested(table: Mapping[str, Any], language: Language) -> dict[str, object]:
    """The words of a table in a language, by their keys' parts."""
    nested: dict[str, object] = {}
    for key, words in table.items():
        *groups, name = key.split(".")
        inner = nested
        for group in groups:
            inner = inner.setdefault(group, {})  # type: ignore[assignment]
        inner[name] = _page_text(getattr(words, language))
    return nested


def _kinds() -> str:
    """What each reason is said of, so that the page decides by no list of its own."""
    found = {
        str(one.__struct_config__.tag): next(kind for base, kind in _KINDS if issubclass(one, base))
        for one in get_args(reasons.Reason)
    }
    return (
        f"{_REASONS_HEAD}\n\n/** What a reason is said of, by its code. */\n"
        f"export const REASON_KINDS = {_typescript(found)} as const;\n\n"
        "/** What explains the difference below it, or says that nothing recorded does. */\n"
        f"export const SAYS_WHY = {_codes(SAYS_WHY)};\n\n"
        "/** That a call only reads what differs. */\n"
        f"export const FED = {_codes(FED)};\n"
    )


def _codes(classes: Iterable[type[reasons.Fact]]) -> str:
    """The codes of reasons as a set of the page."""
    codes = sorted(str(one.__struct_config__.tag) for one in classes)
    return f"new Set<string>({json.dumps(codes)})"


def _packages() -> str:
    """The packages in whose files a framework speaks, not the model."""
    names = json.dumps(sorted((*PACKAGES, *RECORDERS)))
    return (
        f"{_PACKAGES_HEAD}\n\n/** In whose files a framework or the recorder speaks. */\n"
        f"export const FRAMEWORK_PACKAGES = {names} as const;\n"
    )


def _page_text(text: str) -> str:
    """A sentence of the table with the placeholders that the page has."""

    def placeholder(match: re.Match[str]) -> str:
        name, shown = match["name"], match["shown"]
        if shown == "side":
            return f"$t(facts.side.{{{{{name}}}}})"
        return f"{{{{{name}, {shown}}}}}" if shown else f"{{{{{name}}}}}"

    return re.sub(r"\{(?P<name>\w+)(?::(?P<shown>\w+))?\}", placeholder, text)


def _typescript(texts: dict[str, Any]) -> str:
    """Nested texts as an object of TypeScript."""
    written = json.dumps(texts, indent=2, ensure_ascii=False)
    written = re.sub(r'^( *)"(\w+)":', r"\1\2:", written, flags=re.MULTILINE)
    return re.sub(r'(["}])$', r"\1,", written[:-1], flags=re.MULTILINE) + "}"


if __name__ == "__main__":
    write_messages(WRITTEN)
    for path, text in page_files().items():
        path.write_text(text, encoding="utf-8")
    for each, file in WORDED.items():
        file.write_text(claim_texts(each), encoding="utf-8")
