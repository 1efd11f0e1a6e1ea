"""The OpenAPI document is true: requests made of it are answered as it says, wrong ones refused."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from flask import Flask
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import load_all_checks
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
)

from tb_graph_ascend.server import create_app

load_all_checks()
CHECKS = (
    schemathesis.checks.not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
)


@pytest.fixture(scope="module")
def app(built: Callable[..., Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    folder = tmp_path_factory.mktemp("logs")
    shutil.copy(built("statistics/problem", "statistics/bench"), folder / "a.vis.db")
    yield create_app([folder])


@pytest.fixture(scope="module")
def api(app: Flask) -> Any:
    """The document with path variables narrowed to what exists, so that answers are not all 404."""
    client = app.test_client()
    document: Any = client.get("/api/openapi.json").json
    (entry,) = client.get("/api/databases").json["databases"]  # type: ignore[index]
    known = {
        "db": {"enum": [entry["id"]]},
        "step": {"enum": [0, 1, 7]},
        "rank": {"enum": [0, -1]},
        "node": {"type": "integer", "minimum": 1, "maximum": 400},
        "value": {"type": "integer", "minimum": 1, "maximum": 2000},
    }
    for operations in document["paths"].values():
        for operation in operations.values():
            for parameter in operation["parameters"]:
                if parameter["in"] == "path" and parameter["name"] in known:
                    parameter["schema"] = known[parameter["name"]]
    schema = schemathesis.openapi.from_dict(document)
    schema.app = app
    return schema


@pytest.mark.parametrize("mode", list(GenerationMode))
def test_answers_are_as_described(api: Any, mode: GenerationMode) -> None:
    """Requests that fit the document, then requests that break it in one place."""
    tried = 0
    for found in api.get_all_operations():
        operation = found.ok()
        if mode is GenerationMode.NEGATIVE and not operation.query and not operation.body:
            continue
        run_cases(operation.as_strategy(generation_mode=mode))
        tried += 1
    assert tried > 10


def run_cases(cases: Any) -> None:
    @settings(
        max_examples=10,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=cases)
    def run(case: Any) -> None:
        # The client of the test suite does not decompress.
        case.call_and_validate(checks=CHECKS, headers={"Accept-Encoding": "identity"})

    run()


def test_document_names_every_route_once(app: Flask) -> None:
    document: Any = app.test_client().get("/api/openapi.json").json
    described = {
        (method.upper(), path)
        for path, operations in document["paths"].items()
        for method in operations
    }
    served = {
        (method, rule.rule)
        for rule in app.url_map.iter_rules()
        if rule.rule.startswith("/api/") and rule.endpoint != "openapi"
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    assert len(described) == len(served)
    assert {path.count("/") for _, path in described} == {path.count("/") for _, path in served}
