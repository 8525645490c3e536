"""What must be known to read a study's table."""

from studies import all_made_up, study

from bciigl.study import rows
from bciigl.study.controls import CONTROLS
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
    assert f"{20 * (learn + test):.0f} h for each mean" in line


def test_hours_are_told_for_each_length_of_a_session():
    lines = scanner_notes(table(vary={"timing.isi": [7.0, 14.0], "brain.cnr": [0.5, 1.0]}))
    assert len(lines) == 2
    assert "timing.isi = 7.0" in lines[0] and "timing.isi = 14.0" in lines[1]


def test_controls_say_what_is_expected():
    lines = control_notes(CONTROLS)
    assert [line.partition(": should be ")[0] for line in lines] == list(CONTROLS)
