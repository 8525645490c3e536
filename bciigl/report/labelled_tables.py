"""The tables of labelled data: the same words on a terminal, in a notebook and in a page."""

from collections.abc import Sequence

from bciigl.labelled.rows import Average, LabelledRow
from bciigl.report.study_tables import interval, mean
from bciigl.report.table import Table
from bciigl.study.published import Published


def over_repeats(rows: Sequence[LabelledRow]) -> str:
    """Return what the numbers of a table are means over."""
    repeats = sorted({row.repeats for row in rows})
    if repeats == [1]:
        return "accuracy in percent, of one repeat"
    counted = f"{repeats[0]}" if len(repeats) == 1 else f"{repeats[0]} to {repeats[-1]}"
    return f"accuracy in percent, mean ± standard error over {counted} repeats"


def dataset_tables(rows: Sequence[LabelledRow]) -> dict[str, Table]:
    """Return a table for each feedback rule, by its name: a line a dataset."""
    rules = dict.fromkeys(row.feedback for row in rows)
    return {rule: _datasets([row for row in rows if row.feedback == rule]) for rule in rules}


def learner_table(rows: Sequence[LabelledRow]) -> Table:
    """Return learners by feedback rules, with details: for few datasets."""
    columns = list(dict.fromkeys((row.dataset.id, row.feedback) for row in rows))
    several = len({dataset for dataset, _ in columns}) > 1
    heads = [f"{dataset}, {rule}" if several else rule for dataset, rule in columns]
    table = Table(["feedback", *heads], [])
    details = (
        ("95 % interval", lambda row: interval(row.accuracy)),
        ("published", lambda row: published(row.published)),
        ("difference", lambda row: "-" if row.difference is None else f"{row.difference:+.1f}"),
        ("relative to cb", lambda row: "-" if row.learner == "cb" else share(row.relative)),
        ("trusted repeats", lambda row: "-" if row.trusted is None else f"{row.trusted:.0f} %"),
    )
    for learner in dict.fromkeys(row.learner for row in rows):
        mine = {(row.dataset.id, row.feedback): row for row in rows if row.learner == learner}
        found = [mine.get(each) for each in columns]
        table.rows.append([learner, *("-" if row is None else mean(row.accuracy) for row in found)])
        for name, shown in details:
            cells = ["-" if row is None else shown(row) for row in found]
            if set(cells) != {"-"}:
                table.rows.append([f"  {name}", *cells])
    return table


def average_table(found: Sequence[Average]) -> Table:
    """Return what learners reach on average over subsets of the datasets."""
    head = ["subset, feedback, learner", "datasets", "accuracy", "relative to cb", "of means"]
    head += ["published, same sets", "Table 1, all its sets"]
    return Table(
        head,
        [
            [
                f"{each.subset}, {each.feedback}, {each.learner}",
                str(each.datasets),
                mean(each.accuracy),
                "-" if each.relative is None else _relative(each),
                "-" if each.learner == "cb" else share(each.of_means),
                "-" if each.published is None else _same_sets(each),
                published(each.table1),
            ]
            for each in found
        ],
    )


def share(value: float | None) -> str:
    """Return a share as percent."""
    return "-" if value is None else f"{100 * value:.1f} %"


def published(value: Published | None) -> str:
    """Return a published figure with its standard error."""
    return "-" if value is None else "{:.2f} ± {:.2f}".format(*value)


def _relative(each: Average) -> str:
    error = each.relative.standard_error
    return f"{each.relative.mean:.2f}" + ("" if error is None else f" ± {error:.2f}")


def _same_sets(each: Average) -> str:
    count = each.published_datasets
    part = "" if count == each.datasets else f" ({count} set{'' if count == 1 else 's'})"
    return f"{each.published:.2f}{part}"


def _datasets(rows: list[LabelledRow]) -> Table:
    learners = list(dict.fromkeys(row.learner for row in rows))
    known = any(row.published for row in rows)
    head = ["dataset", "N", "K", "constant"]
    for learner in learners:
        head += [learner, "published"] if known else [learner]
    table = Table([*head, "ai_igl / cb"] if "ai_igl" in learners else head, [])
    for dataset in dict.fromkeys(row.dataset for row in rows):
        mine = {row.learner: row for row in rows if row.dataset == dataset}
        name = dataset.name if dataset.openml_id is None else f"{dataset.openml_id} {dataset.name}"
        line = [name, f"{dataset.n}", f"{dataset.k}", f"{100 * dataset.majority:.1f}"]
        for learner in learners:
            row = mine.get(learner)
            line.append("-" if row is None else mean(row.accuracy))
            if known:
                line.append("-" if row is None else published(row.published))
        if "ai_igl" in learners:
            line.append(share(mine["ai_igl"].relative) if "ai_igl" in mine else "-")
        table.rows.append(line)
    return table
