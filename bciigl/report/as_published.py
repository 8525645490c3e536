"""The report of Table 2 as the authors ran it, and why its figures vary."""

import shlex
from collections.abc import Iterator, Sequence

import numpy as np

from bciigl.report import style
from bciigl.report.drawing import Drawing
from bciigl.report.page import Section, again_section
from bciigl.report.study import unfinished, versions_told
from bciigl.report.study_tables import learner_name, mean, sentence
from bciigl.report.study_tables import published as published_cell
from bciigl.report.table import INDENT, Table
from bciigl.study.as_published import (
    ARMS,
    KEPT,
    NOTES,
    OUTCOMES,
    SEEN_NOISE,
    PublishedRow,
    PublishedStudy,
)
from bciigl.study.store import Results

COMPARED: dict[str, list[tuple[str, tuple[str, str | None], tuple[str, str | None] | None]]] = {
    "the method": [
        (ARMS["robust"].words, ("robust", None), None),
        (KEPT, ("published", KEPT), None),
        (f"on our recordings, {ARMS['own_robust'].words}", ("own_robust", None), ("own", None)),
    ],
    "the optimiser": [
        (KEPT, ("published", KEPT), ("published", None)),
        *(
            (ARMS[arm].words, (arm, None), ("published", None))
            for arm in ("linear", "centred", "short", "faster")
        ),
    ],
    "the data": [
        ("our recordings, not the released ones", ("own", None), ("published", None)),
        (ARMS["split"].words, ("split", None), ("published", None)),
        (f"then {SEEN_NOISE}", ("split", SEEN_NOISE), ("split", None)),
        *(
            (f"on our recordings, {ARMS[arm].words}", (arm, None), ("own", None))
            for arm in ("own_raw", "own_pauses", "own_timing")
        ),
    ],
}
"""What is told of each part: in which words, of which rows, and above which others, if any."""
PAIRED = (
    "Differences are in points, mean ± standard error: of repeats of the same number, for which the"
    " first weights or the recordings are the same; of all repeats where neither is (a linear"
    " network, and our recordings beside the released ones). What is up to two standard errors is"
    " not seen; among all these differences, some exceed that by chance."
)
BANDS = {
    "with about 100 % (90 or more)": (90, 100),
    "with about 67 % (55 to 80)": (55, 80),
    "with about 33 % (45 or less)": (0, 45),
}
BETWEEN = "between these"
LEAD = (
    "The numbers of Table 2 by the procedure of the code that the paper's authors released, and"
    " what of them is the method, what is the optimiser, and what is the data."
)


def published_sections(
    study: PublishedStudy, results: Results, rows: Sequence[PublishedRow]
) -> list[Section]:
    """Return the report of a study."""
    command = ["bciigl", "reproduce", "table2", "--as-published"]
    if study.digests:
        command += ["--released", "DIR"]
    for each in study.arms if len(study.arms) < len(ARMS) else ():
        command += ["--arm", each]
    if study.repeats is not None:
        command += ["--repeats", str(study.repeats)]
    command += ["--seed", str(study.seed)]
    facts = {"learned with": versions_told(results)}
    if study.digests:
        facts["released arrays, first 16 digits of their SHA-256"] = ", ".join(study.digests)
    return [
        Section("At a glance", [finding(rows)], notices=unfinished(study, results, "trainings")),
        Section(
            "Why it varies", attribution(rows), drawings=story(rows), tables=outcome_tables(rows)
        ),
        Section("The table", [sentence(each) for each in NOTES], tables=published_tables(rows)),
        again_section(
            ["The command below makes the same study again; DIR has the released arrays."],
            facts,
            shlex.join(command),
        ),
    ]


def finding(rows: Sequence[PublishedRow]) -> str:
    """Return what came out, in a sentence."""
    ended, kept = _of(rows, "published"), _of(rows, "published", KEPT)
    if not ended:
        return "The published procedure has not been run on the released arrays."
    said = [
        f"{row.accuracy.mean:.1f} % at noise {row.noise:g} (published {row.published.accuracy:.2f})"
        for row in ended
        if row.published is not None
    ]
    sentence = f"The procedure as published reaches {', '.join(said)}."
    if not _forgets(rows):
        return sentence
    means = [row.accuracy.mean for row in kept]
    return (
        f"{sentence} Most of what it misses it had found: training for one option changes the"
        " networks that the others share. With each option's network kept as its own training left"
        f" it, it reaches {min(means):.1f} to {max(means):.1f} %."
    )


