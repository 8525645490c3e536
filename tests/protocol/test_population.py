"""How people differ: what is drawn, and what cannot be."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from bciigl.protocol import Protocol, draw, load
from bciigl.protocol.design_checks import advice
from bciigl.protocol.population import Lognormal, Normal, Uniform, person_values
from bciigl.protocol.validation import validate

MINIMAL = {"name": "x", "task": {"options": [7, 8, 9]}}
PEOPLE = {
    "brain.cnr": {"median": 0.5, "spread": 1.5},
    "brain.motion.spikes_per_minute": [0, 2],
    "human.judgment_lapse": {"mean": 0.1, "sd": 0.1, "low": 0},
}


def of(population: dict, seed: int = 0, **further) -> Protocol:
    return Protocol(**MINIMAL, population=population, seed=seed, **further)


def drawn(population: dict, seed: int = 0) -> dict[str, float]:
    protocol = of(population, seed)
    return person_values(draw(protocol), protocol.population)


def test_a_person_is_a_plain_protocol_with_values_of_four_digits():
    protocol = of(PEOPLE, description="A task.")
    person = draw(protocol)
    assert person.population == {}
    assert Protocol.model_validate(person.model_dump()) == person
    values = person_values(person, protocol.population)
    assert values == {
        "brain.cnr": person.brain.cnr,
        "brain.motion.spikes_per_minute": person.brain.motion.spikes_per_minute,
        "human.judgment_lapse": person.human.judgment_lapse,
    }
    for name, value in values.items():
        assert value == float(f"{value:.4g}")
        assert f"{name} {value:g}" in person.description
    assert person.description.startswith("A task. A person drawn from a population: brain.cnr ")
    # All else is the same.
    same = {"population", "description", "brain", "human"}
    assert person.model_dump(exclude=same) == protocol.model_dump(exclude=same)
    assert draw(person) is person


def test_a_description_never_grows_too_long():
    person = draw(of(PEOPLE, description="x" * 1990))
    assert Protocol.model_validate(person.model_dump()).description == "x" * 1990


def test_the_seed_decides_who_is_drawn_and_other_fields_do_not():
    assert drawn(PEOPLE, 1) == drawn(PEOPLE, 1)
    assert not set(drawn(PEOPLE, 1).values()) & set(drawn(PEOPLE, 2).values())
    for name, each in PEOPLE.items():
        assert drawn({name: each}, 1) == {name: drawn(PEOPLE, 1)[name]}
    # Fields are independent, and the same share of another distribution is drawn.
    low, high = (drawn({"brain.cnr": each}, 1)["brain.cnr"] for each in ([1, 2], [2, 4]))
    assert high == pytest.approx(2 * low, rel=1e-3)  # four digits
    shares = drawn({"human.judgment_lapse": [0, 0.4], "human.imagination_lapse": [0, 0.4]})
    assert len(set(shares.values())) == 2


def test_people_are_distributed_as_told():
    shares = np.linspace(0.01, 0.99, 9)
    for distribution, expected in (
        (Uniform(low=-1, high=3), stats.uniform(-1, 4)),
        (Normal(mean=1, sd=2), stats.truncnorm(-2, 2, 1, 2)),
        (Normal(mean=1, sd=2, low=1, high=4), stats.truncnorm(0, 1.5, 1, 2)),
    ):
        found = [distribution.quantile(share) for share in shares]
        np.testing.assert_allclose(found, expected.ppf(shares), atol=1e-9)
    skewed = Lognormal(median=0.5, spread=1.5, high=0.75)
    found = [math.log(skewed.quantile(share) / 0.5) / math.log(1.5) for share in shares]
    np.testing.assert_allclose(found, stats.truncnorm(-2, 1).ppf(shares), atol=1e-9)
    # 400 seeds; a mean is off by four standard errors once in 16 000 times.
    values = [drawn({"brain.cnr": [1, 2]}, seed)["brain.cnr"] for seed in range(400)]
    assert abs(np.mean(values) - 1.5) < 4 * math.sqrt(1 / 12 / 400)
    assert stats.kstest(values, stats.uniform(1, 1).cdf).pvalue > 0.001


def test_rounding_does_not_lead_beyond_the_bounds():
    narrow = {"human.judgment_lapse": [0.499998, 0.499999]}
    for seed in range(5):
        (value,) = drawn(narrow, seed).values()
        assert 0.499998 <= value <= 0.499999


def test_a_protocol_without_a_population_is_as_before_there_were_any():
    protocol = Protocol(**MINIMAL)
    assert draw(protocol) is protocol
    assert of({}).content_hash == protocol.content_hash
    assert of(PEOPLE).content_hash != protocol.content_hash
    both = of({"brain.cnr": [1, 2]}), of({"brain.cnr": {"low": 1.0, "high": 2.0}})
    assert both[0].content_hash == both[1].content_hash
    assert Protocol.model_validate(json.loads(both[0].model_dump_json())) == both[0]


REFUSED = [
    ("brain.crn", [1, 2], "", "unknown field; did you mean 'brain.cnr'?"),
    ("brain.engine", [1, 2], "", "is not a number in which people can differ; these are human."),
    ("brain.reuse", [0, 1], "", "is not a number in which people can differ"),
    ("brain.region.size", [1, 2], "", "is not a number in which people can differ"),
    ("timing.isi", [3, 4], "", "is not a number in which people can differ"),
    ("brain.cnr", [0.5, 0.5], "", "low should be less than high, got 0.5 and 0.5"),
    ("brain.cnr", [-0.1, 1], "", "low is -0.1, but brain.cnr is above 0 to 100; raise low"),
    ("brain.cnr", [0, 1], "", "low is 0, but brain.cnr is above 0 to 100; raise low"),
    ("brain.similarity", [0, 1.1], "", "high is 1.1, but brain.similarity is -1 to 1; lower high"),
    ("human.judgment_lapse", [0, 0.5], "", "high is 0.5, but human.judgment_lapse is 0 to below"),
    ("brain.hrf_undershoot", {"mean": 1, "sd": 1}, "", "below the mean is -1, but brain.hrf"),
    ("brain.similarity", {"mean": 0.9, "sd": 0.2}, "", "is -1 to 1; add high within that"),
    ("brain.cnr", {"median": 1, "sd": 1}, "", "have mean and sd, or median and spread, got"),
    ("brain.cnr", {"mean": 1, "sd": 0.1, "low": 2, "high": 3}, "", "mean should be between low (2"),
    ("brain.cnr", {"median": 1, "spread": 2, "high": 0.9}, "", "median should be between low (0.2"),
    ("brain.cnr", {"mean": 1, "sd": 0}, ".sd", "should be greater than 0, got 0"),
    ("brain.cnr", {"mean": 1}, ".sd", "is required"),
    ("brain.cnr", {"median": 1, "spread": 1}, ".spread", "should be greater than 1, got 1"),
    ("brain.cnr", {"mean": 1, "sd": 0.1, "lwo": 0.9}, ".lwo", "unknown key; did you mean 'low'?"),
    ("brain.cnr", [0.1, "a"], ".high", "should be a number, got 'a'"),
    ("brain.cnr", [0.1, 1000], ".high", "should be less than or equal to 100, got 1000"),
    ("brain.cnr", 0.5, "", "should be a range such as [0.3, 0.8], or have mean and sd, or median"),
    ("brain.cnr", [1, 2, 3], "", "should be a range such as [0.3, 0.8]"),
    ("brain", {"cnr": [1, 2]}, "", "write fields in full, such as brain.cnr"),
]


def test_what_cannot_be_drawn_is_refused_with_its_place_and_remedy():
    for name, distribution, within, message in REFUSED:
        _, findings = validate({**MINIMAL, "population": {name: distribution}})
        assert len(findings) == 1, (name, distribution, findings)
        assert ".".join(findings[0].path) == f"population.{name}{within}"
        assert message in findings[0].message, findings[0].message


def test_all_problems_of_a_population_are_told_at_once():
    population = {"brain.cnr": [0.1, "a"], "brain.similarity": {"mean": 0}, "brain.noise": [2, 1]}
    _, findings = validate({**MINIMAL, "population": population})
    assert [".".join(each.path) for each in findings] == [
        "population.brain.cnr.high",
        "population.brain.similarity.sd",
        "population.brain.noise",
    ]


def test_a_value_that_is_drawn_anyway_gets_a_warning():
    population = {"brain.cnr": [0.3, 0.8]}
    (finding,) = advice(of(population, brain={"cnr": 0.7}))
    assert finding.path == ("brain", "cnr")
    assert finding.message == "0.7 is not used: people's values are drawn (population)"
    assert not advice(of(population))


def test_changes_reach_distributions_by_the_name_of_their_field():
    changes = {"population.brain.cnr": [0.4, 0.6], "population.human.judgment_lapse": [0, 0.2]}
    population = load("population", changes=changes).population
    assert population["brain.cnr"] == Uniform(low=0.4, high=0.6)
    assert population["human.judgment_lapse"] == Uniform(low=0, high=0.2)
    assert "brain.hrf_delay" in population
