"""The server: a Flask app over log folders, mounted by TensorBoard or run by `msprobe serve`."""

from tb_graph_ascend.server.app import create_app
from tb_graph_ascend.server.standalone import ServeError, serve
from tb_graph_ascend.server.workplace import Settings

__all__ = ["ServeError", "Settings", "create_app", "serve"]
