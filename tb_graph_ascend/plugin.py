"""What TensorBoard loads: light to import, and silent where there is nothing to show.

The server itself is imported with the first request; an error here would take TensorBoard down.
"""

from __future__ import annotations

import argparse
import os
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tensorboard.plugins import base_plugin

from tb_graph_ascend.logdirs import LogDirs

if TYPE_CHECKING:
    from flask import Flask

PLUGIN_NAME = "tb_graph_ascend"
_MOUNT = f"/data/plugin/{PLUGIN_NAME}"
_ANY = ("0.0.0.0", "::")
Environ = dict[str, Any]
StartResponse = Callable[..., Any]


class GraphAscendLoader(base_plugin.TBLoader):  # type: ignore[misc]  # TensorBoard has no types
    """Adds the plugin's flags to TensorBoard and makes the plugin."""

    def define_flags(self, parser: argparse.ArgumentParser) -> None:
        """Declare what a server that others reach may need."""
        group = parser.add_argument_group("precision graphs")
        group.add_argument(
            "--graph_ascend_allow_host",
            action="append",
            default=[],
            metavar="NAME",
            help="a host name under which manual mapping and builds are allowed (repeatable)",
        )
        group.add_argument(
            "--graph_ascend_read_only",
            action="store_true",
            help="allow no manual mapping and no builds",
        )

    def load(self, context: base_plugin.TBContext) -> GraphAscendPlugin:
        """Make the plugin."""
        return GraphAscendPlugin(context)


class GraphAscendPlugin(base_plugin.TBPlugin):  # type: ignore[misc]  # TensorBoard has no types
    """The graphs of two runs side by side, as a tab of TensorBoard."""

    plugin_name = PLUGIN_NAME

    def __init__(self, context: base_plugin.TBContext) -> None:
        self._flags = context.flags
        spec = getattr(context.flags, "logdir_spec", "")
        self._logdirs = LogDirs(log_folders(context.logdir, spec))
        self._app: Flask | None = None
        self._lock = threading.Lock()

    def get_plugin_apps(self) -> dict[str, Callable[..., Iterable[bytes]]]:
        """One route takes everything below the mount point."""
        return {"/*": self._serve, "/index.js": self._serve, "/index.html": self._serve}

    def is_active(self) -> bool:
        """Whether there is anything to show; TensorBoard asks often, so the scan is remembered."""
        return self._logdirs.any()

    def frontend_metadata(self) -> base_plugin.FrontendMetadata:
        """TensorBoard imports this module in a frame of its own and calls its `render`."""
        return base_plugin.FrontendMetadata(
            es_module_path="/index.js", tab_name="Precision graphs", disable_reload=True
        )

    def _serve(self, environ: Environ, start_response: StartResponse) -> Iterable[bytes]:
        # TensorBoard leaves its mount point in the path; the prefix is in SCRIPT_NAME already.
        inner = dict(environ)
        path = environ.get("PATH_INFO", "")
        if path.startswith(_MOUNT):
            inner["SCRIPT_NAME"] = environ.get("SCRIPT_NAME", "") + _MOUNT
            inner["PATH_INFO"] = path[len(_MOUNT) :] or "/"
        return self._flask()(inner, start_response)

    def _flask(self) -> Flask:
        with self._lock:
            if self._app is None:
                self._app = self._make_app()
            return self._app

    def _make_app(self) -> Flask:
        from tb_graph_ascend.server import Settings, create_app
        from tb_graph_ascend.server.standalone import own_names

        flags = self._flags
        host = getattr(flags, "host", None)
        everywhere = bool(getattr(flags, "bind_all", False)) or host in _ANY
        names = list(getattr(flags, "graph_ascend_allow_host", None) or [])
        if host:
            names.append(host)
        if everywhere:
            names += own_names()
        settings = Settings(
            read_only=bool(getattr(flags, "graph_ascend_read_only", False)),
            hosts=names,
            any_address=everywhere,
            guard_reads=False,
            allow_host_option="--graph_ascend_allow_host",
        )
        return create_app(self._logdirs.folders, settings)


def log_folders(logdir: str | None, spec: str | None) -> list[Path]:
    """The local folders of --logdir, or of --logdir_spec such as `a:/runs/a,b:/runs/b`."""
    listed = [logdir] if logdir else [_without_name(part) for part in (spec or "").split(",")]
    local = [part.strip() for part in listed if part.strip() and "://" not in part]
    return [Path(part).expanduser() for part in local]


def _without_name(part: str) -> str:
    # As TensorBoard reads it: `C:\\runs` is no folder named "C", `gs://runs` none named "gs".
    named = ":" in part and "://" not in part and not part.startswith("/")
    return part.partition(":")[2] if named and not os.path.splitdrive(part)[0] else part
