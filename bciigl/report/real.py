"""The report of the study of games from real recordings."""

import shlex
from collections.abc import Sequence

import numpy as np

from bciigl.learn.action_inclusive import AI_IGL
from bciigl.learn.bandit import BANDIT
from bciigl.learn.ceiling import CEILING
from bciigl.learn.transfer import TRANSFER
from bciigl.report import style
from bciigl.report.direct import say_above
from bciigl.report.drawing import Drawing
from bciigl.report.page import Notice, Section, again_section
from bciigl.report.study import unfinished, versions_told
from bciigl.report.study_tables import learner_name, sentence
from bciigl.report.table import INDENT, Table
from bciigl.study.real import BEDS
from bciigl.study.real_study import NOTES, RealRow, RealStudy
from bciigl.study.statistics import Mean
from bciigl.study.store import Results

LEAD = "Games put together from recordings of real brains, learned without labels and rewards."
NEAR = 90
"""Percent of supervised learning's accuracy that the title counts."""
DRAWN = (AI_IGL.id, TRANSFER.id, BANDIT.id)
SOURCES = [
    "Haxby, J. V., Gobbini, M. I., Furey, M. L., Ishai, A., Schouten, J. L., & Pietrini, P. (2001)."
    " Distributed and overlapping representations of faces and objects in ventral temporal cortex."
    " Science, 293, 2425-2430. Half a slice of subject 1, as in PyMVPA (CC BY-SA 3.0).",
    "sylvchev/dataset-ssvep-exoskeleton (CC0): EEG of 12 people who look at flickering lights.",
    "Grizou, J.: jgrizou/matlab_datasets (GPL-2): EEG of people who see right and wrong actions.",
]


def real_sections(study: RealStudy, results: Results, rows: Sequence[RealRow]) -> list[Section]:
    """Return the report of a study."""
    real, not_real, *reading = map(sentence, NOTES)
    notices = [Notice("good", "What is real", real), Notice("unsure", "What is not", not_real)]
    command = ["bciigl", "reproduce", "real", "--data", "DATA"]
    command += [part for each in study.beds for part in ("--bed", each)]
    command += ["--repeats", str(study.repeats), "--seed", str(study.seed)]
    again = "The command below makes the same study again; DATA is where the recordings are."
    facts = {"recordings, SHA-256": study.digest, "learned with": versions_told(results)}
    return [
        Section("At a glance", notices=notices + unfinished(study, results, "draws")),
        Section("Beside supervised learning", drawings=[share_drawing(rows)]),
        Section("The table", reading, tables=real_tables(rows)),
        Section("The recordings", references=SOURCES),
        again_section([again], facts, shlex.join(command)),
    ]


def real_tables(rows: Sequence[RealRow]) -> list[Table]:
    """Return a table for each bed: below each setting the learners."""
    head = ("setting, learner", "accuracy, %", "of supervised, %", "trusted", "judged", "right")
    tables = []
    for bed, words in BEDS.items():
        lines = []
        for row in (each for each in rows if each.setting.bed == bed):
            title = str(row.setting)
            if title not in (line[0] for line in lines):
                lines.append([title, *[""] * (len(head) - 1)])
            name = f"{INDENT}{learner_name(row.learner)}"
            lines.append([name, _mean(row.accuracy), _mean(row.share)])
            lines[-1] += _verdicts(row)
        if lines:
            tables.append(Table(head, lines, f"{bed}: {words}"))
    return tables


def _mean(value: Mean | None) -> str:
    if value is None:
        return "-"
    interval = "" if value.interval is None else " ({:.0f} to {:.0f})".format(*value.interval)
    return f"{value.mean:.1f}{interval}"


def _verdicts(row: RealRow) -> list[str]:
    if row.trusted is None:
        return ["-"] * 3
    trusted = sum(row.trusted.values())
    counts = (row.trusted.get("judgment", 0), row.right) if trusted else ("-", "-")
    return [f"{trusted} of {row.repeats}", *map(str, counts)]


def share_drawing(rows: Sequence[RealRow]) -> Drawing:
    """Return the share of the ceiling that learners reach in each setting, with intervals."""
    shown = [row for row in rows if row.learner in DRAWN and row.share is not None]
    places = {each: n for n, each in enumerate(dict.fromkeys(row.setting for row in shown))}
    figure = style.new_figure(1.8 + 0.24 * len(places))
    axis = figure.subplots()
    columns = {name: [] for name in ("bed", "setting", "learner", "share", "low", "high")}
    for aside, learner in zip((-0.22, 0, 0.22), DRAWN, strict=True):
        mine = [row for row in shown if row.learner == learner]
        ends = [row.share.interval or (row.share.mean,) * 2 for row in mine]
        for row, (low, high) in zip(mine, ends, strict=True):
            line = (row.setting.bed, row.setting, learner, row.share.mean, low, high)
            for name, value in zip(columns, line, strict=True):
                columns[name].append(value)
        if mine:
            means = np.array([row.share.mean for row in mine])
            low, high = np.transpose(ends)
            reach = np.maximum([means - low, high - means], 0)
            look = {**style.learner_style(learner), "linestyle": "none", "markersize": 4}
            heights = [places[row.setting] + aside for row in mine]
            name = learner_name(learner)
            axis.errorbar(means, heights, xerr=reach, elinewidth=1, label=name, **look)
    chance = {
        each.setting: 1e4 / each.setting.options / each.accuracy.mean
        for each in rows
        if each.learner == CEILING.id and each.share is not None
    }
    look = {"marker": "|", "linestyle": "none", "color": style.GREY, "label": "chance"}
    axis.plot([chance[each] for each in places], list(places.values()), markersize=9, **look)
    axis.axvline(100, color=style.GREY, lw=0.8)
    axis.set_yticks(list(places.values()), [f"{each.bed}: {each}" for each in places])
    label = "share of supervised learning's accuracy (%)"
    axis.set(xlabel=label, ylim=(len(places) - 0.5, -0.5))
    axis.grid(color="#e9ecef", lw=0.6)
    style.plain(axis)
    style.legend_below(figure, ncols=2)
    caption = (
        "Accuracy as a share of that of supervised learning, which is told the labels, in the same "
        "draw: means with 95 % intervals. AI-IGL is told nothing, perception transfer reads no "
        "judgment (and needs feedback of the same voxels as contexts), the contextual bandit is "
        "told the rewards. Grey lines are chance, and supervised learning."
    )
    said = share_finding(rows)
    say_above(figure, said)
    return Drawing("share_of_ceiling", figure, caption, f"{said}.", columns)


def share_finding(rows: Sequence[RealRow]) -> str:
    """Return what the figure shows, without a full stop."""
    shares = [row.share.mean for row in rows if row.learner == AI_IGL.id and row.share is not None]
    if not shares:
        return "Accuracy as a share of supervised learning's"
    near = sum(each >= NEAR for each in shares)
    return (
        f"Without labels, AI-IGL has at least {NEAR} % of supervised learning's accuracy in {near} "
        f"of {len(shares)} settings"
    )
