"""In what protocols differ."""

import pytest
from recordings import small

from bciigl.protocol.summary import first_difference


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"seed": 5}, ("seed", 0, 5)),
        ({"timing": {"isi": 8.0}}, ("timing.isi", 7.0, 8.0)),
        ({"timing": {"decision": 7.0}}, ("timing.decision", None, 7.0)),
        ({"task": {"catch": {"share": 0.2}}}, ("task.catch.share", 0.0, 0.2)),
        ({"task": {"options": ["a", "b", "d"]}}, ("task.options", list("abc"), list("abd"))),
        ({"brain": {"region": {"shape": "sphere"}}}, ("brain.region.shape", "cube", "sphere")),
        # The first of them, in the order of the file.
        ({"seed": 1, "brain": {"cnr": 1.0}, "estimate": "frame"}, ("brain.cnr", 0.5, 1.0)),
    ],
)
def test_the_first_field_that_differs_is_named_with_both_values(changes, expected):
    assert first_difference(small(), small(**changes)) == expected
    name, ours, theirs = first_difference(small(**changes), small())
    assert (name, theirs, ours) == expected


def test_field_that_only_the_other_has_is_a_difference():
    cube, sphere = small(), small(brain={"region": {"shape": "sphere", "radius": 4.0}})
    alike = cube.model_copy(
        update={"brain": cube.brain.model_copy(update={"region": sphere.brain.region})}
    )
    assert first_difference(alike, sphere) is None
    fields = {first_difference(cube, sphere)[0], first_difference(sphere, cube)[0]}
    assert fields == {"brain.region.shape"}


def test_same_protocols_do_not_differ_however_they_are_written():
    assert first_difference(small(), small(timing={"isi": 7})) is None
    assert first_difference(small(), small(agent={}, brain={"region": {"shape": "cube"}})) is None
