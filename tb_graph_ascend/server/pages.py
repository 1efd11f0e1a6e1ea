"""The built interface: index.html anew each time, everything with a content hash for a year."""

from __future__ import annotations

import gzip
import mimetypes
import re
from functools import lru_cache
from pathlib import Path

from flask import Blueprint, Response, redirect, request
from werkzeug.security import safe_join
from werkzeug.wrappers import Response as BaseResponse

from tb_graph_ascend.server.errors import NotFoundError

_HASHED = re.compile(r"\.[0-9a-f]{8,}\.")
_YEAR = 31_536_000
_MISSING_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Interface not built</title></head>
<body><h1>The interface is not built</h1>
<p>This is a checkout of the source without its bundle. Build it with Node 20 or newer:</p>
<pre>make build</pre>
<p>or install the package, whose wheel carries the bundle: <code>pip install .</code></p>
<p>The server itself works: <a href="api/databases">api/databases</a></p>
</body></html>
"""
_MISSING_MODULE = """export function render() {
  document.body.textContent =
    "The interface is not built: run `make build` in the checkout, or install the wheel.";
}
"""


def blueprint(static: Path) -> Blueprint:
    """Routes of the interface's files."""
    pages = Blueprint("pages", __name__)

    @pages.get("/")
    def root() -> BaseResponse:
        # TensorBoard never forwards its bare mount point; one address for all is simpler.
        query = request.query_string.decode("ascii", "replace")
        return redirect(f"index.html?{query}" if query else "index.html")

    @pages.get("/<path:name>")
    def file(name: str) -> Response:
        """One file of the bundle."""
        if name.startswith("api/"):
            raise NotFoundError(f"no such resource: {name[:100]}", "api/openapi.json lists them")
        if not (static / "index.html").is_file():
            return _unbuilt(name)
        path = safe_join(str(static), name)
        if path is None or not Path(path).is_file():
            raise NotFoundError(f"no such page: {name[:100]}", "open index.html")
        return _answer(Path(path))

    return pages


def _answer(path: Path) -> Response:
    state = path.stat()
    raw, compressed = _content(path, state.st_mtime_ns)
    answer = Response(raw, mimetype=_mimetype(path.name))
    if request.accept_encodings["gzip"]:
        answer.set_data(compressed)
        answer.headers["Content-Encoding"] = "gzip"
    answer.set_etag(f"{state.st_mtime_ns:x}-{state.st_size:x}", weak=True)
    hashed = _HASHED.search(path.name)
    lasting = f"public, max-age={_YEAR}, immutable"
    answer.headers["Cache-Control"] = lasting if hashed else "no-cache"
    return answer


@lru_cache(maxsize=64)
def _content(path: Path, _modified: int) -> tuple[bytes, bytes]:
    raw = path.read_bytes()
    return raw, gzip.compress(raw, 9, mtime=0)


def _mimetype(name: str) -> str:
    # A Windows registry may call JavaScript text/plain, which browsers refuse to run.
    known = {".js": "text/javascript", ".css": "text/css", ".html": "text/html"}
    suffix = Path(name).suffix
    return known.get(suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"


def _unbuilt(name: str) -> Response:
    if name == "index.html":
        return Response(_MISSING_PAGE, mimetype="text/html")
    if name == "index.js":
        return Response(_MISSING_MODULE, mimetype="text/javascript")
    raise NotFoundError(f"no such page: {name[:100]}", "build the interface with `make build`")
