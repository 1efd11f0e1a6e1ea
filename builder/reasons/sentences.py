"""Says a reason in one language, from the one table of sentences."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from string import Formatter

import msgspec
from msgspec import UNSET

from builder.claim_words import Language
from builder.reasons.beside import arguments_beside
from builder.reasons.fact import Fact
from builder.reasons.first_reasons import says_why
from builder.reasons.of_comparisons import NodesFact, TwoImplementations
from builder.reasons.of_findings import Explained, UnrecordedDiffers
from builder.reasons.of_values import AttributeDiffers
from builder.reasons.phrase_words import PHRASES
from builder.reasons.rank_words import RANK_SENTENCES
from builder.reasons.reason_words import SENTENCES

# From ten times on nobody reads percent.
_TIMES = 10.0
_LARGE = ((1e12, " trillion"), (1e9, " billion"), (1e6, " million"), (1e3, " thousand"), (1.0, ""))
_LARGE_ZH = ((1e12, "万亿"), (1e8, "亿"), (1e4, "万"), (1.0, ""))
# Below this share of what is to be explained, estimates of it say no more than their rounding.
_HARDLY = 0.01
# Fields that hold names of calls, with commas between, and those that hold words of the builder.
_NAMES = ("names", "instead")
_WORDED = ("coordinates", "there", "reasons", "axes")
_LAYOUTS = ("merged",)
_AT = re.compile(r"(\w+) (\d+) of (\d+)")
_MORE = re.compile(r"; and (\d+) more")
_THERE = re.compile(r"^; there: (.*)")


def sentence(reason: Fact, language: Language = "en", *, below: Sequence[Fact] = ()) -> str:
    """One reason in words, as it is said `below` others of its finding."""
    facts = {name: fact for name, fact in _facts(reason, language).items() if fact is not UNSET}
    # That nothing explains a difference is not true right below the call that does.
    if isinstance(reason, Explained) and reason.explained == 0 and says_why(below):
        facts["before"] = ""
    own = f"{reason.code}_{facts.get('of')}"
    words = SENTENCES.get(own) or SENTENCES.get(reason.code) or RANK_SENTENCES[reason.code]
    return _Numbers(language).vformat(getattr(words, language), (), facts)


def sentences(reasons: Sequence[Fact], language: Language = "en") -> list[str]:
    """The reasons of a finding or a node in words, one below the other."""
    return [
        sentence(reason, language, below=reasons[:number]) for number, reason in enumerate(reasons)
    ]


def percent(share: float) -> str:
    """A share in percent: with a digit behind the point, where that shows something."""
    hundredths = 100 * share
    if hundredths == 0 or 0.1 <= abs(hundredths) < 1000:
        return f"{hundredths:.1f}%"
    return f"{hundredths:.0f}%" if 1000 <= abs(hundredths) < 1e6 else f"{hundredths:.2g}%"


def apart(error: float, language: Language = "en") -> str:
    """How far a value is off: in percent of the benchmark, or by how many times it."""
    chinese = language == "zh"
    if error < _TIMES or not isfinite(error):
        return f" {percent(error)}" if chinese else percent(error)
    if error >= 1e15:
        return f" {error:.1e} 倍" if chinese else f"{error:.1e} times the benchmark"
    rounded = float(f"{error:.2g}")
    unit, word = next(one for one in (_LARGE_ZH if chinese else _LARGE) if rounded >= one[0])
    size = f"{rounded / unit:g}{word}"
    return f" {size}{'' if word else ' '}倍" if chinese else f"{size} times the benchmark"


def factor(times: float) -> str:
    """A factor with three digits, from a thousand on as a whole number: loss scales are such."""
    return f"{times:.0f}" if 1000 <= abs(times) < 1e15 else f"{times:.3g}"


class _Numbers(Formatter):
    """Fills sentences in; shows numbers as the sentence asks for."""

    def __init__(self, language: Language) -> None:
        self._language = language

    def format_field(self, value: object, format_spec: str) -> str:
        if format_spec == "side":
            return _phrase(f"side.{value}", self._language)
        if not isinstance(value, int | float):
            return str(value)
        shown = {
            "short": f"{value:.3g}",
            "factor": factor(value),
            "score": f"{value:.2f}",
            "percent": percent(value),
            "apart": apart(value, self._language),
        }
        return shown.get(format_spec, str(value))


def _phrase(name: str, language: Language, /, **facts: object) -> str:
    return _Numbers(language).vformat(getattr(PHRASES[name], language), (), facts)


def _facts(reason: Fact, language: Language) -> dict[str, object]:
    """The fields of a reason, their words in the language, and the clauses that they make."""
    facts: dict[str, object] = msgspec.structs.asdict(reason) | _clauses(reason, language)
    if isinstance(reason, AttributeDiffers) and f"attribute.{reason.attribute}" in PHRASES:
        facts["attribute"] = _phrase(f"attribute.{reason.attribute}", language)
    if isinstance(facts.get("problem"), str) and isinstance(facts.get("benchmark"), str):
        shown = arguments_beside(str(facts["problem"]), str(facts["benchmark"]))
        facts["problem"], facts["benchmark"] = shown
    if "sure" in facts:
        facts["sure"] = _phrase(f"sure.{facts['sure']}", language)
    if facts.get("argument", UNSET) is not UNSET:
        named = {name: facts[name] for name in ("value", "argument")}
        facts["value"] = _phrase("argumentNamed", language, **named)
    if facts.get("at", UNSET) is not UNSET:
        facts["value"] = _phrase("valueOf", language, value=facts["value"], at=facts["at"])
    if language != "en":
        facts |= _translated(reason.code, facts, language)
    for name, phrase in _ABSENT.items():
        if name in facts and facts[name] is None:
            facts[name] = _phrase(phrase, language)
    return facts


def _clauses(reason: Fact, language: Language) -> dict[str, object]:
    """What a sentence has beside the fields of its reason."""
    match reason:
        case Explained():
            return {"before": _before(reason, language)}
        case UnrecordedDiffers():
            return {"perhaps": _perhaps(reason, language)}
        case TwoImplementations(fused=fused):
            return {"parts": _phrase("parts", language, fused=fused) if fused else ""}
        case NodesFact(step=step, rank=rank):
            told = step is not UNSET and rank is not UNSET
            return {"place": _phrase("place", language, step=step, rank=rank) if told else ""}
        case _:
            return {}


# JSON has null where a measure is not finite, and where one run gives no such argument.
_ABSENT = {
    **dict.fromkeys(("error", "ratio", "cosine", "factor"), "untold"),
    **dict.fromkeys(("problem", "benchmark"), "notGiven"),
    "shared": "notCounted",
}


def _before(reason: Explained, language: Language) -> str:
    """How much of an error what differs before a value explains."""
    if reason.explained == 0:
        return _phrase("before.nothing", language)
    share = reason.explained / reason.apart
    if share < _HARDLY:
        return _phrase("before.hardly", language)
    return _phrase("before.share", language, share=share)


def _perhaps(reason: UnrecordedDiffers, language: Language) -> str:
    """What may have made a value that no recorded call made."""
    if reason.maker is UNSET:
        return _phrase("perhaps.unknown", language)
    return _phrase("perhaps.maker", language, maker=reason.maker)


def _translated(code: str, facts: Mapping[str, object], language: Language) -> dict[str, object]:
    """The builder's own English words inside facts: names of axes, why values were set aside."""
    names = {n: str(facts[n]) for n in _NAMES if n in facts}
    comma = _phrase("comma", language)
    worded = [*_WORDED, *(("problem", "benchmark") if code in _LAYOUTS else ())]
    told = {n: _words(str(facts[n]), language) for n in worded if n in facts}
    return {**{n: text.replace(", ", comma) for n, text in names.items()}, **told}


def _words(text: str, language: Language) -> str:
    for whole in ("none", "oneRank"):
        if text == PHRASES[whole].en:
            return _phrase(whole, language)
    text = _AT.sub(lambda m: _phrase("at", language, axis=m[1], at=m[2], size=m[3]), text)
    text = _MORE.sub(lambda m: _phrase("more", language, more=m[1]), text)
    text = _THERE.sub(lambda m: _phrase("there", language, name=m[1]), text)
    for name, words in PHRASES.items():
        if name.startswith("aside."):
            text = text.replace(words.en, getattr(words, language), 1)
    return text
