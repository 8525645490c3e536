"""The grid: every combination, seeds of repeats alone, and keys of all that matters."""

import pytest
from studies import study, tiny, write_mask

from bciigl.protocol import Protocol
from bciigl.study import Study, StudyError
from bciigl.study import grid as module
from bciigl.study.controls import CONTROLS, MEAN_REMOVED, PERMUTED, SILENCED
from bciigl.study.grid import Cell, Entry

BLIND = ["ceiling", "ai_igl"]


def key(**arguments) -> str:
    """Return the key of the first cell."""
    return study(**{"learners": BLIND, **arguments}).cells[0].key


def seeds(mine: Study) -> dict[int, set[int]]:
    """Return the seeds of each repeat."""
    found: dict[int, set[int]] = {}
    for cell in mine.cells:
        found.setdefault(cell.repeat, set()).add(cell.protocol.seed)
    return found


def places(mine: Study) -> list[tuple]:
    """Return where in the grid the cells are."""
    return [
        (each.repeat, *each.setting.varied.values(), each.protocol.brain.noise)
        for each in mine.cells
    ]


def test_every_combination_is_there_once_and_noise_changes_fastest():
    mine = study(
        vary={"timing.isi": [5.0, 7.0], "brain.cnr": [0.5, 1.0, 2.0]},
        study={"noise": [0.1, 0.0], "repeats": 2},
    )
    expected = [
        (repeat, isi, cnr, noise)
        for repeat in (0, 1)
        for isi in (5.0, 7.0)
        for cnr in (0.5, 1.0, 2.0)
        for noise in (0.1, 0.0)
    ]
    assert places(mine) == expected
    assert len({each.key for each in mine.cells}) == len(expected)
    for cell in mine.cells:
        assert cell.protocol.timing.isi == cell.setting.varied["timing.isi"]
        assert cell.protocol.brain.cnr == cell.setting.varied["brain.cnr"]
        assert cell.setting.noise == cell.protocol.brain.noise


def test_learners_of_one_session_share_a_cell_and_a_silenced_judgment_has_its_own():
    # Controls are with the first learner that is told nothing.
    learners = ["ceiling", "igl_full_ci", "ai_igl"]
    mine = study(learners=learners, controls=tuple(CONTROLS), study={"repeats": 1})
    assert mine.entries == [Entry(each) for each in learners] + [
        Entry("igl_full_ci", each) for each in (SILENCED, PERMUTED, MEAN_REMOVED)
    ]
    plain, silenced = mine.cells
    assert silenced.entries == (Entry("igl_full_ci", SILENCED),)
    assert set(plain.entries) == set(mine.entries) - set(silenced.entries)
    assert "judgment" in plain.protocol.task.events
    assert silenced.protocol.task.events == ("imagination", "perception")
    assert silenced.protocol.feedback.perception == 1.0
    assert silenced.protocol.seed == plain.protocol.seed
    assert silenced.setting is plain.setting


def test_labels_tell_all_entries_apart():
    labels = [each.label for each in study(learners=BLIND, controls=tuple(CONTROLS)).entries]
    assert labels == [*BLIND, *(f"ai_igl, {each}" for each in CONTROLS)]
    with pytest.raises(StudyError, match="controls need a learner that is told neither"):
        study(controls=(PERMUTED,))


def test_same_repeat_is_the_same_person_everywhere_and_another_is_another():
    mine = study(
        vary={"timing.isi": [5.0, 7.0]},
        study={"noise": [0.1, 0.5], "repeats": 5},
        learners=BLIND,
        controls=CONTROLS,
    )
    found = seeds(mine)
    assert all(len(each) == 1 for each in found.values())
    assert len(set.union(*found.values())) == 5


