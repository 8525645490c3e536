"""The report of a study."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bciigl.protocol import dump
from bciigl.recording import Dataset
from bciigl.report.accuracy import accuracy_drawing
from bciigl.report.comparisons import controls_drawings, learners_drawings
from bciigl.report.findings import compared, finding, main_noise
from bciigl.report.methods import (
    counted,
    listed,
    methods_paragraph,
    population_sentences,
    references,
)
from bciigl.report.page import KeyNumber, Notice, Section, again_section
from bciigl.report.results import told
from bciigl.report.session_figures import figure_sections
from bciigl.report.study_tables import (
    accuracy_tables,
    difference_tables,
    in_full,
    learner_name,
    row_name,
    sentence,
)
from bciigl.report.table import Table
from bciigl.report.views import load
from bciigl.study import Row, Study
from bciigl.study.grid import Cell, in_words, value_in_words
from bciigl.study.notes import caveats, control_notes, scanner_notes
from bciigl.study.store import AnyStudy, Results
from bciigl.study.table2 import NAME, departures

TABLE_WORDS = (
    "Percent of the test trials in which the option meant is recognised: mean ± standard error "
    "over sessions, and the 95 % interval of the mean by bootstrap over sessions. In a failed "
    "session an option is recognised no better than by guessing. Chance is what permuted test "
    "labels give. Columns are noise levels; 1 is the real brain's noise."
)
DIFFERENCE_WORDS = (
    "Differences between learners on the same sessions: mean, 95 % interval by bootstrap, and the "
    "probability of a difference as large if the learners were exchangeable in each session, by "
    "random signs."
)


def study_sections(
    study: Study,
    results: Results,
    table: Sequence[Row],
    example: tuple[Cell, Dataset] | None = None,
) -> list[Section]:
    """Return the report of a study; `read_rows` gives its table, `open_example` its example."""
    costs = [f"{sentence(each)}." for each in scanner_notes(table)]
    return [
        _head(study, results, table),
        *_tables("The table", [TABLE_WORDS, *costs], accuracy_tables(table)),
        *_compared(table),
        *_caveats(study, table),
        *_views(example),
        _methods(study, results),
        _again(study, results),
        Section(
            "Protocol",
            ["The whole experiment, every field. Noise and seed are those of the grid."],
            preformatted=dump(study.protocol),
        ),
    ]


def lead(study: Study, table: Sequence[Row]) -> str:
    """Return what the report says below its title: what was found, and in what study."""
    about = study.protocol.description.strip()
    if study.table == NAME:
        about = "Table 2 of the paper: imagined numbers decoded at growing noise."
    settings = counted(len(study.settings), "setting")
    said = "".join(f" {sentence(each)}." for each in caveats(study))
    varied = [name for name, values in study.vary.items() if len(values) > 1]
    noise = ["noise"] if len(study.protocol.study.noise) > 1 else []
    differ = f" Settings differ in {listed(noise + varied)}." if varied else ""
    size = f"A study of {settings}, {_repeated(study)}.{differ}{said}"
    return " ".join(filter(None, [f"{finding(table)}.", about, size]))


def _repeated(study: Study) -> str:
    return f"each with {counted(study.protocol.study.repeats, 'simulated session')}"


def _head(study: Study, results: Results, table: Sequence[Row]) -> Section:
    # Sessions of controls may be all that is finished, there or anywhere.
    plain = [row for row in table if row.control is None] or table
    noise = main_noise(plain)
    hard = [row for row in plain if row.noise == noise]
    shown = [row for row in hard if row.varied == hard[0].varied]
    wanted = [row for label in compared(shown) for row in shown if row.label == label]
    where = f"at noise {noise:g}" + (f", {shown[0].setting}" if shown[0].varied else "")
    numbers = [
        KeyNumber(
            f"{row.accuracy.mean:.1f} %",
            f"accuracy of {row_name(row)} ({told(row.learner)}) {where}",
            in_full(row),
        )
        for row in wanted
    ]
    finished = [cell for cell in study.cells if cell.key in results]
    controls = sum(all(each.control is not None for each in cell.entries) for cell in finished)
    besides = f", {controls} of them of a control" if controls else ""
    hours = "; ".join(scanner_notes([row for row in hard if row.label == wanted[0].label]))
    numbers += [
        KeyNumber(
            f"{wanted[0].chance.mean:.1f} %",
            f"chance, by permuted test labels{f', {where}' if wanted[0].varied else ''}",
        ),
        KeyNumber(str(len(finished)), f"simulated sessions{besides}", hours),
    ]
    notices = unfinished(study, results, "sessions")
    drawings = [accuracy_drawing(table)]
    return Section("At a glance", numbers=numbers, notices=notices, drawings=drawings)


def unfinished(study: AnyStudy, results: Results, what: str) -> list[Notice]:
    """Return a notice if cells of a study, which are called so, are not finished."""
    missing = sum(cell.key not in results for cell in study.cells)
    if not missing:
        return []
    text = (
        f"Of {len(study.cells)} {what} {missing} are not there, unfinished or failed: means are "
        "over the others. The command that made the study resumes it."
    )
    return [Notice("unsure", "Not all is here", text)]


def versions_told(results: Mapping[str, Any]) -> str:
    """Return the versions of bciigl and other packages that cells were run with."""
    found = ({"bciigl": each.bciigl, **each.versions} for each in results.values())
    return "; ".join(sorted({", ".join(f"{n} {v}" for n, v in each.items()) for each in found}))


def _tables(title: str, words: Sequence[str], tables: Mapping[str, Table]) -> list[Section]:
    captioned = [each._replace(caption=name) for name, each in tables.items()]
    return [Section(title, words, tables=captioned)] if captioned else []


def _compared(table: Sequence[Row]) -> list[Section]:
    """Return how all learners compare: a figure of those that the first one leaves out, tables."""
    sections = _tables("Learners compared", [DIFFERENCE_WORDS], difference_tables(table))
    return [replace(each, drawings=learners_drawings(table)) for each in sections]


def _caveats(study: Study, table: Sequence[Row]) -> list[Section]:
    sections = []
    if study.controls:
        about = f"The same analysis by {learner_name(study.controlled)}, with less to find."
        notes = [f"{sentence(each)}." for each in control_notes(study.controls)]
        drawings = controls_drawings(table)
        sections.append(Section("Controls", [about, *notes], drawings=drawings))
    if study.table == NAME:
        words = [sentence(each) for each in departures(study.protocol)]
        sections.append(Section("Where this is not the paper's experiment", words))
    return sections


def _views(example: tuple[Cell, Dataset] | None) -> list[Section]:
    """Return an example of the study's sessions, drawn."""
    if example is None:
        none = "No recorded session of this study is at hand, so none is drawn: the command that "
        return [Section("An example", [none + "made the study records one."])]
    cell, dataset = example
    varied = in_words(cell.setting.varied)
    words = (
        f"An example: the session of repeat {cell.repeat + 1} at noise {cell.setting.noise:g}"
        f"{', ' if varied else ''}{varied} (seed {cell.protocol.seed})."
    )
    sections = figure_sections(load(dataset, folder=cell.folder))
    return [replace(each, paragraphs=[words, *each.paragraphs]) for each in sections]


