"""The diagnosis as text and as the JSON that other tools rely on."""

from __future__ import annotations

import json
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import get_args

import pytest

from builder import build
from builder.results.trace import Link
from msprobe.answers.way_words import LINKS
from tests.builder.diagnosis.test_healing import compared as two_ways
from tests.builder.diagnosis.test_healing import scaled_before, scaled_behind
from tests.builder.dumps import forward, tensor, write_dump
from tests.msprobe.conftest import ROOT, Run
from tests.tb_graph_ascend.view.ports import LAYERS, port

FINDING = {
    "step": int,
    "rank": int,
    "number": int,
    "node": str,
    "kind": str,
    "side": str,
    "inside": (str, type(None)),
    "source": (dict, type(None)),
    "called_from": (dict, type(None)),
    "source_benchmark": (dict, type(None)),
    "type": str,
    "direction": str,
    "order": int,
    "score": (float, type(None)),
    "input_score": (float, type(None)),
    "introduced": (float, type(None)),
    "apart": (float, type(None)),
    "explained": (float, type(None)),
    "heals": bool,
    "reasons": list,
    "propagated_to": int,
    "perhaps": int,
    "divergent": int,
    "places": list,
    "certainty": dict,
}


@pytest.fixture(scope="module")
def compared(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    sides = samples / "nan" / "problem", samples / "statistics" / "bench"
    return build(sides[0] / "step0", sides[1] / "step0", tmp_path_factory.mktemp("out")).path


def test_text_leads_with_the_culprit_and_its_line(run: Run, compared: Path) -> None:
    answer = run("diagnose", compared)
    assert answer.code == 0
    first = answer.out[answer.out.index("look here first:") :].splitlines()[1]
    assert first.startswith("1. Torch.log.0.forward (api, forward, step 0")
    assert "File /job/" in answer.out
    assert "site-packages" not in answer.out


def test_text_names_the_librarys_frame_and_the_users_own_line(run: Run, tmp_path: Path) -> None:
    call, site = "Torch.op.0.forward", "/env/site-packages"
    frames = [
        f"File {site}/torch/nn/modules/module.py, line 1, in inner, \n return f()",
        f"File {site}/transformers/modeling_llama.py, line 155, in forward, \n a = b * c",
        "File /job/train.py, line 9, in <module>, \n loss = model(x)",
    ]
    for side, out in (("p", 3.0), ("b", 2.0)):
        data = {call: forward([tensor(1.0)], [tensor(out)])}
        write_dump(tmp_path / side, data, {call: None}, {"0": [[call], frames]})
    built = build(tmp_path / "p", tmp_path / "b", tmp_path / "out").path
    lines = [line.strip() for line in run("diagnose", built).out.splitlines()]
    place = f"File {site}/transformers/modeling_llama.py, line 155, in forward, a = b * c"
    assert lines[lines.index(place) + 1] == (
        "called from File /job/train.py, line 9, in <module>, loss = model(x)"
    )
    assert not any("site-packages/torch/" in line for line in lines)


def test_json_has_the_documented_form(run: Run, compared: Path) -> None:
    report = json.loads(run("diagnose", compared, "--json").out)
    assert report["version"] == 1
    assert report["database"] == str(compared)
    assert report["task"] == "statistics"
    assert set(report["coverage"]) == {
        "pairs",
        "matched",
        "unmatched_problem",
        "unmatched_benchmark",
        "share",
        "failed",
    }
    assert report["refusal"] is None
    assert report["findings"], "the sample has a seeded fault"
    for finding in report["findings"]:
        assert set(finding) == set(FINDING)
        for key, kind in FINDING.items():
            assert isinstance(finding[key], kind), key  # type: ignore[arg-type]
        assert finding["type"] in ("module", "api")
        assert finding["direction"] in ("forward", "backward")


def test_html_report_stands_alone(run: Run, compared: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.html"
    assert run("diagnose", compared, "--html", report).code == 0
    text = report.read_text()
    assert "Torch.log.0.forward" in text
    assert "http://" not in text
    assert "https://" not in text


def test_html_report_that_cannot_be_written_is_named(
    run: Run, compared: Path, tmp_path: Path
) -> None:
    answer = run("diagnose", compared, "--html", tmp_path / "none" / "report.html")
    assert answer.code == 1
    assert str(tmp_path / "none" / "report.html") in answer.err
    assert answer.err.count("\n") == 1


def test_top_limits_the_list(run: Run, compared: Path) -> None:
    report = json.loads(run("diagnose", compared, "--json", "--top", "1").out)
    assert len(report["findings"]) == 1
    assert json.loads(run("diagnose", compared, "--json", "--top", "0").out)["findings"] == []
    assert "1. " not in run("diagnose", compared, "--top", "0").out


def test_file_that_the_server_refuses_is_refused_here_too(
    run: Run, samples: Path, compared: Path, tmp_path: Path
) -> None:
    answer = run("diagnose", samples / "vis-db" / "ranks.vis.db")
    assert answer.code == 1
    assert "written by msprobe's own builder" in answer.err
    newer = tmp_path / "newer.vis.db"
    shutil.copyfile(compared, newer)
    with closing(sqlite3.connect(newer)) as connection, connection:
        connection.execute("UPDATE meta SET value = '99' WHERE key = 'schema_version'")
    answer = run("diagnose", newer)
    assert answer.code == 1
    assert "has schema version 99" in answer.err


def test_reason_without_its_fields_is_not_understood_and_shown_as_it_stands(
    run: Run, compared: Path, tmp_path: Path
) -> None:
    odd = tmp_path / "odd.vis.db"
    shutil.copyfile(compared, odd)
    with closing(sqlite3.connect(odd)) as connection, connection:
        connection.execute('UPDATE finding SET reasons = \'[{"code": "nonfinite_made"}]\'')
    answer = run("diagnose", odd)
    assert answer.code == 0
    assert 'does not know: {"code": "nonfinite_made"}' in answer.out


def of_the_page(key: str, words: str = "certainty.en.ts", **numbers: object) -> str:
    """A sentence of the page's answer in English."""
    path = ROOT / "tb_graph_ascend" / "frontend" / "src" / "i18n" / words
    (said,) = re.findall(rf'^  +{key}: "(.*)",$', path.read_text("utf-8"), re.MULTILINE)
    return re.sub(r"{{(\w+)}}", lambda found: str(numbers[found[1]]), str(said))


def test_a_port_is_refused_as_the_page_refuses_it(run: Run, samples: Path, tmp_path: Path) -> None:
    ported = port(samples / "statistics" / "problem", tmp_path / "port", LAYERS)
    options = ("-tp", ported, "-gp", samples / "statistics" / "bench", "-o", tmp_path / "out")
    built = run("graph_visualize", *options, "--same", "program")
    (path,) = (tmp_path / "out").glob("*.vis.db")
    report = json.loads(run("diagnose", path, "--json").out)
    covered = report["coverage"]
    unmatched = covered["unmatched_problem"] + covered["unmatched_benchmark"]
    share = int(100 * covered["share"])
    assert covered["pairs"] > 1
    over = of_the_page("over", "answer.en.ts", pairs=covered["pairs"])
    why = of_the_page("why", unmatched=unmatched, over=over)
    said = f"{of_the_page('share', share=share)}. {why}"
    assert (report["refusal"], report["findings"]) == (said, [])
    lines = run("diagnose", path).out.splitlines()
    assert said in lines
    assert not any(line.startswith("1. ") for line in lines)
    assert f"begins: {said}" in built.out.splitlines()
    report_of_page = tmp_path / "report.html"
    run("diagnose", path, "--html", report_of_page)
    assert said in report_of_page.read_text()


def test_fail_above_tells_by_the_exit_code(run: Run, compared: Path) -> None:
    assert run("diagnose", compared, "--fail-above", "0.5").code == 4
    assert run("diagnose", compared, "--fail-above", "1").code == 0


def test_nothing_compared_is_never_green(run: Run, samples: Path, tmp_path: Path) -> None:
    side = samples / "structure" / "bench"
    answer = run("diagnose", build(side, side, tmp_path).path)
    assert answer.code == 5
    assert "nothing was compared" in answer.out


@pytest.mark.parametrize("content", [b"", b"not a database", b"SQLite format 3\x00torn"])
def test_file_of_another_kind_is_named(run: Run, tmp_path: Path, content: bytes) -> None:
    odd = tmp_path / "odd.vis.db"
    odd.write_bytes(content)
    answer = run("diagnose", odd)
    assert answer.code == 1
    assert str(odd) in answer.err
    assert answer.err.count("\n") == 1


def test_explain_leads_to_the_finding(run: Run, compared: Path) -> None:
    first = json.loads(run("diagnose", compared, "--json").out)["findings"][0]["node"]
    with closing(sqlite3.connect(compared)) as connection:
        query = """
            SELECT name FROM node WHERE score > 0.9 AND source IS NOT NULL AND direction = 'forward'
            ORDER BY exec_order DESC LIMIT 1
        """
        (name,) = connection.execute(query).fetchone()
    assert name != first
    lines = run("diagnose", compared, "--explain", name).out.splitlines()
    assert name in lines[1] and lines[1].startswith("from ")
    reason = json.loads(run("diagnose", compared, "--json").out)["findings"][0]["reasons"][0]
    assert lines[-1].startswith(f"there begins finding 1: {reason}")
    way = json.loads(run("diagnose", compared, "--explain", name, "--json").out)
    assert (way["version"], way["finding"]) == (1, 1)
    assert [way["hops"][0]["name"], way["hops"][-1]["name"]] == [name, first]


def test_explain_says_of_what_heals_that_the_runs_only_part_there(run: Run, tmp_path: Path) -> None:
    results = Path(two_ways(tmp_path, scaled_before, scaled_behind).path)
    (found,) = json.loads(run("diagnose", results, "--json").out)["findings"]
    assert found["heals"]
    told = run("diagnose", results, "--explain", found["node"]).out.splitlines()[-1]
    assert told.startswith("there the runs part and come together again, finding 1: ")
    assert "begins" not in told


def test_explain_says_why_there_is_nothing_to_explain(run: Run, compared: Path) -> None:
    ends = {
        "score = 0 AND input_score = 0 AND source IS NULL": "it agrees with the other run",
        "match IS NULL AND source IS NULL AND kind = 'api'": "the other run has no such call",
    }
    for condition, words in ends.items():
        with closing(sqlite3.connect(compared)) as connection:
            row = connection.execute(f"SELECT name FROM node WHERE {condition}").fetchone()
        assert words in run("diagnose", compared, "--explain", row[0]).out.splitlines()[-1]


def test_explain_takes_part_of_a_name_for_a_question(run: Run, compared: Path) -> None:
    answer = run("diagnose", compared, "--explain", "LINEAR")
    assert answer.code != 0 and "take a full name: " in answer.err and "linear" in answer.err


def test_explain_has_words_for_every_link_of_a_way() -> None:
    assert set(get_args(Link)) == set(LINKS)


def test_explain_names_what_it_cannot_find(run: Run, compared: Path) -> None:
    answer = run("diagnose", compared, "--explain", "Torch.nothing.0.forward")
    assert answer.code != 0 and "Torch.nothing.0.forward" in answer.err


def test_explain_reads_files_of_msprobes_own_builder(run: Run, samples: Path) -> None:
    file = samples / "vis-db" / "ranks.vis.db"
    lines = run("diagnose", file, "--explain", "Module.layers.1.Block.backward.0").out.splitlines()
    assert lines[0] == "step 0, rank 0"
    assert "Module.layers.1.mlp.MLP.forward.0" in lines[-2]
    assert lines[-1].startswith("there begins finding 1: msprobe's own rules call this node an err")
