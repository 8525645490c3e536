"""`bciigl plan`."""

import json

import pytest

# With uniform guesses no match rate above chance is reached: nobody needs to be simulated.
QUICK = ("plan", "number_guessing", "--measure", "match-rate", "--people", 2, "--jobs", 1)


def test_a_plan_is_told_in_all_forms(bciigl, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    document = json.loads(bciigl(*QUICK, "--vary", "timing.isi=6,7", "--json").stdout)
    assert (document["reached"], document["limit"]) == (False, "exploration")
    assert document["noise"] == 1 and len(document["designs"]) == 2 and document["people"] == 2
    text = bciigl(*QUICK, "--vary", "timing.isi=6,7").stdout
    told = " ".join(text.split())
    assert document["sentence"] in told and "at noise 1, that of a real brain" in told
    assert bciigl("report", "number_guessing_plan").exit_code == 0
    page = (tmp_path / "number_guessing_plan" / "report.html").read_text()
    assert document["sentence"] in page and "hours_by_design" in page


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--target", 0.8), "it is in percent"),
        (("--set", "task.trials=5"), "--hours instead"),
        (("--noise", 1, "--vary", "brain.noise=1,2"), "given twice"),
        (("--vary", "timing.isis=1,2"), "timing.isis: unknown key"),
    ],
)
def test_bad_plans_are_refused_in_one_line(bciigl, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    result = bciigl("plan", "number_guessing", *arguments)
    assert result.exit_code == 2 and said in result.stderr
    assert result.stderr.count("\n") == 1 and not any(tmp_path.iterdir())


@pytest.mark.slow
def test_a_plan_says_more_and_more(bciigl, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    quick = ("--noise", 0.3, "--hours", 0.5, "--people", 12, "--set", "brain.region.size=3")
    result = bciigl("plan", "number_guessing", *quick)
    assert "after 8 people: 9 in 10 people reach 80 %" in result.stderr
    assert "after 12 people" not in result.stderr  # that is the answer itself
    assert result.stdout.startswith("9 in 10 people reach 80 % after ")
    assert "The verdict would have been right in " in result.stdout