def test_cells_do_not_depend_on_what_else_is_in_the_grid_nor_on_its_order():
    few = study(study={"noise": [0.05, 0.2], "repeats": 2})
    many = study(vary={"timing.isi": [9.0, 7.0]}, study={"noise": [0.2, 1.0, 0.05], "repeats": 4})
    assert {each.key for each in few.cells} < {each.key for each in many.cells}
    assert seeds(few).items() <= seeds(many).items()
    other_seed = study(study={"noise": [0.05, 0.2], "repeats": 2}, seed=1)
    assert not {each.key for each in few.cells} & {each.key for each in other_seed.cells}


def test_every_repeat_is_a_person_of_the_population_and_controls_come_first():
    population = {"brain.cnr": [0.3, 0.8], "brain.similarity": [0.5, 0.9]}
    mine = study(
        population=population,
        vary={"timing.isi": [5.0, 7.0]},
        study={"noise": [0.1, 0.5], "repeats": 3},
        learners=BLIND,
        controls=(SILENCED,),
    )
    values = {each.repeat: set() for each in mine.cells}
    for cell in mine.cells:
        brain = cell.protocol.brain
        assert cell.protocol.population == {}
        assert brain.noise == cell.setting.noise
        values[cell.repeat].add(brain.cnr)
        silenced = cell.entries[0].control == SILENCED
        assert brain.similarity == 0 if silenced else 0.5 <= brain.similarity <= 0.9
    assert [len(each) for each in values.values()] == [1, 1, 1]
    assert len(set.union(*values.values())) == 3
    assert Study.read(mine.document()).cells[0].key == mine.cells[0].key


def test_what_is_drawn_for_each_person_is_not_varied():
    drawn = {"population": {"brain.cnr": [0.3, 0.8], "brain.motion.size": [1, 2]}}
    for name, values, field in (
        ("brain.cnr", [0.5, 1.0], "brain.cnr"),
        ("brain.motion", [{"size": 1.0}], "brain.motion.size"),
    ):
        with pytest.raises(StudyError) as error:
            study(vary={name: values}, **drawn)
        expected = f"{name} cannot be varied: it is drawn for each person; leave out"
        assert str(error.value) == f"{expected} population.{field}"
    with pytest.raises(StudyError, match="brain.noise is set by the noise levels of a study"):
        study(population={"brain.noise": [0.5, 1.0]})
    two = study(vary={"population.brain.cnr": [[0.3, 0.4], [0.5, 0.6]]}, study={"repeats": 1})
    weak, strong = (each.protocol.brain.cnr for each in two.cells)
    assert 0.3 <= weak <= 0.4 and strong == pytest.approx(weak + 0.2)


MATTERS = [
    {"task": {"options": [7, 8, "nine"]}},
    {"task": {"trials": 25}},
    {"task": {"trials_per_run": 11}},
    {"task": {"events": ["imagination", "judgment"]}},
    {"task": {"catch": {"share": 0.1}}},
    {"human": {"judgment_lapse": 0.1}},
    {"brain": {"similarity": 0.5}},
    {"brain": {"region": {"size": 3}}},
    {"brain": {"region": {"center": [15, 41, 30]}}},
    {"brain": {"noise_sources": {"drift": False}}},
    {"brain": {"motion": {"spikes_per_minute": 1.0}}},
    {"brain": {"cnr": 0.51}},
    {"study": {"noise": [0.0500001]}},
    {"timing": {"isi": 7.5}},
    {"timing": {"decision": 6.0}},
    {"feedback": {"judgment": 0.4}},
    {"recording": "separate"},
    {"estimate": "frame"},
    {"agent": {"policy": "epsilon-greedy"}},
    {"agent": {"epsilon": 0.3}},
    {"evaluation": {"test_trials": 13}},
    {"seed": 1},
    {"learners": ["cb"]},
    {"learners": ["ceiling", "cb"]},
    {"controls": (PERMUTED,)},
    {"controls": (MEAN_REMOVED,)},
]


def test_key_changes_with_all_that_matters():
    keys = [key(), *(key(**each) for each in MATTERS)]
    same = [each for each, found in zip(MATTERS, keys[1:], strict=True) if keys.count(found) > 1]
    assert same == []


