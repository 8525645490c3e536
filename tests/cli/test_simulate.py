"""`bciigl simulate`."""

import json
import resource
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from kills import digests
from page_clients import Client

from bciigl.cli.main import cli
from bciigl.learn import load_learner
from bciigl.protocol import draw, load
from bciigl.recording import open_dataset

SHORT = (
    "--trials",
    "60",
    "--set",
    "task.trials_per_run=20",
    "--set",
    "evaluation.test_trials=40",
)


def command(*arguments):
    return [sys.executable, "-m", "bciigl", "simulate", *map(str, arguments)]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """Record a short session with the command, once for all tests; return folder and document."""
    folder = tmp_path_factory.mktemp("recorded") / "out"
    arguments = ["simulate", "--noise", "0.02", *SHORT, "--out", str(folder), "--json"]
    result = CliRunner().invoke(cli, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    return folder, json.loads(result.stdout), result.stderr


def test_json_is_one_document_with_what_was_asked_for(recorded):
    folder, document, _ = recorded
    assert document["noise"] == 0.02
    assert (document["trials"], document["test_trials"], document["seed"]) == (60, 40, 0)
    assert document["chance"] == pytest.approx(100 / 3)
    assert document["out"] == str(folder)
    assert list(document["learners"]) == ["ai_igl", "transfer", "igl_full_ci", "cb", "ceiling"]
    for learner in document["learners"].values():
        low, high = learner["interval"]
        assert 0 <= low <= learner["accuracy"] <= high <= 100
    assert document["learners"]["ceiling"]["accuracy"] > 90
    assert document["scanner_hours"] == pytest.approx((60 * 27 + 3 * 12) / 3600)


def test_progress_and_advice_go_to_standard_error(recorded):
    _, _, shown = recorded
    assert "warning: number_guessing with task.trials=60: task.trials: too few" in shown
    assert "recording trials: 100 of 100" in shown
    assert "learning with AI-IGL, no labels" in shown


def test_the_table_says_what_matters(bciigl, recorded):
    folder, document, _ = recorded
    result = bciigl("simulate", "--resume", folder)
    assert result.exit_code == 0
    lines, found = result.stdout.splitlines(), document["learners"]["ai_igl"]
    begin = f"{found['diagnosis']['verdict'].capitalize()}: without labels or rewards, AI-IGL"
    assert lines[0].startswith(f"{begin} decodes {found['accuracy']:.1f} % of 40")
    assert (
        "number_guessing: simulated, noise 0.02 (real brain: 1), seed 0, uniform guesses" in lines
    )
    assert "60 trials of 3 options to learn from, 40 others to test" in lines
    row = next(line for line in lines if line.startswith("supervised, told the labels "))
    assert f" {document['learners']['ceiling']['accuracy']:.1f} % " in row
    assert lines[-4:] == [
        "In a real scanner: 0.5 h to learn, 0.3 h more to test",
        f"Recorded in {folder}",
        f"Details: bciigl learn {folder} -v",
        f"Report:  bciigl report {folder} --open",
    ]
    assert "t = " not in result.stdout and "_igl" not in result.stdout.replace(str(folder), "")


def test_details_are_told_if_they_are_asked_for(bciigl, recorded):
    folder, document, _ = recorded
    told = " ".join(bciigl("learn", "-v", folder).stdout.split())
    found = document["learners"]["ai_igl"]["diagnosis"]
    assert f"AI-IGL: {found['verdict']}: {found['reason']} {found['remedy']}".strip() in told
    assert "Contexts and feedback are centred by the means of their runs." in told
    assert "The agent's guesses that matched, by fifths of the session: " in told
    assert "Details: " not in told


def test_learning_from_the_folder_prints_the_same(bciigl, recorded):
    folder, document, _ = recorded
    assert json.loads(bciigl("learn", folder, "--json").stdout) == document


@pytest.mark.slow
def test_every_field_can_be_set(bciigl, tmp_path):
    folder = tmp_path / "out"
    settings = ("task.options=[left, right, up, down]", "timing.tr=2", "timing.event=1", "isi")
    result = bciigl("simulate", *SHORT, "--set", settings[3], "--out", folder)
    assert (result.exit_code, folder.exists()) == (2, False)
    assert "isi: should be field=value" in result.stderr
    arguments = [word for each in settings[:3] for word in ("--set", each)]
    assert bciigl("simulate", *SHORT, *arguments, "--seed", 3, "--out", folder).exit_code == 0
    protocol = open_dataset(folder).protocol
    assert protocol.task.options == ("left", "right", "up", "down")
    assert (protocol.timing.tr, protocol.timing.event, protocol.seed) == (2, 1, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--noise", "-1"], "brain.noise: should be greater than or equal to 0, got -1.0"),
        (["--trials", "0"], "task.trials: should be greater than or equal to 1, got 0"),
        (["--engine", "fmri"], "did you mean 'fmrisim'?"),
        (["--agent", "greedy"], "did you mean 'epsilon-greedy'?"),
        (["--agent", "fixed"], "agent.policy is fixed: it needs a saved policy (--agent FOLDER)"),
        (["--agent", "."], "learner.json: no such file"),
        (["--set", "timing.iso=3"], "unknown key; did you mean 'isi'?"),
        (["nothing_such"], "no such file, and no shipped protocol of that name"),
        (["--out", "a", "--resume", "b"], "--out is for a new recording"),
        (["--resume", "nothing_such"], "nothing_such: there is no session to resume"),
        (["--real-time", "--set", "recording=separate"], "is simulated, and not in real time"),
    ],
)
def test_what_cannot_be_simulated_is_refused_and_leaves_nothing(
    bciigl, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    result = bciigl("simulate", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert message in result.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_folders_are_named_after_the_protocol_and_never_overwritten(bciigl, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert bciigl("simulate", *SHORT).exit_code == 0
    assert digests(tmp_path / "number_guessing") == digests(tmp_path / "number_guessing_2")
    before = digests(tmp_path)
    result = bciigl("simulate", *SHORT, "--out", "number_guessing")
    assert (result.exit_code, digests(tmp_path)) == (2, before)
    assert "exists already and is not an empty folder" in result.stderr


# The learners then get guesses that could not have been others, of which nothing is known.
@pytest.mark.slow
@pytest.mark.parametrize("trials", [40, 60])
def test_a_saved_policy_can_guess(bciigl, recorded, tmp_path, trials):
    policy, folder = tmp_path / "policy", tmp_path / "out"
    assert bciigl("learn", recorded[0], "--learner", "cb", "--out", policy).exit_code == 0
    assert (
        bciigl("simulate", *SHORT, "--agent", policy, "--seed", 0, "--out", folder).exit_code == 0
    )
    dataset = open_dataset(folder)
    assert dataset.protocol.agent.policy == "fixed"
    trials, truth = dataset.sessions["train"]
    # One by one contexts are centred by the mean of training.
    chosen = load_learner(policy).predict(trials.context)
    assert (trials.action == chosen).all()
    assert (trials.propensity == 1).all()
    assert truth.match.mean() > 0.9


@pytest.mark.slow
def test_without_truth_it_still_learns(bciigl, tmp_path):
    folder = tmp_path / "out"
    document = json.loads(bciigl("simulate", *SHORT, "--out", folder, "--json").stdout)
    shutil.rmtree(folder / "derivatives" / "truth")
    blind = json.loads(bciigl("learn", folder, "--json").stdout)
    assert list(blind["learners"]) == ["ai_igl", "transfer", "igl_full_ci"]
    for name, learner in blind["learners"].items():
        known = document["learners"][name]
        assert learner == {**known, "accuracy": None, "interval": None}
    result = bciigl("learn", folder, "--learner", "cb")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "cb needs the array reward" in result.stderr


def start(folder, *arguments):
    """Begin a recording in another process, and return when some of it is in the journal."""
    process = subprocess.Popen(
        command(*SHORT, "--trials", 4000, "--out", folder, *arguments),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        # In the background of a shell without job control, interrupts would be ignored.
        preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_DFL),
    )
    # Names alone: what is being written may have another one before it can be read.
    while sum(path.is_file() for path in folder.rglob("*")) < 20:
        assert process.poll() is None
        time.sleep(0.01)
    return process


@pytest.mark.slow
def test_two_processes_do_not_write_to_one_folder(bciigl, tmp_path):
    folder = tmp_path / "out"
    # So long that it is still going on however slow this machine is.
    process = start(folder, "--trials", 40_000)
    try:
        for option in ("--resume", "--out"):
            result = bciigl("simulate", option, folder)
            assert result.exit_code == 2
            assert "another process is recording there" in result.stderr
    finally:
        process.kill()
        process.communicate()


@pytest.mark.slow
def test_real_time_gives_the_same_and_says_how_late_guesses_were(bciigl, tmp_path):
    fast = ["timing.tr=0.1", "timing.event=0.1", "timing.isi=0.2", "timing.burn_in=0"]
    few = ["task.trials_per_run=2", "evaluation.test_trials=1", "estimate=glm"]
    arguments = [word for each in (*fast, *few) for word in ("--set", each)]
    arguments = ["simulate", "--trials", 3, "--set", "learners=[ai_igl]", *arguments]
    assert bciigl(*arguments, "--out", tmp_path / "fast").exit_code == 0
    result = bciigl(*arguments, "--out", tmp_path / "timed", "--real-time", "--json")
    late = json.loads(result.stdout)["lateness_seconds"]
    assert 0 <= late["median"] <= late["largest"]
    assert digests(tmp_path / "timed") == digests(tmp_path / "fast")
    shown = bciigl("simulate", "--resume", tmp_path / "timed", "--real-time", "-v").stdout
    assert "ms after the decision was due (median)" in shown


@pytest.mark.slow
def test_an_interrupt_says_how_to_go_on(bciigl, tmp_path):
    folder = tmp_path / "out"
    process = start(folder)
    process.send_signal(signal.SIGINT)
    _, shown = process.communicate()
    assert process.returncode != 0
    assert f"go on with: bciigl simulate --resume {folder}" in shown
    assert "Traceback" not in shown
    result = bciigl("learn", folder)
    assert (result.exit_code, "is not finished" in result.stderr) == (2, True)


@pytest.mark.slow
def test_a_full_disk_says_how_to_go_on_and_nothing_is_lost(tmp_path, recorded):
    folder = tmp_path / "out"

    def little_room():
        resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, resource.RLIM_INFINITY))

    arguments = command("--noise", "0.02", *SHORT, "--out", folder)
    full = subprocess.run(arguments, capture_output=True, text=True, preexec_fn=little_room)
    assert full.returncode == 2
    assert ": File too large; when that is mended, go on with: bciigl simulate" in full.stderr
    assert "Traceback" not in full.stderr
    subprocess.run(command("--resume", folder), capture_output=True, check=True)
    assert digests(folder) == digests(recorded[0])


