"""A recording that is killed; benchmarks/kills.py has many more kills."""

import pytest
from kills import SESSION, Tally, interrupt, reference

SHORT = "--trials 20 --set task.trials_per_run=10 --set evaluation.test_trials=5".split()


@pytest.mark.slow
def test_killed_recording_that_is_gone_on_with_ends_up_the_same(tmp_path):
    session, tally = [*SESSION, *SHORT], Tally()
    expected = reference(tmp_path / "reference", session)
    interrupt(tmp_path / "killed", session, expected, [0.02, 0.6, 0.9], tally)
    assert tally.problems == []
    assert tally.trials
