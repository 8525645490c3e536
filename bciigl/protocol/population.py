"""How people differ: distributions of numbers of a protocol, and a person drawn from them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from operator import attrgetter
from statistics import NormalDist
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Discriminator, Field, Tag

from bciigl.base.errors import did_you_mean
from bciigl.base.seeds import Seed
from bciigl.protocol.design_checks import FieldPath, Finding

if TYPE_CHECKING:
    from bciigl.protocol.model import Protocol

LONGEST_DESCRIPTION = 2000
_CUT = 2.0  # SDs, beyond which nobody is drawn unless low and high are given
_LOW = Field(None, description="nobody is below it; null: 2 SDs below the middle")
_HIGH = Field(None, description="nobody is above it; null: 2 SDs above the middle")

Number = Annotated[float, Field(ge=-100, le=100)]
Positive = Annotated[float, Field(gt=0, le=100)]


class _Distribution(BaseModel):
    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


class Uniform(_Distribution):
    """All values from low to high are equally likely; ``[low, high]`` for short."""

    low: Number = Field(description="the lowest value")
    high: Number = Field(description="the highest value")

    @property
    def middle(self) -> float:
        """Half-way between low and high."""
        return (self.low + self.high) / 2

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest value that can be drawn."""
        return self.low, self.high

    def quantile(self, share: float) -> float:
        """Return the value below which this share of people is."""
        return self.low + share * (self.high - self.low)

    def __str__(self) -> str:
        """Return it in words."""
        return f"{self.low:g} to {self.high:g}, uniform"


