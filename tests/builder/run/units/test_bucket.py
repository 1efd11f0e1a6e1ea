"""Dumps and parts in a bucket of a server that speaks S3: the rows are those of local paths."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import builder
from builder import BuildOptions
from tests.builder.run.units.runs import ranks, rows_of
from tests.builder.run.units.test_addresses import with_places
from tests.conftest import ROOT

for package in ("s3fs", "moto.server"):
    pytest.importorskip(package)

# A process of its own: these packages start threads and warn of their own future.
PROGRAM = textwrap.dedent("""
    import os, sys
    from pathlib import Path
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    os.environ.update(
        AWS_ACCESS_KEY_ID="x", AWS_SECRET_ACCESS_KEY="y", AWS_DEFAULT_REGION="us-east-1",
        AWS_ENDPOINT_URL=f"http://{host}:{port}", FSSPEC_S3_ENDPOINT_URL=f"http://{host}:{port}",
    )
    import s3fs
    s3fs.S3FileSystem().mkdir("bucket")
    from builder.storage.addresses import open_folder
    from msprobe.cli import main
    from tests.builder.run.units.test_addresses import upload

    local, result = map(Path, sys.argv[1:])
    upload(local, open_folder("s3://bucket/d"))
    sides = ["-tp", "s3://bucket/d/problem", "-gp", "s3://bucket/d/benchmark"]
    codes = [main(["graph_visualize", *sides, "-o", "s3://bucket/out", "--plan"])]
    for shard in "01":
        codes.append(main(["unit", "s3://bucket/out/plan.json", "--shard", f"{shard}/2"]))
    codes.append(main(["join", "s3://bucket/out"]))
    out = open_folder("s3://bucket/out")
    (made,) = [item.name for item in out.listed() if item.name.endswith(".vis.db")]
    out.fetch(made, result)
    print("codes", codes)
    os._exit(0)
""")


def test_rows_are_those_of_paths(tmp_path: Path) -> None:
    local = tmp_path / "d"
    sides = ranks(local / "problem", fault=True), ranks(local / "benchmark")
    direct = builder.build(*sides, tmp_path / "direct", BuildOptions(workers=1))
    result = tmp_path / "result.vis.db"
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(local), str(result)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert "codes [0, 0, 0, 0]" in done.stdout, done.stdout + done.stderr
    assert rows_of(result) == with_places(rows_of(direct.path), local, "s3://bucket/d")
