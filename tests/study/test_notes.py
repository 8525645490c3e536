"""What must be known to read a study's table."""

from studies import all_made_up, study

from bciigl.study import rows
from bciigl.study.controls import CONTROLS, PERMUTED, SILENCED
from bciigl.study.notes import control_notes, scanner_notes


def table(**arguments):
    mine = study(**arguments)
    return rows(mine, all_made_up(mine))


def test_hours_are_those_of_one_session_and_of_a_mean():
    (line,) = scanner_notes(
        table(task={"trials": 666, "trials_per_run": 46}, study={"repeats": 20})
    )
    # 27 s a trial and 12 s before each of the runs.
    learn, test = (666 * 27 + 15 * 12) / 3600, (12 * 27 + 12) / 3600
    assert f"{learn:.1f} h to learn and {test:.1f} h to test" in line
    assert f"{20 * (learn + test):.0f} h for 20 sessions" in line


def test_hours_that_differ_are_a_range_for_sessions_and_another_for_a_control():
    vary = {"timing.isi": [14.0, 7.0], "brain.cnr": [0.5, 1.0]}
    plain, silenced = scanner_notes(
        table(vary=vary, learners=["ai_igl"], controls=(SILENCED, PERMUTED))
    )
    # 48 or 27 s a trial of 24 and 12, and 12 s before each run.
    assert plain == (
        "in a real scanner: from 0.2 h to learn and 0.1 h to test for each session (timing.isi = "
        "7 s) to 0.3 h and 0.2 h (timing.isi = 14 s); 0.6 to 1.0 h for 2 sessions"
    )
    assert silenced.startswith("in a real scanner: from") and silenced.endswith(f"({SILENCED})")


def test_controls_say_what_is_expected():
    lines = control_notes(CONTROLS)
    assert [line.partition(": should be ")[0] for line in lines] == list(CONTROLS)