def test_a_folder_that_cannot_be_made_is_refused(bciigl, tmp_path):
    (tmp_path / "file").touch()  # root may write everywhere but here
    result = bciigl("simulate", *SHORT, "--out", tmp_path / "file" / "out")
    assert (result.exit_code, "file/out: cannot be made" in result.stderr) == (2, True)


def test_resume_begins_where_nothing_is_if_it_is_told_what(bciigl, tmp_path, recorded):
    folder = tmp_path / "out"
    arguments = ("number_guessing", "--noise", "0.02", *SHORT, "--resume", folder)
    assert bciigl("simulate", *arguments).exit_code == 0
    assert digests(folder) == digests(recorded[0])
    result = bciigl("simulate", "--noise", "0.03", *SHORT, "--resume", folder)
    assert result.exit_code == 2
    assert "another protocol: brain.noise is 0.02 there, 0.03 here" in result.stderr


def test_the_default_protocol_is_the_papers_task():
    assert load("number_guessing").task.options == (7, 8, 9)


def test_a_person_of_a_population_is_drawn_told_and_recorded(bciigl, write, tmp_path):
    path = write(
        "name: x\ntask: {options: [7, 8, 9], trials: 12, trials_per_run: 6}\n"
        "evaluation: {test_trials: 6}\nlearners: [ceiling]\nbrain: {region: {size: 2}}\n"
        "population: {brain.cnr: [0.3, 0.8], human.judgment_lapse: [0, 0.2]}\n"
    )
    out = tmp_path / "out"
    document = json.loads(bciigl("simulate", path, "--seed", 3, "--out", out, "--json").stdout)
    person = open_dataset(out).protocol
    assert person == draw(load(path, changes={"seed": 3}))
    assert document["person"] == {
        "brain.cnr": person.brain.cnr,
        "human.judgment_lapse": person.human.judgment_lapse,
    }
    # It is resumed with the same options, and not with another seed, who is another person.
    words = bciigl("simulate", path, "--seed", 3, "--resume", out).stdout
    assert f"A person drawn from the population: brain.cnr = {person.brain.cnr:.3g}," in words
    assert "begun with another protocol" in bciigl("simulate", path, "--resume", out).stderr


