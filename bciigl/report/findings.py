"""What a study found, in a sentence that its rows decide."""

from collections.abc import Sequence

from bciigl.base.registry import LEARNERS
from bciigl.learn.bandit import BANDIT
from bciigl.learn.ceiling import CEILING
from bciigl.report.methods import listed
from bciigl.report.panels import NOISE, across, panels_of, place_of
from bciigl.report.study_tables import learner_name, sentence
from bciigl.study.grid import in_words, value_in_words
from bciigl.study.rows import Row

NEAR = 2.0
"""Points of accuracy: learners that differ by less decode the same, as far as a title can say."""
_NOUNS = {CEILING.id: "supervised learning", BANDIT.id: "a contextual bandit"}
_PREFIX = {"": "Without labels, ", "reward": "Told the rewards, ", "label": "Told the labels, "}


def told_what(learner: str) -> str:
    """Return what a learner is told, ``"reward"``, ``"label"`` or nothing."""
    return LEARNERS.get(learner).told if learner in LEARNERS else ""


def noun(learner: str) -> str:
    """Return a learner as a sentence names it."""
    return _NOUNS.get(learner, learner_name(learner))


def who(learner: str) -> str:
    """Return what a sentence about a learner begins with: what it is told, and its name."""
    return f"{_PREFIX[told_what(learner)]}{noun(learner)}"


def compared(rows: Sequence[Row]) -> list[str]:
    """Return the labels of the learners that a study is about.

    The first that is told nothing, and, if there is one, the first that is told the labels, or else
    the rewards. Where controls are all that is finished, it is the first of them.
    """
    plain = {row.label: row for row in rows if row.control is None}
    if not plain:
        return [rows[0].label]
    blind = [label for label, row in plain.items() if not told_what(row.learner)]
    first = (blind or list(plain))[0]
    others = [
        label
        for told in ("label", "reward")
        for label, row in plain.items()
        if told_what(row.learner) == told and label != first
    ]
    return [first, *others[:1]]


def finding(rows: Sequence[Row]) -> str:
    """Return what a study found, without a full stop: the title of its first figure.

    Of noise it is up to which level the first learner that is told nothing decodes what one that is
    told the labels does; of a varied field, where the former is best and worst at `main_noise`.

    Parameters
    ----------
    rows : sequence of bciigl.study.rows.Row
        The table of a study, as it is kept in its folder.
    """
    return _of_noise(rows) if across(rows) == NOISE else _of_field(rows)


def above_chance(row: Row) -> bool:
    """Tell whether a mean is surely above what permuted test labels give."""
    return ends(row)[0] > row.chance.interval[1]


def ends(row: Row) -> tuple[float, float]:
    """Return the interval of a mean; of one session the mean itself."""
    return row.accuracy.interval or (row.accuracy.mean, row.accuracy.mean)


def main_noise(rows: Sequence[Row]) -> float:
    """Return the noise level that is told of first: that of a real brain, or else the highest."""
    levels = {row.noise for row in rows}
    return 1.0 if 1 in levels else max(levels)


def level(noise: float) -> str:
    """Return a noise level in words."""
    return "a real brain's noise" if noise == 1 else f"noise {noise:g}"


def _who(row: Row) -> str:
    """Return what a sentence about a learner begins with."""
    control = f" ({row.control})" if row.control else ""
    return f"{who(row.learner)}{control}"


def _by_noise(rows: Sequence[Row], label: str) -> dict[float, Row]:
    return {row.noise: row for row in sorted(rows, key=lambda row: row.noise) if row.label == label}


def _of_noise(rows: Sequence[Row]) -> str:
    first, *others = (_by_noise(rows, label) for label in compared(rows))
    mine = first[max(first)]
    who, where = _who(mine), level(mine.noise)
    told = others[0] if others else {}
    both = [each for each in first if each in told]
    if not both:
        if not above_chance(mine):
            return f"{who} is no better than chance at {where}"
        return f"{who} decodes {_percent(mine)} at {where}, where chance is {_chance(mine)}"
    possible = [each for each in both if above_chance(told[each])]
    other = noun(told[both[0]].learner)
    if not possible:
        return f"Not even {other} decodes more than chance"
    near = [each for each in possible if _gap(first[each], told[each]) < NEAR]
    last = possible[-1]
    beyond = "" if last == both[-1] else f"; beyond, {other} is at chance too"
    if near == possible:
        reach = "up to" if len(both) > 1 else "at"
        return f"{who} decodes what {other} decodes, {reach} {level(last)}{beyond}"
    row = first[last]
    if not any(above_chance(first[each]) for each in possible):
        return f"{who} is no better than chance; {other} decodes {_percent(told[last])}"
    it = f"decodes {row.accuracy.mean:.1f} instead of {_percent(told[last])}"
    it = it if above_chance(row) else "is no better than chance"
    at_last = f"at {level(last)} it {it}"
    if near and near == possible[: len(near)]:
        return f"{who} keeps up with {other} up to {level(near[-1])}; {at_last}"
    return f"{who} falls short of {other}: {at_last}"


