"""Sessions in Python: the numbers of the command, tables, figures, reports, files."""

import gc
import json

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pytest

import bciigl
from bciigl.base.errors import BciiglError
from bciigl.loop import Agent
from bciigl.recording.layout import TRUTH

matplotlib.use("Agg")
SMALL = {"evaluation.test_trials": 46}
HOW = {"noise": 1.0, "trials": 138, "seed": 3, "changes": SMALL}


@pytest.fixture(scope="module")
def session():
    return bciigl.simulate("number_guessing", **HOW)


@pytest.fixture(scope="module")
def learned(session):
    return session.learn()


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


def test_numbers_are_those_of_the_command(session, learned, request, tmp_path):
    options = ("--noise", "1", "--trials", "138", "--seed", "3")
    changed = ("--set", "evaluation.test_trials=46", "--out", str(tmp_path / "x"))
    command = request.getfixturevalue("bciigl")
    found = json.loads(command("simulate", *options, *changed, "--json").stdout)
    mine = {name: each.as_dict(session.protocol.task.options) for name, each in learned.items()}
    assert json.loads(json.dumps(mine)) == found["learners"]


def test_learning_is_kept_for_those_who_open_the_dataset(session, learned, tmp_path):
    copy = session.save(tmp_path / "copy")
    again = bciigl.open_dataset(tmp_path / "copy")
    assert copy.folder == again.folder == tmp_path / "copy"
    assert again.learn().accuracy == learned.accuracy
    assert "decoded" in again.to_dataframe()
    with pytest.raises(FileExistsError):
        session.save(tmp_path / "copy")


def test_a_temporary_session_is_deleted_when_nobody_needs_it():
    dataset = bciigl.simulate("number_guessing", trials=46, changes=SMALL).dataset
    folder = dataset.folder
    gc.collect()
    assert folder.exists()
    del dataset
    gc.collect()
    assert not folder.parent.exists()


def test_a_failed_session_leaves_no_temporary_folder(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))

    class Broken(Agent):
        def act(self, context):
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError, match="broken"):
        bciigl.simulate("number_guessing", agent=Broken(3), changes=SMALL)
    assert not list(tmp_path.iterdir())


def test_events_are_those_of_the_event_tables(session):
    events = session.events
    assert set(events.session) == {"train", "test"}
    assert events.trial_type.value_counts().to_dict() == dict.fromkeys(
        ("imagination", "perception", "judgment"), 138 + 46
    )
    assert (events.groupby(["session", "run"]).onset.diff().dropna() > 0).all()


def test_trials_have_what_was_seen_and_what_was_true(session, learned):
    trials = session.to_dataframe()
    train, truth = session.dataset.sessions["train"]
    mine = trials[trials.session == "train"]
    options = np.array(session.protocol.task.options)
    assert (mine.guess == options[train.action]).all()
    assert (mine.meant == options[truth.meant]).all()
    assert (mine.match == (mine.guess == mine.meant)).all()
    assert mine.usable.all()
    told = mine.decoded > 0.5
    assert (told == mine.match).mean() > 0.9
    assert trials[trials.session == "test"].decoded.isna().all()


def test_a_session_without_truth_has_tables_too(session, tmp_path):
    import shutil

    blind = session.save(tmp_path / "blind")
    shutil.rmtree(blind.folder / TRUTH)
    blind = bciigl.open_dataset(blind.folder)
    assert "meant" not in blind.to_dataframe()
    assert set(blind.learn()) == {"ai_igl", "transfer", "igl_full_ci"}
    assert blind.results.accuracy is None
    assert blind.results.verdict == "trust"


PLOTS = ["plot", "plot_rewards", "plot_time_course", "plot_region", "plot_patterns"]


@pytest.mark.parametrize("plot", PLOTS)
def test_plots_make_a_figure_or_draw_where_they_are_told(session, learned, plot):
    axes = getattr(session, plot)()
    assert plt.get_fignums()
    drawn = np.ravel(axes)[0]
    assert any(each.has_data() or each.images for each in np.ravel(axes))
    figure, places = plt.subplots(1, 2)
    inside = getattr(session, plot)(ax=places[0])
    assert np.ravel(inside)[0].figure is figure is not drawn.figure
    assert not places[1].has_data()
    figure.canvas.draw()


@pytest.mark.slow
def test_a_report_is_written_and_found(session, tmp_path):
    path = session.report()
    assert path.name == "report.html"
    assert "<html" in path.read_text()
    assert session.report(tmp_path / "mine.html") == tmp_path / "mine.html"
    assert bciigl.report(session.folder, tmp_path / "again.html").exists()


def test_representations_say_what_was_learned_and_escape_text(session, learned):
    assert "AI-IGL, no labels" in repr(session)
    assert "trust" in repr(session)
    assert "ai_igl" not in repr(session) + repr(learned) + session._repr_html_()
    odd = bciigl.load(session.protocol, changes={"task.options": ["<b>", "a&b"]})
    assert "<b>," not in odd._repr_html_()
    assert "&lt;b&gt;, a&amp;b" in odd._repr_html_()


def test_agents_by_name_by_folder_and_custom(session, learned, tmp_path):
    from bciigl.learn import save_learner
    from bciigl.recording.calibration import write_calibration
    from bciigl.recording.layout import CALIBRATION

    save_learner(learned["ai_igl"].learner, tmp_path / "policy")
    write_calibration(tmp_path / "policy" / CALIBRATION, session.dataset.calibration)
    how = {"noise": 1.0, "trials": 46, "seed": 3, "changes": SMALL}
    fixed = bciigl.simulate("number_guessing", agent=tmp_path / "policy", **how)
    assert fixed.to_dataframe().query("session == 'train'").match.mean() > 0.7
    greedy = bciigl.simulate("number_guessing", agent="epsilon-greedy", **how)
    assert greedy.protocol.agent.policy == "epsilon-greedy"

    class First(Agent):
        def act(self, context):
            return super().act(context)._replace(action=0)

    first = bciigl.simulate("number_guessing", agent=First(3), **how)
    assert set(first.to_dataframe().query("session == 'train'").guess) == {7}


def test_what_cannot_be_is_told_in_one_line():
    with pytest.raises(BciiglError, match="did you mean 'number_guessing'"):
        bciigl.simulate("number_gessing")
    with pytest.raises(BciiglError, match=r"brain\.noise"):
        bciigl.simulate("number_guessing", noise=-1)
    with pytest.raises(BciiglError, match=r"brain\.noise"):
        bciigl.load(bciigl.load("number_guessing"), changes={"brain.noise": -1})
    with pytest.raises(BciiglError, match="'epsilon-greedy'"):
        bciigl.simulate("number_guessing", agent="epsilon-gredy")
    with pytest.raises(BciiglError, match="not a dataset"):
        bciigl.open_dataset("/")
