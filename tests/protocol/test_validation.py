"""Errors in a user's words."""

from bciigl.protocol.validation import validate

NO_UNITS = "should be a number, got '7 s'; write it without quotes and units"
NOT_MM = (
    "should be greater than or equal to 0, got -38; a center is three voxel indices; "
    "for mm write mni: [x, y, z] in its place"
)
HALF = "should be text without half characters, got '\\ud800'"
MINIMAL = {"name": "x", "task": {"options": [7, 8, 9]}}


def told(**sections) -> list[tuple[str, str]]:
    _, findings = validate({**MINIMAL, **sections})
    return [(".".join(map(str, each.path)), each.message) for each in findings]


def test_each_kind_of_error():
    for section, value, path, message in [
        ("timing", {"isi": -3}, "timing.isi", "should be greater than or equal to 0, got -3"),
        ("timing", {"isi": "x"}, "timing.isi", "should be a number, got 'x'"),
        ("timing", {"isi": float("nan")}, "timing.isi", "should be a finite number, got nan"),
        ("timing", {"isi": "7 s"}, "timing.isi", NO_UNITS),
        ("timing", {"isi": None}, "timing.isi", "should be a number, got null"),
        ("timing", {"tr": 1500}, "timing.tr", "should be less than or equal to 10, got 1500 (s)"),
        ("timing", {"iso": 3}, "timing.iso", "unknown key; did you mean 'isi'?"),
        ("timing", {"trials": 3}, "timing.trials", "unknown key; did you mean 'task.trials'?"),
        ("trials", 3, "trials", "unknown key; did you mean 'task.trials'?"),
        ("timing", 3, "timing", "should hold keys and values, got 3"),
        ("name", 12, "name", "should be text, got 12; put it in quotes"),
        ("seed", 1.5, "seed", "should be a whole number, got 1.5"),
        ("learners", "cb", "learners", "should be a list, got 'cb'"),
        ("learners", [], "learners", "should have at least 1 items, got 0"),
        ("learners", ["cb"] * 21, "learners", "should have at most 20 items, got 21"),
        ("description", "\ud800", "description", HALF),
        ("task", {}, "task.options", "is required"),
        ("brain", {"region": {"center": [-38, 47, 45]}}, "brain.region.center.0", NOT_MM),
    ]:
        assert told(**{section: value}) == [(path, message)]


def test_choices_are_listed_with_the_nearest():
    ((path, message),) = told(agent={"policy": "unifrm"})
    assert path == "agent.policy"
    assert "'epsilon-greedy'" in message
    assert message.endswith("did you mean 'uniform'?")


def test_key_that_is_like_no_other_gets_the_known_ones():
    ((_, message),) = told(feedback={"zzz": 1})
    assert message == "unknown key; known here: perception, judgment"


def test_patterns_are_explained():
    assert "letters, digits" in told(name="a b")[0][1]
    assert "control characters" in told(description="\a")[0][1]


def test_region_errors_name_the_field_and_not_the_kind():
    assert told(brain={"region": {"size": 0}})[0][0] == "brain.region.size"
    assert told(brain={"region": {"shape": "sphere", "size": 3}}) == [
        ("brain.region.size", "does not go with this shape of region")
    ]
    assert told(brain={"region": {"cube": 3}})[0][0] == "brain.region.cube"
    assert told(brain={"region": {"shape": "spere"}}) == [
        (
            "brain.region.shape",
            "should be 'cube', 'sphere', 'mask' or 'atlas', got 'spere'; did you mean 'sphere'?",
        )
    ]
    assert told(brain={"region": {"center": [1, 2, 3], "mni": [1, 2, 3]}}) == [
        (
            "brain.region.mni",
            "should not be given beside center: both are the region's centre, got (1.0, 2.0, 3.0)",
        )
    ]
    assert told(brain={"region": "cube"}) == [
        ("brain.region", "should hold keys and values, such as shape: cube, got 'cube'")
    ]


def test_a_wrong_item_does_not_make_its_list_too_short():
    assert [path for path, _ in told(study={"noise": [-1.0]})] == ["study.noise.0"]


def test_science_is_judged_although_a_field_is_wrong():
    two = {"options": ["a", "b"], "catch": {"share": 0.2, "match_rate": 0.5}}
    found = told(task=two, timing={"isi": -3})
    assert [path for path, _ in found] == ["timing.isi", "task.catch.match_rate"]
    found = told(name=12, task=two)
    assert [path for path, _ in found] == ["name", "task.catch.match_rate"]
    found = told(task={"options": ["a", 1.5, "b"]}, timing={"decision": 15.0})
    assert [path for path, _ in found] == ["task.options.1", "timing.decision"]


def test_science_that_depends_on_a_wrong_field_waits():
    # with the default isi, a decision at 15 s is too late; but the isi may be meant longer
    assert [path for path, _ in told(timing={"isi": "20", "decision": 15.0})] == ["timing.isi"]
    long = {"options": [7, 8, 9], "trials": "9999", "trials_per_run": 9999}
    found = told(task=long, evaluation={"test_trials": 9999})
    assert [path for path, _ in found] == ["task.trials"]
    options = {"options": ["a", "b"], "catch": {"share": "some"}}
    assert [path for path, _ in told(task=options)] == ["task.catch.share"]


def test_text_is_no_protocol():
    assert "should hold keys" in validate("hello")[1][0].message
