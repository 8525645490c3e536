"""Table 2 as a study."""

import pytest

from bciigl.base.errors import BciiglError
from bciigl.protocol import load
from bciigl.study.controls import CONTROLS
from bciigl.study.table2 import departures, table2


def test_by_default_it_is_the_paper_s_task_with_levels_up_to_the_real_brain_s():
    study = table2()
    assert study.protocol == load(
        "table2", changes={"study.noise": [0.01, 0.05, 0.1, 0.2, 0.5, 1.0]}
    )
    assert (study.protocol.task.trials, study.protocol.study.repeats) == (666, 20)
    learners = ("ai_igl", "ai_igl_paper", "transfer", "igl_full_ci", "cb", "ceiling")
    assert study.protocol.learners == learners
    assert (study.controls, study.table) == (tuple(CONTROLS), "table2")
    assert (study.protocol.recording, study.protocol.estimate.method) == ("shared", "glm")


def test_everything_can_be_chosen():
    study = table2(noise=(0.3,), repeats=2, seed=7, separate=True)
    assert (study.protocol.study.noise, study.protocol.study.repeats) == ((0.3,), 2)
    assert study.protocol.seed == 7
    assert (study.protocol.recording, study.protocol.estimate.method) == ("separate", "frame")
    # A plain and a silenced session of each repeat.
    assert len(study.cells) == 4


def test_seed_0_is_a_seed():
    assert table2(seed=0, repeats=1).cells[0].key == table2(repeats=1).cells[0].key
    assert table2(seed=1, repeats=1).cells[0].key != table2(repeats=1).cells[0].key


@pytest.mark.parametrize("wrong", [{"noise": (-1.0,)}, {"repeats": 0}, {"seed": -1}])
def test_what_cannot_be_is_refused(wrong):
    (name,) = wrong
    with pytest.raises(BciiglError, match=f"{name}.*should be greater than or equal to"):
        table2(**wrong)


def test_departures_from_the_paper_depend_on_what_is_simulated():
    def topics(**how) -> list[str]:
        return [each.partition(":")[0] for each in departures(table2(**how).protocol)]

    common = ["centring", "learners", "region", "test"]
    assert topics() == [*common, "recording", "signal", "estimates"]
    assert topics(separate=True) == common
