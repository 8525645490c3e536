"""The report of one recorded session."""

import re
import shutil
from dataclasses import replace

import pytest
from matplotlib.text import Text
from recordings import small

from bciigl.base.registry import AGENTS, LEARNERS
from bciigl.learn.diagnose import DO_NOT_USE, DOUBTFUL, TRUST
from bciigl.loop import Agent, Choice
from bciigl.loop.session import record
from bciigl.protocol import dump
from bciigl.recording import open_dataset
from bciigl.recording.layout import ESTIMATES
from bciigl.report.page import page_text
from bciigl.report.results import cells
from bciigl.report.session import session_sections
from bciigl.report.session_words import about, lead, short_name, verdict_notice
from bciigl.report.views import learned
from bciigl.study.session_results import RESULTS

FIGURES = ["learning_curve", "decoded_rewards", "time_course", "region", "patterns"]
SECTIONS = [
    "At a glance",
    "Decoded rewards",
    "The recorded signal",
    "Region and patterns",
    "Statistics",
    "Methods",
    "How to do it again",
    "Protocol",
]


def drawn(sections):
    return [drawing.name for each in sections for drawing in each.drawings]


def whole_text(view):
    return page_text("t", session_sections(view), lead=lead(view))


def words_in(sections):
    said = [words for each in sections for words in each.paragraphs]
    drawings = [drawing for each in sections for drawing in each.drawings]
    return " ".join([*said, *(each.caption + each.alt for each in drawings)])


def with_verdict(view, verdict):
    """Return the session as if its first learner had another verdict about itself."""
    main = view.main
    found = replace(main.diagnosis, verdict=verdict)
    learners = [main.model_copy(update={"diagnosis": found}), *view.kept.learners[1:]]
    return replace(view, kept=view.kept.model_copy(update={"learners": learners}))


def test_the_report_leads_with_the_finding(view, hopeless, without_truth):
    accuracy = view.main.accuracy
    assert lead(view) == (
        "Without labels, AI-IGL learned to choose what was meant from 60 trials (0.5 h in a "
        f"scanner): {accuracy:.1f} % of 40 new trials were right; chance is 33.3 %."
    )
    assert lead(hopeless).startswith(
        "Without labels, AI-IGL shows no clear sign of learning from 46 trials (0.3 h in a "
        f"scanner): {hopeless.main.accuracy:.1f} % of 200 new trials were right"
    )
    low, high = (100 * each for each in without_truth.main.diagnosis.interval)
    assert lead(without_truth) == (
        "Without labels, AI-IGL learned from 60 trials (0.5 h in a scanner), and estimates that "
        f"{100 * without_truth.main.diagnosis.accuracy:.0f} % of its choices are right "
        f"(95 % interval {low:.0f} to {high:.0f} %; chance is 33.3 %)."
    )


def test_below_it_is_said_what_happened_not_what_the_file_says(view, adaptive):
    assert about(view) == (
        "Simulated session, noise 0.5 (1 is a real brain), 60 trials, 3 options, uniform guesses, "
        "seed 0."
    )
    assert f", guesses by {AGENTS.get('epsilon-greedy').name}, " in about(adaptive)


@pytest.mark.parametrize(
    ("verdict", "mood", "meaning"),
    [
        (TRUST, "good", "its choices can be used"),
        (DOUBTFUL, "unsure", "do not rely on its choices yet"),
        (DO_NOT_USE, "bad", "do not use its choices"),
    ],
)
def test_a_verdict_says_what_it_means_before_any_statistic(view, verdict, mood, meaning):
    found = with_verdict(view, verdict)
    (notice,) = verdict_notice(found, found.main)
    assert (notice.mood, notice.title) == (mood, f"AI-IGL says of itself: {meaning}")
    assert "t = " not in notice.text and "nats" not in notice.text
    assert found.main.diagnosis.plain.reason in notice.text


def test_figures_come_before_statistics(sections):
    assert list(sections) == SECTIONS


def test_all_figures_have_words_and_numbers(sections):
    assert drawn(sections.values()) == FIGURES
    for section in sections.values():
        for drawing in section.drawings:
            assert drawing.caption.endswith(".")
            assert drawing.alt.endswith(".")
            assert "\n" not in drawing.alt
            assert len({len(column) for column in drawing.columns.values()}) == 1


def test_the_table_has_the_results_of_bciigl_learn(sections, bciigl, view):
    rows, results = sections["Statistics"].tables[0].rows, view.kept.learners
    assert [row[0] for row in rows] == [short_name(each) for each in results]
    assert [tuple(row[2:]) for row in rows] == [cells(each) for each in results]
    shown = bciigl("learn", view.dataset.folder).stdout
    for row, each in zip(rows, results, strict=True):
        name = LEARNERS.get(each.learner_id).name
        line = next(line for line in shown.splitlines() if line.startswith(name))
        assert line.split("  ")[0] == name
        assert " ".join(line.split()) == " ".join((name, *row[2:]))


