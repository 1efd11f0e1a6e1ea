"""Writes the page's message types from the server's OpenAPI document, with openapi-typescript, and
the page's words of an all-clear from `builder.claim_words`, which alone has them.

`python build_backend/page_messages.py` after a message of the server changed; a test compares.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from pathlib import Path

from builder.claim_words import NAMED, WORDS, Language
from tb_graph_ascend.server import create_app

ROOT = Path(__file__).resolve().parent.parent
SOURCES = ROOT / "tb_graph_ascend" / "frontend" / "src"
WRITTEN = SOURCES / "api" / "messages.ts"
WORDED: dict[Language, Path] = {
    "en": SOURCES / "i18n" / "claim.en.ts",
    "zh": SOURCES / "i18n" / "claim.zh.ts",
}
_HEAD = (
    "/* Written by `make messages` from builder/claim_words.py, which alone words an all-clear. */"
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
    written = json.dumps(texts, indent=2, ensure_ascii=False)
    written = re.sub(r'^( *)"(\w+)":', r"\1\2:", written, flags=re.MULTILINE)
    written = re.sub(r'(["}])$', r"\1,", written[:-1], flags=re.MULTILINE) + "}"
    name = f"claim{language.title()}"
    module = f"{_HEAD}\n\nexport const {name} = {written};\n"
    if language != "en":
        return module
    named = f"export const CLAIM_NAMED = new Set<string>({json.dumps(sorted(NAMED))});\n"
    return f"{module}\n/** Gaps and differences of which the first is named. */\n{named}"


if __name__ == "__main__":
    write_messages(WRITTEN)
    for each, file in WORDED.items():
        file.write_text(claim_texts(each), encoding="utf-8")