def attribution(rows: Sequence[PublishedRow]) -> list[str]:
    """Return what of the published figures is the method, the optimiser, the data, in sentences."""
    said = []
    for part, comparisons in COMPARED.items():
        told = []
        for words, one, other in comparisons:
            found = _of(rows, *one)
            if other is None:
                shown = [f"{row.accuracy.mean:.1f} % at noise {row.noise:g}" for row in found]
            else:
                shown = _differences(found, _of(rows, *other))
            if shown:
                told.append(f"{words}: {', '.join(shown)}")
        if told:
            said.append(f"What is {part}: {'; '.join(told)}.")
    return [*said, PAIRED] if said else []


def _differences(rows: Sequence[PublishedRow], others: Sequence[PublishedRow]) -> list[str]:
    """Return by how many points rows are above others of their noise level, if that is seen."""
    seen, unseen = [], []
    for row in rows:
        for other in others:
            if row.noise == other.noise and (found := row.minus(other)) is not None:
                mean, error = found
                if abs(mean) > 2 * error:
                    seen.append(f"{mean:+.1f} ± {error:.1f} at noise {row.noise:g}")
                else:
                    unseen.append(f"{row.noise:g} (± {error:.1f})")
    return seen + [f"no difference seen at noise {', '.join(unseen)}"] * bool(unseen)


def _forgets(rows: Sequence[PublishedRow]) -> bool:
    """Tell whether keeping each option's network brings back most of what is missed."""
    ended, kept = _of(rows, "published"), _of(rows, "published", KEPT)
    missed = sum(100 - row.accuracy.mean for row in ended)
    back = sum(row.accuracy.mean for row in kept) - sum(row.accuracy.mean for row in ended)
    return bool(ended) and back > missed / 2


def published_tables(rows: Sequence[PublishedRow]) -> list[Table]:
    """Return a table of the arms on the released arrays, and one of those on our recordings."""
    tables = []
    for released in (True, False):
        mine = [row for row in rows if (ARMS[row.arm].changes is None) == released]
        levels = sorted({row.noise for row in mine})
        lines: list[list[str]] = []
        for (arm, way), found in _grouped(mine).items():
            cells = {row.noise: row for row in found}
            shown = [cells.get(each) for each in levels]
            words = f"{learner_name(ARMS[arm].learner)}: {ARMS[arm].words}"
            label = words if way is None else f"{INDENT}{way}"
            lines.append([label, *("-" if row is None else _mean(row) for row in shown)])
            if way is None and ARMS[arm].words == "as published":
                cells = ["-" if row is None else published_cell(row.published) for row in shown]
                lines.append([f"{INDENT}published", *cells])
        if lines:
            where = "the released arrays" if released else "recordings of our own"
            head = ["noise", *(f"{each:g}" for each in levels)]
            caption = f"Accuracy in percent, mean ± standard error (repeats): {where}"
            tables.append(Table(head, lines, caption))
    return tables


def outcome_tables(rows: Sequence[PublishedRow]) -> list[Table]:
    """Return how repeats of the published arm ended and what became of options, also by place."""
    mine = _of(rows, "published")
    if not mine:
        return []
    head = ["noise", *(f"{row.noise:g}" for row in mine)]
    ended = [[_band(each) for each in row.accuracies] for row in mine]
    became = [[each for one in row.options for each in one] for row in mine]
    lines = [_shares(f"repeats {words}", words, ended) for words in (*BANDS, BETWEEN)]
    lines += [
        _shares(f"options that were {words}", each, became) for each, words in OUTCOMES.items()
    ]
    tables = [Table(head, lines, "AI-IGL as published, on the released arrays")]
    lines = []
    for place, words in enumerate(("first", "second", "last")):
        of_place = [[one[place] for one in row.options] for row in mine]
        counts = ((each.count("moved"), each.count("kept")) for each in of_place)
        lines.append([f"trained {words}", *(f"{one} of {one + two}" for one, two in counts)])
    caption = "Options that moved, of those that were found, by the order of training"
    return [*tables, Table(head, lines, caption)]