def _methods(study: Study, results: Results) -> Section:
    example = study.example(results)
    session = methods_paragraph(example.protocol, alone=False)
    noise = listed([f"{each:g}" for each in study.protocol.study.noise])
    varied = "".join(
        f" {name} was varied ({listed([value_in_words(name, each) for each in values])})."
        for name, values in study.vary.items()
    )
    varied += "".join(f" {each}" for each in population_sentences(study.protocol))
    setting = in_words(example.setting.varied)
    controls = f" Controls were {listed(study.controls)}." if study.controls else ""
    person = "of another simulated person each time"
    person = "of the same person, with other draws each time" if caveats(study) else person
    whole = (
        f"This describes one session{' with ' if setting else ''}{setting}. Sessions were "
        f"simulated at noise weights of {noise}, {_repeated(study)}, {person} (random seed "
        f"{study.protocol.seed}).{varied}{controls} All learners learned from the same sessions. "
        "Accuracies are means over sessions with 95 % bootstrap intervals (percentiles, widened "
        "for few sessions; Hesterberg, 2015); learners were compared session by session by random "
        "signs, and chance was estimated by permuting test labels."
    )
    return Section("Methods", [session, whole], references=references(f"{session} {whole}"))


def _again(study: Study, results: Results) -> Section:
    protocol = study.protocol
    seeds = {cell.repeat: str(cell.protocol.seed) for cell in study.cells}
    facts = {
        "seed": str(protocol.seed),
        "seeds of the repeats": ", ".join(seeds.values()),
        "protocol, SHA-256": protocol.content_hash,
        "simulated with": versions_told(results),
    }
    words = [
        "The command below makes the same study again, with the same numbers if the versions are "
        "the same. A single session of it: bciigl simulate with the noise level, the varied values "
        "and the seed of its repeat."
    ]
    if study.table:
        command = ["bciigl", "reproduce", study.table]
        command += [part for level in protocol.study.noise for part in ("--noise", repr(level))]
        command += ["--repeats", str(protocol.study.repeats), "--seed", str(protocol.seed)]
        command += ["--separate"] if protocol.recording == "separate" else []
    else:
        words.append("The protocol below is to be saved as study.yaml.")
        command = ["bciigl", "sweep", "study.yaml"]
    for name, values in study.vary.items():
        # As JSON, which is YAML: a word may have a comma in it, or look like a number.
        text = json.dumps(list(values), separators=(",", ":"), ensure_ascii=False)
        command += ["--vary", f"{name}={text[1:-1]}"]
    return again_section(words, facts, shlex.join(command))
