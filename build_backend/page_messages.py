"""Writes the page's message types from the server's OpenAPI document, with openapi-typescript.

`python build_backend/page_messages.py` after a message of the server changed; a test compares.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

from tb_graph_ascend.server import create_app

ROOT = Path(__file__).resolve().parent.parent
WRITTEN = ROOT / "tb_graph_ascend" / "frontend" / "src" / "api" / "messages.ts"
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


if __name__ == "__main__":
    write_messages(WRITTEN)