@pytest.mark.slow
def test_a_simulation_is_watched_and_held_by_its_monitor(tmp_path):
    call = [sys.executable, "-m", "bciigl.cli.main", "simulate", "--live", "--out"]
    call += [str(tmp_path / "out"), "--trials", "6", "--noise", "0.3"]
    for each in ("evaluation.test_trials=6", "learners=[ai_igl]", "brain.region.size=2"):
        call += ["--set", each]
    pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(call, text=True, **pipes) as process:
        lines = iter(process.stderr.readline, "")
        link = next(line for line in lines if "monitor" in line).split()[-1]
        port = int(link.split(":")[2].split("/")[0])
        server = SimpleNamespace(link=lambda page: link, _host="127.0.0.1", port=port)
        with Client(server, "monitor") as page:
            page.wait_for(lambda each: each["phase"] == "running" and each["trial"] == 2)
            page.say(command="pause")
            page.wait_for(lambda each: each["phase"] == "paused")
            time.sleep(0.5)  # ten seconds of the run
            known = page.messages[-1]["volumes"]["arrived"]
            time.sleep(0.5)
            assert page.messages[-1]["volumes"]["arrived"] <= known + 1
            page.say(command="continue")
            after = page.wait_for(lambda each: each["volumes"]["arrived"] > known)
            # What was due in the pause does not come all at once.
            assert after["volumes"]["arrived"] <= known + 4
            page.wait_for(lambda each: each["phase"] == "over")
        told, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and "6 trials" in told
