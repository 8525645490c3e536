"""The model of an experiment."""

import warnings

import pytest
from pydantic import BaseModel, ValidationError
from strategies import leaves

from bciigl.protocol import Protocol, shipped
from bciigl.protocol.model import Atlas, Cube, Estimate, Mask, Sphere
from bciigl.protocol.schedule import parse_interval
from bciigl.protocol.schema import field_range

MINIMAL = {"name": "x", "task": {"options": [7, 8, 9]}}


def sections(model: type[BaseModel]) -> list[type[BaseModel]]:
    found = [model]
    for field in model.model_fields.values():
        if hasattr(field.annotation, "model_fields"):
            found += sections(field.annotation)
    return found


ALL = [*sections(Protocol), Cube, Sphere, Mask, Atlas]


def test_all_but_names_and_options_have_a_default():
    required = {
        (model.__name__, name)
        for model in ALL
        for name, field in model.model_fields.items()
        if field.is_required()
    }
    # task holds options, and so has no default of its own
    experiment = {("Protocol", "name"), ("Protocol", "task"), ("Task", "options")}
    assert required == {*experiment, ("Atlas", "label")}


def test_every_field_has_a_unit_a_range_and_one_line():
    for path, field in leaves():
        assert field["unit"], path
        assert field["description"], path
        assert "\n" not in field["description"]
        known = field.get("type") == "boolean" or "const" in field or "anyOf" in field
        assert field_range(field) or known, path


def test_a_word_stands_for_the_method_of_estimates():
    for given in ("frame", {"method": "frame"}, Estimate(method="frame")):
        protocol = Protocol(**MINIMAL, estimate=given)
        assert protocol.estimate == Estimate(method="frame", hrf="individual", normalise=True)
    with pytest.raises(ValidationError, match="estimate.method"):
        Protocol(**MINIMAL, estimate="fram")


def test_an_agent_learns_again_after_runs_or_trials():
    known = {1: (1, "runs"), "1 run": (1, "runs"), "20 runs": (20, "runs")}
    known |= {"1 trial": (1, "trials"), "10 trials": (10, "trials")}
    for given, expected in known.items():
        agent = Protocol(**MINIMAL, agent={"learn_every": given}).agent
        assert parse_interval(agent.learn_every) == expected
    for given in (
        0,
        -1,
        True,
        1.0,
        "10",
        "trials",
        "0 trials",
        "1.5 runs",
        "10  runs",
        20_000,
        None,
    ):
        with pytest.raises(ValidationError, match="runs from 1, or text such as '2 runs'"):
            Protocol(**MINIMAL, agent={"learn_every": given})


def test_protocols_cannot_be_changed():
    protocol = Protocol.model_validate(MINIMAL)
    with pytest.raises(ValidationError):
        protocol.seed = 3
    with pytest.raises(ValidationError):
        protocol.timing.isi = 3.0
    assert isinstance(protocol.task.options, tuple)


def test_a_protocol_is_built_from_python_as_from_a_file():
    protocol = Protocol(name="x", task={"options": (7, 8, 9)}, brain={"region": Sphere(radius=5.0)})
    assert protocol.brain.region.radius == 5
    assert Protocol.model_validate(protocol.model_dump()) == protocol


def test_a_region_without_a_shape_is_a_cube():
    protocol = Protocol.model_validate({**MINIMAL, "brain": {"region": {"size": 5}}})
    assert protocol.brain.region == Cube(size=5)


def test_a_centre_is_written_in_voxels_or_in_mm():
    for region in (Cube(), Cube(mni=(-38, -47, 45)), Sphere(mni=[0.5, 0, 0]), Atlas(label=7)):
        protocol = Protocol(**MINIMAL, brain={"region": region})
        assert Protocol.model_validate(protocol.model_dump(mode="json")) == protocol
    # so that protocols without mm have the hash they had before there were any
    assert set(Cube().model_dump()) == {"shape", "center", "size"}
    assert set(Cube(mni=(-38, -47, 45)).model_dump()) == {"shape", "mni", "size"}


def test_wrong_values_are_refused():
    for section, value in [
        ("task", {"options": [7, "7", 8]}),
        ("task", {"options": [7, 8, True]}),
        ("task", {"options": [7, 8, 1.5]}),
        ("task", {"options": [7, 8, " padded"]}),
        ("task", {"options": [7, 8, "bell\a"]}),
        ("task", {"options": [7, 8, ""]}),
        ("task", {"options": [7, 8, "x" * 41]}),
        ("task", {"options": [7, 8, 10**9]}),
        ("task", {"options": [7]}),
        ("brain", {"region": {"shape": "atlas", "label": 0}}),
        ("brain", {"region": {"shape": "atlas", "label": True}}),
        ("brain", {"region": {"shape": "atlas"}}),
        ("study", {"noise": [0.1, 0.1]}),
        ("learners", ["ai_igl", "ai_igl"]),
        ("timing", {"isi": "7"}),
        ("seed", True),
    ]:
        with pytest.raises(ValidationError):
            pytest.fail(f"{value}: {Protocol.model_validate({**MINIMAL, section: value})}")


def test_hash_depends_on_every_field():
    def changed(part: BaseModel, path: tuple) -> BaseModel:
        value = changed(getattr(part, path[0]), path[1:]) if path[1:] else 12345
        return part.model_copy(update={path[0]: value})

    protocol = Protocol.model_validate(MINIMAL)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # 12345 is not of every field's type
        for path, _ in leaves():
            assert changed(protocol, path).content_hash != protocol.content_hash, path


def test_equal_protocols_have_equal_hashes():
    negative = Protocol.model_validate({**MINIMAL, "timing": {"latency": -0.0}})
    assert negative == Protocol.model_validate(MINIMAL)
    assert negative.content_hash == Protocol.model_validate(MINIMAL).content_hash


def test_hash_is_the_same_for_a_default_left_out_or_written():
    written = Protocol.model_validate({**MINIMAL, "timing": {"isi": 7, "tr": 1.5}})
    assert written.content_hash == Protocol.model_validate(MINIMAL).content_hash


def test_the_paper_s_task_is_the_default_one():
    from bciigl.protocol import load

    protocol = load("number_guessing")
    assert protocol.task.options == (7, 8, 9)
    assert protocol.task.trials == 666
    assert (protocol.timing.tr, protocol.timing.event, protocol.timing.isi) == (1.5, 2, 7)
    assert protocol.brain.region == Cube(center=(14, 41, 30), size=4)
    assert protocol.evaluation.test_trials == 460
    assert set(shipped()) >= {"number_guessing", "table2", "gaze_typing"}
