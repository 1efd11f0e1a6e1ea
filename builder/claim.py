"""The one place that says an all-clear, shown what was compared, what was not, and why.

"Nothing differs" is the worst sentence to say wrongly. So no command, page, report or table has one
of its own: each gathers its `Evidence`, asks for the `Claim` that this allows, and says `told`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal

import msgspec

from builder.claim_words import NAMED, WORDS, Language, Subject

Count = Annotated[int, msgspec.Meta(ge=0)]
ClaimCode = Literal["named", "heals", "nothing", "unknown", "differs", "close", "rounding", "equal"]
# What was not compared although it should have been: an answer without it cannot be relied on.
INCOMPLETE = frozenset(
    (
        "failed",  # a step and rank that could not be compared
        "only_in",  # a step and rank of one run alone
        "files",  # a tensor file that is missing, cannot be read or does not fit its record
        "null_statistics",  # a value whose statistics one run alone has
        "contradicted",  # a value whose statistics differ beside equal elements: not of one run
        "no_statistics",  # a value with elements, of which neither run recorded a number
        "unchecked_step",  # a step whose ranks could not be held against each other
        "only_rank",  # a rank whose series one run alone has
    )
)
# What has nothing on the other side, or nothing that could be put against it. It is told.
PARTLY = frozenset(
    (
        "unmatched",  # a node without a partner
        "one_sided_nodes",  # a matched node of which one run alone recorded values
        "one_sided",  # a value of a matched node that one run alone has
        "some_statistics",  # a value that one run recorded more numbers of than the other
        "lone_ranks",  # a value that only some of the ranks have that should have it
        "one_share",  # an axis of replicas that all read the same rows, so that any gradients agree
        "helpers",  # a process beside the ranks
        "set_aside",  # a value of merged ranks that could not be put together
        "only_points",  # a number of trends that one run alone measured
        "only_series",  # a series of trends that one run alone has
        "unset_series",  # a series of trends that one run was not set to record
        "only_steps",  # a step of trends that one run alone has
        "left_out",  # a tensor of a checkpoint that was taken for no weight
        "mapped",  # a pair that was made by hand since
    )
)
# What holds nothing to compare, by its nature: memory that nobody has written, a value that a
# compiler kept in no memory, an input that its call does not read, infinity that is a mask. It is
# told, and is no gap.
ASIDE = frozenset(("unwritten", "fused", "unread", "incomparable", "other_kernel", "on_purpose"))
# Differences beyond rounding by which no node diverges.
CLOSE = frozenset(("ends_close", "unjudged"))
_HEADS = frozenset(("equal", "rounding", "close"))


class Counted(msgspec.Struct, frozen=True):
    """How many there are of something, and the first of them by name."""

    code: str
    count: Count
    name: str = ""


class Largest(msgspec.Struct, frozen=True):
    """The largest relative error of any value, and where it is.

    `times` tells how many times one rounding to the value's `format` that is, where one is known.
    """

    error: float
    value: str
    name: str
    step: int
    rank: int
    times: str | None = None
    format: str | None = None


class Evidence(msgspec.Struct, frozen=True):
    """What a claim rests on: what was compared by which measure, what was not and why.

    `differences` are those that no finding names; `beyond` counts the values that exceed their
    tolerance for no known reason, `explained` those that do so because of rounding or of inputs;
    `largest` is the largest error of all, where one was measured.
    """

    compared: tuple[Counted, ...] = ()
    gaps: tuple[Counted, ...] = ()
    differences: tuple[Counted, ...] = ()
    beyond: Count = 0
    explained: Count = 0
    largest: Largest | None = None

    def count(self, *measures: str) -> int:
        """How much was compared by some measures; by any without one."""
        return sum(c.count for c in self.compared if not measures or c.code in measures)

    def with_gaps(self, *gaps: Counted) -> Evidence:
        """The same with further gaps."""
        return msgspec.structs.replace(self, gaps=_added((*self.gaps, *gaps)))

    def with_differences(self, *differences: Counted) -> Evidence:
        """The same with further differences that no finding names."""
        return msgspec.structs.replace(self, differences=_added((*self.differences, *differences)))


NO_EVIDENCE = Evidence()


class Claim(msgspec.Struct, frozen=True):
    """What may be said: `code`, and the evidence for it.

    `named`: findings name where it begins; `heals`: they do, and both runs come to one result.
    `nothing`: nothing was compared. `unknown`: nobody kept what was compared. `differs`: the runs
    differ, and no finding says where that begins. `close`: values exceed their tolerance,
    none by so much that a node diverges. `rounding`: they differ by rounding alone. `equal`: in
    nothing that was compared. `whole` tells whether all there is was compared, `incomplete` that
    something was not that should have been.
    """

    code: ClaimCode
    whole: bool
    incomplete: bool
    evidence: Evidence

    @property
    def is_clear(self) -> bool:
        """Whether this is an all-clear: nothing differs, and all there is was compared."""
        return self.whole and self.code in ("equal", "rounding")


def claim(evidence: Evidence | None, findings: int = 0, *, heals: bool = False) -> Claim:
    """What may be said on some evidence; None where nobody kept any.

    `findings` are those that a person is told of; they `heal` where both runs come to one result.
    """
    shown = evidence or NO_EVIDENCE
    codes = {gap.code for gap in shown.gaps if gap.count}
    # A code of a newer release counts as the worst.
    incomplete = codes - PARTLY - ASIDE
    whole = evidence is not None and codes <= ASIDE
    code = "unknown" if evidence is None else _code(shown, whole=whole)
    if findings:
        code = "heals" if heals else "named"
    return Claim(code, whole, bool(incomplete), shown)


def _code(evidence: Evidence, *, whole: bool) -> ClaimCode:
    if any(each.count for each in evidence.differences if each.code not in CLOSE):
        return "differs"
    # Arguments and shapes alone say too little where numbers should have been compared.
    if not evidence.count() or not (whole or evidence.count() > evidence.count(*_NO_NUMBERS)):
        return "nothing"
    if evidence.beyond or evidence.differences:
        return "close"
    if evidence.count("rounded"):
        return "rounding"
    off = evidence.largest is not None and evidence.largest.error != 0
    return "rounding" if off or evidence.explained else "equal"


_NO_NUMBERS = ("arguments", "empty")


def together(parts: Iterable[Evidence]) -> Evidence:
    """The evidence of several comparisons as that of one."""
    listed = list(parts)
    known = [part.largest for part in listed if part.largest is not None]
    return Evidence(
        _added(each for part in listed for each in part.compared),
        _added(each for part in listed for each in part.gaps),
        _added(each for part in listed for each in part.differences),
        sum(part.beyond for part in listed),
        sum(part.explained for part in listed),
        max(known, key=lambda each: each.error, default=None),
    )


def _added(counted: Iterable[Counted]) -> tuple[Counted, ...]:
    """Those of one code as one, under the name of the first; nothing of none."""
    counts: Counter[str] = Counter()
    names: dict[str, str] = {}
    for each in counted:
        if each.count:
            counts[each.code] += each.count
            names.setdefault(each.code, each.name)
    return tuple(Counted(code, count, names[code]) for code, count in counts.items())


def told(said: Claim, subject: Subject = "runs", language: Language = "en") -> str:
    """The claim in one line without its full stop: what may be said, on what, and what is missing.

    >>> told(claim(Evidence((Counted("statistics", 3),))))
    'no difference found: 3 values have equal statistics (a permuted tensor would have them too)'
    """
    words = WORDS[language]
    lines = [headline(said, subject, language), *evidence_told(said, language)]
    text = words["colon"].join(lines[:2])
    return words["semicolon"].join([text, *lines[2:]])


def claim_facts(said: Claim, subject: Subject = "runs") -> dict[str, object]:
    """A claim as the JSON of commands has it: its code, what it rests on, and the sentence."""
    found = said.evidence
    return {
        "code": said.code,
        "all_clear": said.is_clear,
        "incomplete": said.incomplete,
        "text": told(said, subject),
        "compared": {each.code: each.count for each in found.compared},
        "not_compared": msgspec.to_builtins(found.gaps),
        "differences": msgspec.to_builtins(found.differences),
    }


def headline(said: Claim, subject: Subject = "runs", language: Language = "en") -> str:
    """What may be said, alone: of what was compared, or nothing, where not all there is was."""
    words = WORDS[language]
    head = words.get(f"say.{subject}.{said.code}") or words[f"say.{said.code}"]
    if said.code not in _HEADS or said.whole:
        return head
    return words["incomplete" if said.incomplete else "partly"].format(head=head)


def healing(language: Language = "en", *, whole: bool = True) -> str:
    """That a `{module}` comes to one result in another way; of the `whole`, that both runs do.

    Where a fault stands beside it, the runs come to two results, and it alone to one.
    """
    return WORDS[language]["say.heals_inside" if whole else "say.heals_beside"]


def script_place(line: str, function: str, language: Language = "en") -> str:
    """What stands for a module where a call is in none: `train.py:14` and the function there.

    Both are empty where nobody recorded them.
    """
    words = WORDS[language]
    if not line:
        return words["say.script"]
    file, _, number = line.rpartition(":")
    # A module's own code has no name, nor has a lambda or a comprehension.
    told = words["say.script_line" if function.startswith("<") else "say.script_function"]
    return told.format(function=function, file=file, line=number)


def since_mapping(language: Language = "en") -> str:
    """That nothing diverges of what was measured since pairs were made by hand."""
    return WORDS[language]["say.since_nowhere"]


def evidence_told(said: Claim, language: Language = "en") -> list[str]:
    """What a claim rests on, in phrases: what differs, what was compared, what was not and why."""
    words, found = WORDS[language], said.evidence
    lines = []
    if said.code == "differs":
        lines.append(words["comma"].join(_phrase(each, words) for each in found.differences))
    if said.code == "close":
        lines += [_beyond(found, words)] if found.beyond else []
        lines += [_phrase(each, words) for each in found.differences]
    if said.code in ("rounding", "close") and found.largest is not None:
        lines.append(_largest(found.largest, words))
        if found.explained and not (said.code == "close" and found.beyond):
            lines.append(words["explained"].format(count=found.explained))
    if said.code in _HEADS:
        lines += _measures(found, words, equal=said.code == "equal")
    gaps = [
        _phrase(gap, words) for gap in found.gaps if said.code in _HEADS or gap.code not in ASIDE
    ]
    return [*lines, words["missing"].format(gaps=words["comma"].join(gaps))] if gaps else lines


def _beyond(found: Evidence, words: Mapping[str, str]) -> str:
    """How many values exceed their tolerance: all of them, of which some may be explained."""
    form, every = "beyond_some" if found.explained else "beyond", found.beyond + found.explained
    return words[form].format(count=found.beyond, explained=found.explained, all=every)


def _largest(largest: Largest, words: Mapping[str, str]) -> str:
    facts = msgspec.structs.asdict(largest)
    rounded = "" if largest.times is None else words["rounded"].format(**facts)
    return words["largest"].format(percent=100 * largest.error, rounded=rounded, **facts)


def _measures(found: Evidence, words: Mapping[str, str], *, equal: bool) -> list[str]:
    form = "equal" if equal else "by"
    listed = words["comma"].join(
        words.get(f"{form}.{each.code}", words.get(f"by.{each.code}", each.code)).format(
            count=each.count
        )
        for each in found.compared
    )
    if not listed:
        return []
    return [listed if equal else words["compared"].format(measures=listed)]


def _phrase(each: Counted, words: Mapping[str, str]) -> str:
    form = words.get(f"is.{each.code}", each.code + " ({count})")
    text = form.format(count=each.count, name=each.name)
    named = each.name and each.code in NAMED
    return text + words["first"].format(name=each.name) if named else text