def test_key_does_not_change_with_what_changes_nothing():
    for changes in (
        {"name": "another"},
        {"description": "something else"},
        {"study": {"repeats": 7}},
        {"study": {"noise": [0.05, 0.1]}},
        {"brain": {"noise": 0.7}},
        {"controls": (SILENCED,)},
        {"vary": {"timing.isi": [7.0, 8.0]}},
    ):
        assert key(**changes) == key(), changes


def test_key_changes_with_the_version(monkeypatch):
    before = key()
    monkeypatch.setattr(module, "__version__", "99.0")
    assert key() != before


def test_key_changes_with_the_content_of_the_mask_and_not_with_its_name(tmp_path):
    def of(name: str, **where) -> Cell:
        write_mask(tmp_path / name, **where)
        mine = tiny(brain={"region": {"shape": "mask", "file": name}})
        return Study(mine, str(tmp_path)).cells[0]

    before = of("mask.nii.gz")
    assert of("mask.nii.gz").key == before.key
    assert of("mask.nii.gz", size=3).key != before.key
    moved = of("mask.nii.gz", at=(15, 41, 30))
    assert moved.key != before.key
    assert moved.protocol == before.protocol


def test_key_is_of_the_parameters_of_learners():
    (learner,) = study(learners=["ai_igl"]).cells[0].identity["learners"]
    assert learner["learner"] == "ai_igl" and learner["control"] is None
    assert "one_right" in learner["parameters"]


def test_fields_that_cannot_be_varied_are_refused_with_the_reason():
    for name, reason in (
        ("brain.noise", "give noise levels instead"),
        ("learners", "all learners of a protocol learn from the same sessions"),
        ("seed", "repeats have seeds of their own"),
        ("study", "it is what the study is made of"),
        ("study.repeats", "it is what the study is made of"),
        ("study.noise", "it is what the study is made of"),
        ("name", "it changes nothing"),
        ("description", "it changes nothing"),
    ):
        with pytest.raises(StudyError) as error:
            study(vary={name: [1, 2]})
        assert str(error.value).startswith(f"{name} cannot be varied: ")
        assert reason in str(error.value)


def test_values_that_cannot_be_are_refused_by_field_and_value():
    for name, value, message in (
        ("timing.isi", -3.0, "timing.isi: should be greater than or equal to 0, got -3.0"),
        ("timing.iso", 3.0, "timing.iso: unknown key; did you mean 'isi'?"),
        ("task.trials", 2.5, "task.trials: should be a whole number, got 2.5"),
        ("recording", "shred", "recording: should be 'shared' or 'separate', got 'shred'"),
        ("task.options", [1, 1], "task.options: should all differ"),
        ("brain.region.center", [0, 0, 0], "brain.region.center: "),
        ("brain.subject", "nobody", "brain.subject: "),
        ("brain.region", {"shape": "mask", "file": "no.nii"}, "brain.region.file: "),
    ):
        with pytest.raises(StudyError) as error:
            study(vary={name: [value]})
        assert f"with {name}={value}, brain.noise=0.05: {message}" in str(error.value)


def test_one_wrong_value_among_right_ones_is_found():
    with pytest.raises(StudyError, match="with timing.isi=-1.0, brain.noise=0.05"):
        study(vary={"timing.isi": [7.0, -1.0, 8.0]})


def test_policies_that_a_study_does_not_have_are_refused():
    fixed = {"agent": {"policy": "fixed"}}
    for arguments in (fixed, {"vary": {"agent.policy": ["uniform", "fixed"]}}):
        with pytest.raises(StudyError, match="agent.policy is fixed: a study has no saved policy"):
            study(**arguments)


def test_unknown_control_is_refused_with_the_nearest():
    with pytest.raises(
        StudyError, match="unknown control 'reward permuted'; did you mean 'rewards"
    ):
        study(controls=("reward permuted",))


def test_protocol_of_a_cell_is_whole():
    cell = study(learners=BLIND, controls=(SILENCED,)).cells[1]
    assert Protocol.model_validate(cell.protocol.model_dump()) == cell.protocol