def _band(accuracy: float) -> str:
    return next((words for words, (low, high) in BANDS.items() if low <= accuracy <= high), BETWEEN)


def _shares(label: str, what: str, found: Sequence[list[str]]) -> list[str]:
    """Return a line of how often something is among what was found at each noise level."""
    return [label, *(f"{100 * each.count(what) / len(each):.0f} %" for each in found)]


def story(rows: Sequence[PublishedRow]) -> list[Drawing]:
    """Return the figure of all repeats, as they ended and as they would have without forgetting."""
    ended, kept, robust = (
        _of(rows, *each) for each in (("published", None), ("published", KEPT), ("robust", None))
    )
    if not ended:
        return []
    figure = style.new_figure(3.4)
    axis = figure.subplots()
    columns: dict[str, list] = {name: [] for name in ("noise", "what", "repeat", "accuracy")}
    looks = (
        (ended, -0.2, style.ORANGE, "in the end"),
        (kept, 0.0, style.BLUE, "each option's network kept"),
        (robust, 0.2, style.GREEN, "this package's AI-IGL"),
    )
    for place, noise in enumerate(row.noise for row in ended):
        for found, aside, colour, words in looks:
            values = next((row.accuracies for row in found if row.noise == noise), [])
            spread = 0.12 * (np.arange(len(values)) / max(len(values) - 1, 1) - 0.5)
            at = place + aside + (spread if len(values) > 1 else np.zeros(len(values)))
            axis.plot(at, values, "o", ms=4, color=colour, alpha=0.7, mew=0)
            for repeat, value in enumerate(values, start=1):
                for name, each in zip(columns, (noise, words, repeat, value), strict=True):
                    columns[name].append(each)
        row = ended[place]
        if row.published is not None:
            look = {"color": "black", "lw": 1.2, "capsize": 3}
            error = 2 * row.published.standard_error
            axis.errorbar(place - 0.36, row.published.accuracy, error, fmt="D", ms=4, **look)
    last = len(ended) - 1
    for found, _, colour, words in looks:
        if found:
            axis.plot([], [], "o", ms=5, color=colour, label=words)
    axis.plot([], [], "D", ms=4, color="black", label="published, ± 2 standard errors")
    axis.axhline(100 / 3, color=style.GREY, lw=0.9, ls="-.")
    axis.text(last + 0.48, 100 / 3 + 1.5, "chance", ha="right", fontsize=style.SMALL)
    axis.set_xticks(range(len(ended)), [f"noise {row.noise:g}" for row in ended])
    axis.set(xlim=(-0.5, last + 0.5), ylim=(0, 104), ylabel="test trials right (%)")
    title = "AI-IGL as published, repeat by repeat"
    if _forgets(rows):
        title = "The published procedure finds the options, then forgets them"
    axis.set_title(title, fontsize=10.5)
    style.plain(axis)
    style.legend_below(figure, ncols=2)
    caption = (
        "AI-IGL as published on the released arrays: each dot is a repeat. Orange: its accuracy in"
        " the end. Blue: if each option is scored by the network as its own training left it."
        " Green: this package's AI-IGL on the same arrays. Black: the paper's Table 2."
    )
    alt = "Accuracy of all repeats at each noise level, in the end and without forgetting."
    return [Drawing("why_it_varies", figure, caption, alt, columns)]


def _of(rows: Sequence[PublishedRow], arm: str, way: str | None = None) -> list[PublishedRow]:
    return [row for row in rows if (row.arm, row.control) == (arm, way)]


def _grouped(
    rows: Sequence[PublishedRow],
) -> dict[tuple[str, str | None], list[PublishedRow]]:
    found: dict[tuple[str, str | None], list[PublishedRow]] = {}
    for row in rows:
        found.setdefault((row.arm, row.control), []).append(row)
    # Ways of testing stand below their arm.
    return {key: found[key] for key in _in_order(list(found))}


def _in_order(keys: list[tuple[str, str | None]]) -> Iterator[tuple[str, str | None]]:
    for arm in dict.fromkeys(arm for arm, _ in keys):
        yield from (key for key in keys if key[0] == arm)


def _mean(row: PublishedRow) -> str:
    return f"{mean(row.accuracy)} ({row.repeats})"