def test_the_head_has_the_accuracy_and_what_it_is_compared_with(sections, view):
    main, told = view.main, view.told
    first, second, estimated, chance, trials = sections["At a glance"].numbers
    assert (first.value, second.value) == (f"{main.accuracy:.1f} %", f"{told.accuracy:.1f} %")
    assert first.label == "right choices in new trials: AI-IGL, no labels"
    low, high = (100 * each for each in main.diagnosis.interval)
    assert estimated.value == f"{100 * main.diagnosis.accuracy:.0f} %"
    assert estimated.note == f"95 % interval {low:.0f} to {high:.0f}"
    assert (chance.value, trials.value) == ("33.3 %", "60")
    said = str(main.diagnosis.named((7, 8, 9)))
    assert f"The verdict of AI-IGL with its statistics: {said}" in words_in(sections.values())


@pytest.mark.parametrize("verdict", [DOUBTFUL, DO_NOT_USE])
def test_match_rates_are_shown_with_trust_only(sections, view, verdict):
    heads = [table.head for table in sections["Statistics"].tables]
    assert "match rate" in heads[1]
    doubted = {each.title: each for each in session_sections(with_verdict(view, verdict))}
    assert [table.head for table in doubted["Statistics"].tables] == heads[:1]


@pytest.mark.parametrize("verdict", [DOUBTFUL, DO_NOT_USE])
def test_decoded_rewards_are_not_shown_without_trust_nor_truth(without_truth, verdict):
    doubted = session_sections(with_verdict(without_truth, verdict))
    assert "decoded_rewards" not in drawn(doubted)
    assert "it may look convincing and mean nothing" in words_in(doubted)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["view", "hopeless", "adaptive", "without_truth"])
def test_words_in_figures_are_large_enough_and_not_cut_off(request, name):
    sections = session_sections(request.getfixturevalue(name))
    for drawing in (each for section in sections for each in section.drawings):
        figure = drawing.figure
        figure.draw_without_rendering()
        for text in figure.findobj(Text):
            if text.get_visible() and text.get_text().strip() and text.axes in figure.axes:
                box = Text.get_window_extent(text)
                assert text.get_fontsize() >= 8, text
                assert box.x0 >= 0 and box.x1 <= figure.bbox.x1 + 1, (drawing.name, text)
                assert box.y0 >= 0 and box.y1 <= figure.bbox.y1 + 1, (drawing.name, text)


@pytest.mark.slow
def test_learners_have_plain_names_wherever_they_are_read(view, hopeless, adaptive):
    for each in (view, hopeless, adaptive):
        hidden = r"<pre.*?</pre>|<style.*?</style>|<[^>]*>|[Pp]erception transfer"
        page = re.sub(hidden, " ", whole_text(each), flags=re.DOTALL)
        assert not re.findall(rf"\b({'|'.join(LEARNERS.ids)})\b", page)


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


def test_without_truth_what_is_missing_is_said(without_truth):
    sections = session_sections(without_truth)
    assert drawn(sections) == [each for each in FIGURES if each != "patterns"]
    assert "is without its truth" in sections[0].notices[-1].text
    text = " ".join(words for each in sections for words in each.paragraphs)
    assert "For comparison, we trained" not in text
    assert "Policies were tested" not in text


def test_without_test_session_too(view, tmp_path):
    folder = shutil.copytree(view.dataset.folder, tmp_path / "copy")
    (folder / ESTIMATES / RESULTS).unlink()
    for path in list(folder.rglob("ses-test")):
        shutil.rmtree(path)
    sections = session_sections(learned(open_dataset(folder)))
    assert "has no test session" in sections[0].notices[-1].text
    assert drawn(sections) == FIGURES
    assert "estimates that it is right" in sections[0].drawings[0].alt


def test_where_nobody_can_learn_there_is_a_report_too(tmp_path):
    record(small(learners=["cb"]), tmp_path / "out")
    shutil.rmtree(tmp_path / "out" / "derivatives" / "truth")
    view = learned(open_dataset(tmp_path / "out"))
    sections = session_sections(view)
    assert drawn(sections) == ["time_course", "region"]
    assert "none of these can learn: contextual bandit, told the rewards" in words_in(sections)
    assert lead(view).endswith("without which none of its learners can learn.")


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
    without = session_sections(learned(dataset))
    assert {"region", "patterns"}.isdisjoint(drawn(without))
    assert "'here.nii.gz' is relative to the protocol's folder" in without[0].notices[-1].text
    assert {"region", "patterns"} <= set(drawn(session_sections(learned(dataset, folder=tmp_path))))


@pytest.mark.slow
def test_what_a_protocol_says_is_never_taken_for_html(tmp_path):
    options = ["<b>a</b>", "$x$ & $y$", '"c"']
    protocol = small(description="<script>alert(1)</script>", task={"options": options})
    record(protocol, tmp_path / "out")
    text = whole_text(learned(open_dataset(tmp_path / "out")))
    assert "<script" not in text
    assert "<b>" not in text
    assert "Its file describes it as: &lt;script&gt;alert(1)&lt;/script&gt;" in text


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
        assert whole_text(learned(open_dataset(tmp_path / name))).count("<figure") == 5


class Stubborn(Agent):
    """Guesses the first option."""

    def act(self, context):
        """Return the first option."""
        return Choice(action=0, propensity=1.0, explored=False)


def test_agents_of_ones_own_are_not_said_to_guess_uniformly(tmp_path):
    record(small(learners=["ceiling"]), tmp_path / "out", agent=Stubborn(3))
    view = learned(open_dataset(tmp_path / "out"))
    text = words_in(session_sections(view))
    assert "guesses by an agent of its own" in about(view)
    assert "guessed by a policy of our own" in text
    assert "guessed uniformly at random" not in text
