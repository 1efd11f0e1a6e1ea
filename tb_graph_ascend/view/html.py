"""The diagnosis as one self-contained HTML file: findings with values and stacks, no scripts.

All text from the database is escaped by the template; a name may hold anything.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from builder.claim import evidence_told
from builder.finding_certainty import certainty_told
from builder.reasons.beside import arguments_beside, beside
from builder.results.database import ResultDatabase
from builder.results.extent import formats_told
from builder.results.followers.spread import worst_scores
from builder.results.records import NodeDetails, ValuePair
from builder.results.report import Diagnosis, diagnose
from tb_graph_ascend.view.answer import Answer, answer
from tb_graph_ascend.view.slide import headline, inline, slide, worded

SHOWN = 50


@dataclass(frozen=True, slots=True)
class _Place:
    """One finding with what its node holds; its score is of what it `leads_to` or its own."""

    number: int
    step: int
    rank: int
    name: str
    score: float | None
    leads_to: bool
    reasons: list[str]
    reach: str | None
    sure: str
    details: NodeDetails


def html_report(path: Path, top: int = SHOWN) -> str:
    """The report of a result database; raises InputError when the file is none."""
    diagnosis = diagnose(path, top)
    database = ResultDatabase(path)
    try:
        said = answer(database)
        found = database.findings()
        listed = found.findings[: top if said.causes else 0]
        worst = worst_scores(database, listed, found.threshold)
        places = [
            _Place(
                number=finding.id,
                step=finding.step,
                rank=finding.rank,
                name=finding.node.name,
                score=worst[finding.id],
                leads_to=worst[finding.id] != finding.score,
                reasons=[
                    worded(reason, "en", below=finding.reasons[:number])
                    for number, reason in enumerate(finding.reasons)
                ],
                reach=suspect.reach,
                sure=certainty_told(finding.certainty),
                details=database.details(finding.node.id),
            )
            for finding, suspect in zip(listed, diagnosis.findings)
        ]
        picture = inline(slide(database, said)) if places else ""
    finally:
        database.close()
    return _render(diagnosis, places, picture, _nothing_named(diagnosis, said))


def _nothing_named(diagnosis: Diagnosis, said: Answer) -> str:
    """What stands in the place of causes where there are none."""
    if diagnosis.refusal is not None and diagnosis.claim.code != "nothing":
        return diagnosis.refusal
    lines = [headline(said, "en"), *evidence_told(said.claim)]
    formats = None if said.extent is None else formats_told(said.extent)
    return f"{'; '.join([*lines, formats] if formats else lines)}."


def _render(diagnosis: Diagnosis, places: list[_Place], picture: str, nothing: str) -> str:
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True)
    environment.filters["short"] = _short
    environment.filters["scalars"] = _scalars
    environment.filters["red"] = _red
    environment.filters["statistics"] = _statistics
    return environment.from_string(_TEMPLATE).render(
        diagnosis=diagnosis, places=places, picture=Markup(picture), nothing=nothing
    )


def _short(number: float | str | None) -> str:
    """Four significant digits, as the interface shows them."""
    if number is None:
        return "–"
    return number if isinstance(number, str) else f"{number:.4g}"


def _scalars(pair: ValuePair) -> str:
    """What both runs give as an argument that is no tensor; where they give two, both."""
    ours = getattr(pair.problem, "scalar", None)
    theirs = getattr(pair.benchmark, "scalar", None)
    if ours is None or theirs is None:
        return arguments_beside(ours or theirs or "", "")[0]
    shown = arguments_beside(ours, theirs)
    return shown[0] if ours == theirs else " ≠ ".join(shown)


def _red(score: float | None) -> str:
    """White to dark red, one hue, monotone in lightness."""
    if score is None:
        return "transparent"
    return f"hsl(6 75% {97 - 55 * score:.0f}%)"


def _statistics(pair: ValuePair) -> list[tuple[str, str, str]]:
    rows = []
    for name in ("max", "min", "mean", "norm"):
        ours = getattr(pair.problem, name, None)
        theirs = getattr(pair.benchmark, name, None)
        if isinstance(ours, float | int) and isinstance(theirs, float | int):
            rows.append((name, *beside(ours, theirs)))
        else:
            rows.append((name, _short(ours), _short(theirs)))
    return rows


_TEMPLATE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Where does it begin? – {{ diagnosis.database.name }}</title>
<style>
:root { color-scheme: light dark; --line: color-mix(in srgb, currentColor 18%, transparent); }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto;
       padding: 0 1rem; }
code, pre, td { font: 13px/1.45 ui-monospace, monospace; }
h2 { font-size: 1.05rem; margin: 0; overflow-wrap: anywhere; }
article { border: 1px solid var(--line); border-radius: 8px; padding: 1rem; margin: 1rem 0; }
table { border-collapse: collapse; margin: .6rem 0; }
th, td { text-align: left; padding: .15rem .8rem .15rem 0; border-bottom: 1px solid var(--line); }
pre { overflow-x: auto; margin: .4rem 0; }
.score { display: inline-block; min-width: 3rem; text-align: center; border-radius: 4px;
         padding: 0 .4rem; color: #000; }
.score.dark { color: #fff; }
figure { margin: 1rem 0; }
figure svg { width: 100%; height: auto; border: 1px solid var(--line); border-radius: 8px; }
.quiet { opacity: .7; }
</style></head><body>
<h1>Where does it begin?</h1>
{% if picture %}<figure>{{ picture }}</figure>
{% endif %}<p>{{ diagnosis.pairs }} pairs compared by {{ diagnosis.task }};
{{ diagnosis.matched }} nodes matched, {{ diagnosis.unmatched_problem }} only in the problem run,
{{ diagnosis.unmatched_benchmark }} only in the benchmark run.
<span class="quiet">{{ diagnosis.database.name }}</span></p>
{% for line in diagnosis.summary %}<p>Note: {{ line }}</p>
{% endfor %}
{% for pair in diagnosis.failed %}
<p>Step {{ pair.step }} rank {{ pair.rank }} failed: {{ pair.error }}</p>
{% endfor %}
{% if not places %}
<p><strong>{{ nothing }}</strong></p>
{% endif %}
{% for place in places %}
<article>
<h2>{{ place.number }}. <code>{{ place.name }}</code>
<span class="score{{ ' dark' if (place.score or 0) > 0.6 else '' }}"
 style="background: {{ place.score | red }}">
{{- "leads to " if place.leads_to }}{{ place.score | short }}</span></h2>
<p class="quiet">step {{ place.step }}, rank {{ place.rank }}</p>
<p>{{ place.sure }}</p>
{% for reason in place.reasons %}<p>{{ reason }}</p>
{% endfor %}
{% if place.reach %}<p>{{ place.reach }}</p>
{% endif %}
<details><summary>Values</summary>
<table><thead><tr><th>value</th><th>dtype</th><th>shape</th><th></th><th>problem</th>
<th>benchmark</th><th>relative error</th><th>score</th></tr></thead><tbody>
{% for pair in place.details.values %}{% set one = pair.problem or pair.benchmark %}
{% for name, ours, theirs in pair | statistics %}
<tr>{% if loop.first %}<td rowspan="4">{{ pair.role }}.{{ pair.path }}</td>
<td rowspan="4">{{ one.dtype or one.type }}</td>
<td rowspan="4">{{ one.shape if one.shape is not none else (pair | scalars) }}</td>{% endif %}
<td>{{ name }}</td><td>{{ ours }}</td><td>{{ theirs }}</td>
{% if loop.first %}<td rowspan="4">{{ pair.error | short }}</td>
<td rowspan="4">{{ pair.score | short }}</td>{% endif %}</tr>
{% endfor %}{% endfor %}
</tbody></table></details>
{% for side, frames in (("problem", place.details.stack.problem),
                        ("benchmark", place.details.stack.benchmark)) if frames %}
<details><summary>Stack of the {{ side }} run</summary>
<pre>{{ frames | join("\n") }}</pre></details>
{% endfor %}
</article>
{% endfor %}
</body></html>
"""
