"""The report of one recorded session."""

import shutil

import pytest
from recordings import small

from bciigl.loop import Agent, Choice
from bciigl.loop.session import record
from bciigl.protocol import dump
from bciigl.recording import open_dataset
from bciigl.recording.layout import ESTIMATES
from bciigl.report.page import page_text
from bciigl.report.results import cells
from bciigl.report.session import lead, session_sections
from bciigl.study.session_results import RESULTS, learn_and_keep

FIGURES = [
    "decoded_rewards_ai_igl",
    "learning_curve",
    "agents_guesses",
    "time_course",
    "region",
    "patterns",
]


def drawn(sections):
    return [drawing.name for each in sections for drawing in each.drawings]


def learned_sections(dataset):
    """Return the report of a dataset that is learned from first."""
    learn_and_keep(dataset)
    return session_sections(dataset)


def whole_text(dataset):
    return page_text("t", learned_sections(dataset), lead=lead(dataset))


def test_all_figures_have_words_and_numbers(sections):
    assert drawn(sections.values()) == FIGURES
    for section in sections.values():
        for drawing in section.drawings:
            assert drawing.caption.endswith(".")
            assert drawing.alt.endswith(".")
            assert "\n" not in drawing.alt
            assert len({len(column) for column in drawing.columns.values()}) == 1


def test_the_table_has_the_results_of_bciigl_learn(sections, results, bciigl, dataset):
    rows = sections["Results"].tables[0].rows
    assert [(row[0], *row[2:]) for row in rows] == [tuple(cells(each)) for each in results]
    shown = bciigl("learn", dataset.folder).stdout
    for row in rows:
        line = next(each for each in shown.splitlines() if each.startswith(f"{row[0]} "))
        assert " ".join(line.split()) == " ".join((row[0], *row[2:]))


def test_the_head_has_verdict_and_accuracy(sections, results):
    head = next(iter(sections.values()))
    main = results[0]
    assert head.title == "At a glance"
    assert head.numbers[0].value == f"{main.accuracy:.1f} %"
    (notice,) = head.notices
    assert notice.title.startswith("ai_igl says of itself: ")
    assert main.diagnosis.verdict in notice.title
    assert main.diagnosis.remedy in notice.text
    estimated = [each for each in head.numbers if "estimates of itself" in each.label]
    tables = sections["Decoded rewards"].tables
    # what means nothing without trust is not shown without it
    assert len(estimated) == len(tables) == (main.diagnosis.verdict == "trust")
    for number in estimated:
        low, high = (100 * each for each in main.diagnosis.interval)
        assert number.value == f"{100 * main.diagnosis.accuracy:.1f} %"
        assert number.note == f"95 % interval {low:.1f} to {high:.1f}"
    told = sections["Decoded rewards"].paragraphs[1]
    assert told == f"The verdict of ai_igl: {main.diagnosis.named((7, 8, 9))}"


def test_protocol_seed_and_hash_are_there(sections, dataset):
    assert sections["Protocol"].preformatted == dump(dataset.protocol)
    values = dict(sections["How to do it again"].tables[0].rows)
    assert values["seed"] == "0"
    assert values["protocol, SHA-256"] == dataset.protocol.content_hash
    assert "scikit-learn" in values["reported with"]


@pytest.mark.slow
def test_the_command_does_it_again(sections, dataset, tmp_path, bciigl, monkeypatch):
    copy = shutil.copytree(dataset.folder, tmp_path / "copy")
    monkeypatch.chdir(copy)
    assert bciigl(*sections["How to do it again"].preformatted.split()[1:]).exit_code == 0
    truth = "derivatives/truth/sub-01/ses-train/func"
    for path in (copy / truth).iterdir():
        assert path.read_bytes() == (copy / "again" / truth / path.name).read_bytes()