class Normal(_Distribution):
    """A normal distribution, cut off at low and high."""

    mean: Number = Field(description="the mean before it is cut off")
    sd: Positive = Field(description="the SD before it is cut off")
    low: Number | None = _LOW
    high: Number | None = _HIGH

    @property
    def middle(self) -> float:
        """Its mean."""
        return self.mean

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest value that can be drawn."""
        low = self.mean - _CUT * self.sd if self.low is None else self.low
        return low, self.mean + _CUT * self.sd if self.high is None else self.high

    def quantile(self, share: float) -> float:
        """Return the value below which this share of people is."""
        return _cut_normal(NormalDist(self.mean, self.sd), *self.bounds, share)

    def __str__(self) -> str:
        """Return it in words."""
        low, high = self.bounds
        return f"{low:g} to {high:g}, normal with mean {self.mean:g} and SD {self.sd:g}"


class Lognormal(_Distribution):
    """A lognormal distribution, cut off at low and high: skewed, and never below 0."""

    median: Positive = Field(description="half of the people are below it")
    spread: Annotated[float, Field(gt=1, le=10)] = Field(
        description="two thirds of the people are within this factor of the median"
    )
    low: Positive | None = _LOW
    high: Positive | None = _HIGH

    @property
    def middle(self) -> float:
        """Its median."""
        return self.median

    @property
    def bounds(self) -> tuple[float, float]:
        """The lowest and the highest value that can be drawn."""
        low = self.median / self.spread**_CUT if self.low is None else self.low
        return low, self.median * self.spread**_CUT if self.high is None else self.high

    def quantile(self, share: float) -> float:
        """Return the value below which this share of people is."""
        law = NormalDist(math.log(self.median), math.log(self.spread))
        low, high = map(math.log, self.bounds)
        return math.exp(_cut_normal(law, low, high, share))

    def __str__(self) -> str:
        """Return it in words."""
        low, high = self.bounds
        law = f"lognormal with median {self.median:g} and spread {self.spread:g}"
        return f"{low:.4g} to {high:.4g}, {law}"


def _cut_normal(law: NormalDist, low: float, high: float, share: float) -> float:
    below = law.cdf(low) + share * (law.cdf(high) - law.cdf(low))
    return law.inv_cdf(min(max(below, 1e-12), 1 - 1e-12))


_FORMS: dict[str, type[_Distribution]] = {
    "uniform": Uniform,
    "normal": Normal,
    "lognormal": Lognormal,
}
KEYS = tuple({key: None for form in _FORMS.values() for key in form.model_fields})
"""What the sections of all kinds of distribution can have."""


def _in_full(value: Any) -> Any:
    pair = isinstance(value, (list, tuple)) and len(value) == 2
    return dict(zip(("low", "high"), value, strict=True)) if pair else value


def _form(value: Any) -> str | None:
    if isinstance(value, _Distribution):
        return next(name for name, form in _FORMS.items() if type(value) is form)
    if not isinstance(value, dict) or not value.keys() & set(KEYS):
        return None
    normal, lognormal = ({"mean", "sd"} & value.keys(), {"median", "spread"} & value.keys())
    if normal and lognormal:
        return None
    return "normal" if normal else "lognormal" if lognormal else "uniform"


Distribution = Annotated[
    Annotated[
        Annotated[Uniform, Tag("uniform")]
        | Annotated[Normal, Tag("normal")]
        | Annotated[Lognormal, Tag("lognormal")],
        Discriminator(
            _form,
            custom_error_type="distribution",
            custom_error_message="should be a range such as [0.3, 0.8], or have mean and sd, "
            "or median and spread",
        ),
    ],
    BeforeValidator(_in_full),
]
Population = dict[str, Distribution]
"""Distributions by field, such as ``{"brain.cnr": Uniform(low=0.3, high=0.8)}``."""


def draw(protocol: Protocol) -> Protocol:
    """Return the protocol of one person of its population, drawn by its seed.

    Each field has a random stream of its own: what is drawn of it depends on the seed alone, not on
    what else is in the population. Values have four digits.

    Parameters
    ----------
    protocol : Protocol

    Returns
    -------
    Protocol
        It has the person's values, an empty population, and a description that names the values.
        Without a population it is the protocol as given.

    Examples
    --------
    >>> from bciigl.protocol import draw, load
    >>> people = [draw(load("population", changes={"seed": seed})) for seed in (1, 2)]
    >>> [person.brain.cnr for person in people]
    [0.7805, 0.5115]
    """
    if not protocol.population:
        return protocol
    values, person = {}, protocol
    for name, distribution in protocol.population.items():
        share = Seed(protocol.seed).rng("person", name).random()
        low, high = distribution.bounds
        # Not beyond the bounds by rounding.
        value = min(max(float(f"{distribution.quantile(share):.4g}"), low), high)
        values[name] = value
        person = _with(person, name.split("."), value)
    listed = ", ".join(f"{name} {value:g}" for name, value in values.items())
    said = f"{protocol.description} A person drawn from a population: {listed}.".strip()
    kept = said if len(said) <= LONGEST_DESCRIPTION else protocol.description
    return person.model_copy(update={"population": {}, "description": kept})


def person_values(protocol: Protocol, population: Population) -> dict[str, float]:
    """Return the values that a protocol has in the fields of a population."""
    return {name: attrgetter(name)(protocol) for name in population}


def _with(section: Any, path: list[str], value: Any) -> Any:
    """Return a section in which the field at `path` has another value."""
    first, *rest = path
    value = _with(getattr(section, first), rest, value) if rest else value
    return section.model_copy(update={first: value})


def population_findings(protocol: Protocol) -> Iterator[Finding]:
    """Yield which distributions of a protocol's population cannot be drawn from."""
    from bciigl.protocol.schema import differing_fields, fields  # which need the protocol's model

    known = differing_fields()
    for name, distribution in protocol.population.items():
        path: FieldPath = ("population", name)
        if name in known:
            if problem := _problem(name, known[name], distribution):
                yield Finding(path, problem)
        elif tuple(name.split(".")) in fields():
            listed = ", ".join(known)
            yield Finding(path, f"is not a number in which people can differ; these are {listed}")
        else:
            near = did_you_mean(name, known) or f"; known are {', '.join(known)}"
            yield Finding(path, f"unknown field{near}")


def _problem(name: str, field: dict[str, Any], distribution: Uniform | Normal | Lognormal) -> str:
    """Return why no values of a field can be drawn from a distribution, or an empty text."""
    from bciigl.protocol.schema import field_range

    low, high = distribution.bounds
    if not low < high:
        return f"low should be less than high, got {low:g} and {high:g}"
    if not low <= distribution.middle <= high:
        middle = "mean" if isinstance(distribution, Normal) else "median"
        between = f"between low ({low:g}) and high ({high:g})"
        return f"{middle} should be {between}, got {distribution.middle:g}"
    above, below = field.get("exclusiveMinimum", -math.inf), field.get("exclusiveMaximum", math.inf)
    within = f"but {name} is {field_range(field)}"
    if low < field.get("minimum", -math.inf) or low <= above:
        end = "low", "below", f"{low:g}, {within}", "raise"
    elif high > field.get("maximum", math.inf) or high >= below:
        end = "high", "above", f"{high:g}, {within}", "lower"
    else:
        return ""
    key, side, why, change = end
    if getattr(distribution, key) is not None:
        return f"leaves the field's range: {key} is {why}; {change} {key}"
    middle = "mean" if isinstance(distribution, Normal) else "median"
    return f"leaves the field's range: 2 SDs {side} the {middle} is {why}; add {key} within that"