def _gap(row: Row, other: Row) -> float:
    """Return how many points a learner has less than another."""
    return other.accuracy.mean - row.accuracy.mean


def _percent(row: Row) -> str:
    return f"{row.accuracy.mean:.1f} %"


def _chance(row: Row) -> str:
    return f"{row.chance.mean:.1f} %"


def _of_field(rows: Sequence[Row]) -> str:
    against, label = across(rows), compared(rows)[0]
    mine = [row for row in rows if row.label == label]
    mine = [row for row in mine if row.noise == main_noise(mine)]
    mine = next(iter(panels_of(mine, against).values()))
    low, high = (of(mine, key=lambda row: row.accuracy.mean) for of in (min, max))
    others = in_words({name: low.varied[name] for name in low.varied if name != against})
    where = f"at {', '.join(filter(None, [level(low.noise), others]))}"
    who = _who(low)
    worst, best = (value_in_words(against, place_of(row, against)) for row in (low, high))
    if len(mine) == 1:
        return f"{who} decodes {_percent(low)} at {against} = {worst} ({where})"
    if not any(map(above_chance, mine)):
        return f"{who} is no better than chance, whatever {against} is ({where})"
    if ends(low)[1] >= ends(high)[0] and low.accuracy.interval:
        reach = f"{low.accuracy.mean:.1f} to {_percent(high)}"
        return f"{who} decodes {reach}, whatever {against} is ({where}; 95 % intervals overlap)"
    if low.accuracy.mean == high.accuracy.mean:
        return f"{who} decodes {_percent(low)}, whatever {against} is ({where})"
    one = ", one session each" if low.accuracy.interval is None else ""
    return (
        f"{who} decodes most at {against} = {best}: {_percent(high)}, against {_percent(low)} at "
        f"{worst} ({where}{one})"
    )


def controls_findings(rows: Sequence[Row]) -> list[str]:
    """Return what becomes of a learner in each of its controls."""
    controlled = next(row.learner for row in rows if row.control is not None)
    plain = {
        (row.noise, row.setting): row
        for row in rows
        if row.learner == controlled and row.control is None
    }
    said: list[str] = []
    for control in dict.fromkeys(row.control for row in rows if row.control is not None):
        mine = [row for row in rows if row.control == control]
        pairs = [(row, plain.get((row.noise, row.setting))) for row in mine]
        if not any(map(above_chance, mine)):
            found = "is no better than chance"
        elif all(base and abs(_gap(row, base)) < NEAR for row, base in pairs):
            found = "is as good as without"
        else:
            low, high = (of(row.accuracy.mean for row in mine) for of in (min, max))
            found = f"decodes {f'{low:.0f} to ' if low < high else ''}{high:.0f} %"
        who = "it" if said else learner_name(controlled)
        said.append(f"{'with' if said else 'With'} {control}, {who} {found}")
    return said


def further(rows: Sequence[Row]) -> list[str]:
    """Return the labels of the learners that the first figure leaves out."""
    lead = compared(rows)
    plain = dict.fromkeys(row.label for row in rows if row.control is None)
    return [label for label in plain if label not in lead]


def learners_finding(rows: Sequence[Row]) -> str:
    """Return which of the further learners decode more than the first one, and where."""
    first, names = compared(rows)[0], further(rows)
    mine = {(row.noise, row.setting): row for row in rows if row.label == first}
    others = [row for row in rows if row.label in names]
    better = [
        row
        for row in others
        if (base := mine.get((row.noise, row.setting)))
        and -_gap(row, base) >= NEAR
        and ends(row)[0] > ends(base)[1]
    ]
    who, told = noun(next(iter(mine.values())).learner), {told_what(row.learner) for row in others}
    if not better:
        even = ", not even one that is told the rewards" if "reward" in told else ""
        return f"No further learner decodes clearly more than {who}{even}"
    which = list(dict.fromkeys(noun(row.learner) for row in better))
    where = listed([level(each) for each in dict.fromkeys(row.noise for row in better)])
    decode = "decodes" if len(which) == 1 else "decode"
    return f"{sentence(listed(which), names)} {decode} more than {who} at {where}"