def test_without_truth_what_is_missing_is_said(dataset, tmp_path):
    folder = shutil.copytree(dataset.folder, tmp_path / "copy")
    (folder / ESTIMATES / RESULTS).unlink()
    shutil.rmtree(folder / "derivatives" / "truth")
    sections = learned_sections(open_dataset(folder))
    assert drawn(sections) == ["decoded_rewards_ai_igl", "time_course", "region"]
    assert "is without its truth" in sections[0].notices[-1].text
    text = " ".join(words for each in sections for words in each.paragraphs)
    assert "For comparison, we trained" not in text
    assert "Policies were tested" not in text


def test_without_test_session_too(dataset, tmp_path):
    folder = shutil.copytree(dataset.folder, tmp_path / "copy")
    (folder / ESTIMATES / RESULTS).unlink()
    for path in list(folder.rglob("ses-test")):
        shutil.rmtree(path)
    sections = learned_sections(open_dataset(folder))
    assert "has no test session" in sections[0].notices[-1].text
    assert drawn(sections) == [each for each in FIGURES if each != "learning_curve"]


def test_where_nobody_can_learn_there_is_a_report_too(tmp_path):
    record(small(learners=["cb"]), tmp_path / "out")
    shutil.rmtree(tmp_path / "out" / "derivatives" / "truth")
    sections = learned_sections(open_dataset(tmp_path / "out"))
    assert drawn(sections) == ["time_course", "region"]
    assert "none of cb can learn" in sections[1].paragraphs[0]


@pytest.mark.slow
def test_a_subject_that_is_not_there_costs_its_figures_alone(tmp_path):
    from bciigl.brain import load_subject
    from bciigl.brain.images import write_image
    from bciigl.brain.subject import BUILT_IN

    subject = load_subject(BUILT_IN)
    mask = subject.mask.astype("uint8") * 0
    mask[13:15, 40:42, 29:31] = 1
    write_image(tmp_path / "here.nii.gz", mask, subject.affine)
    region = {"shape": "mask", "file": "here.nii.gz"}
    record(small(brain={"region": region}), tmp_path / "out", folder=tmp_path)
    dataset = open_dataset(tmp_path / "out")
    without = learned_sections(dataset)
    assert {"region", "patterns"}.isdisjoint(drawn(without))
    assert "'here.nii.gz' is relative to the protocol's folder" in without[0].notices[-1].text
    assert {"region", "patterns"} <= set(drawn(session_sections(dataset, folder=tmp_path)))


@pytest.mark.slow
def test_what_a_protocol_says_is_never_taken_for_html(tmp_path):
    options = ["<b>a</b>", "$x$ & $y$", '"c"']
    protocol = small(description="<script>alert(1)</script>", task={"options": options})
    record(protocol, tmp_path / "out")
    text = whole_text(open_dataset(tmp_path / "out"))
    assert "<script" not in text
    assert "<b>" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt; A simulated session" in text


@pytest.mark.slow
def test_odd_sessions_have_a_report(tmp_path):
    odd = {
        "separate": {
            "recording": "separate",
            "estimate": "frame",
            "brain": {"region": {"size": 1}},
        },
        "catch": {"task": {"options": ["a", "b"], "trials": 12, "catch": {"share": 0.9}}},
    }
    for name, protocol in odd.items():
        record(small(**protocol), tmp_path / name)
        assert whole_text(open_dataset(tmp_path / name)).count("<figure") == 6


class Stubborn(Agent):
    """Guesses the first option."""

    def act(self, context):
        """Return the first option."""
        return Choice(action=0, propensity=1.0, explored=False)


def test_agents_of_ones_own_are_not_said_to_guess_uniformly(tmp_path):
    record(small(learners=["ceiling"]), tmp_path / "out", agent=Stubborn(3))
    sections = learned_sections(open_dataset(tmp_path / "out"))
    text = " ".join(words for each in sections for words in each.paragraphs)
    text += " ".join(each.caption + each.alt for every in sections for each in every.drawings)
    assert "guessed by a policy of our own" in text
    assert "guessed uniformly at random" not in text
