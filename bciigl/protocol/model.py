"""The experiment as frozen models: every field with unit, range, default and a line of why."""

import hashlib
import json
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    PlainValidator,
    SerializerFunctionWrapHandler,
    Tag,
    ValidationError,
    WithJsonSchema,
    model_serializer,
    model_validator,
)
from pydantic_core import InitErrorDetails, PydanticCustomError, PydanticKnownError, core_schema

from bciigl.base.errors import BciiglError
from bciigl.base.html import facts_html, facts_text
from bciigl.base.registry import AGENTS, LEARNERS, SOURCES, Registry
from bciigl.protocol.design_checks import refusals
from bciigl.protocol.population import Population, population_findings
from bciigl.protocol.schedule import parse_interval
from bciigl.protocol.screen import screen_findings

EventKind = Literal["imagination", "perception", "judgment"]


@dataclass
class _Installed:
    """A text that is an id of a registry; learners are not imported to check it."""

    registry: Registry

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return core_schema.no_info_after_validator_function(self._check, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        own = {"enum": list(self.registry.own_ids), "type": "string"}
        return {"anyOf": [own, {"type": "string"}]}

    def _check(self, value: str) -> str:
        if value not in self.registry.ids:
            *first, last = map(repr, self.registry.ids)
            expected = f"{', '.join(first)} or {last}"
            raise PydanticKnownError("literal_error", {"expected": expected})
        return value


def field(default: Any, unit: str, description: str, **limits: Any) -> Any:
    """Return a pydantic field that also states its unit."""
    return Field(default, description=description, json_schema_extra={"unit": unit}, **limits)


def _different(values: tuple) -> tuple:
    texts = [str(value) for value in values]
    if twice := ", ".join(sorted({text for text in texts if texts.count(text) > 1})):
        message = "should all differ, but {twice} is there twice"
        raise PydanticCustomError("repeated", message, {"twice": twice})
    return values


def _several(least: int, most: int) -> Any:
    # Not strict: for a tuple, YAML and Python callers may give a list.
    return Field(strict=False, min_length=least, max_length=most)


def _option(value: Any) -> int | str:
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < 10**9
    word = isinstance(value, str) and 0 < len(value) <= 40
    if whole or (word and value.isprintable() and value.strip() == value):
        return value
    message = "should be a whole number or a word of 1 to 40 printable characters"
    raise PydanticCustomError("option", message)


def _interval(value: Any) -> int | str:
    try:
        parse_interval(value)
    except BciiglError as error:
        raise PydanticCustomError("interval", "{message}", {"message": str(error)}) from error
    return value


def _label(value: Any) -> int | str:
    whole = isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**31
    if whole or (isinstance(value, str) and 0 < len(value) <= 200):
        return value
    message = "should be a name in the list of labels, or a whole number from 1"
    raise PydanticCustomError("label", message)


_WHOLE = {"type": "integer", "minimum": -(10**9) + 1, "maximum": 10**9 - 1}
_WORD = {"type": "string", "minLength": 1, "maxLength": 40}
Option = Annotated[int | str, PlainValidator(_option), WithJsonSchema({"anyOf": [_WHOLE, _WORD]})]
_RUNS = {"type": "integer", "minimum": 1, "maximum": 10_000}
_COUNTED = {"type": "string", "pattern": "^[1-9][0-9]{0,3} (runs?|trials?)$"}
Interval = Annotated[
    int | str, PlainValidator(_interval), WithJsonSchema({"anyOf": [_RUNS, _COUNTED]})
]
VoxelIndex = Annotated[int, Field(ge=0, le=511)]
Voxel = Annotated[tuple[VoxelIndex, VoxelIndex, VoxelIndex], Field(strict=False)]
Coordinate = Annotated[float, Field(ge=-1000, le=1000)]
Point = Annotated[tuple[Coordinate, Coordinate, Coordinate], Field(strict=False)]
_NUMBERED = {"type": "integer", "minimum": 1, "maximum": 2**31 - 1}
_NAMED = {"type": "string", "minLength": 1, "maxLength": 200}
Label = Annotated[int | str, PlainValidator(_label), WithJsonSchema({"anyOf": [_NUMBERED, _NAMED]})]
NoiseWeight = Annotated[float, Field(ge=0, le=10)]
Share = Annotated[float, Field(ge=0, le=1)]
Lapse = Annotated[float, Field(ge=0, lt=0.5)]
Trials = Annotated[int, Field(ge=1, le=1_000_000)]
Runs = Annotated[int, Field(ge=1, le=10_000)]
_Different = AfterValidator(_different)
Options = Annotated[tuple[Option, ...], _several(2, 100), _Different]
Events = Annotated[tuple[EventKind, ...], _several(2, 3), _Different]
Learner = Annotated[str, _Installed(LEARNERS)]
Learners = Annotated[tuple[Learner, ...], _several(1, 20), _Different]
NoiseLevels = Annotated[tuple[NoiseWeight, ...], _several(1, 100), _Different]
Name = Annotated[str, Field(pattern="^[A-Za-z0-9][A-Za-z0-9_-]*$", min_length=1, max_length=64)]
File = Annotated[str, Field(min_length=1, max_length=1000)]
# Control characters other than tab and line feed do not survive a trip through YAML and a terminal.
PlainText = Annotated[str, Field(pattern=r"^[^\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]*$")]
Words = Annotated[PlainText, Field(max_length=200)]
Sentences = Annotated[PlainText, Field(max_length=2000)]
Colour = Annotated[str, Field(pattern="^#[0-9A-Fa-f]{6}$", min_length=7, max_length=7)]


class Section(BaseModel):
    """What all parts of a protocol share: frozen, strict about types, no unknown keys."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", allow_inf_nan=False)


class Catch(Section):
    """Catch trials: the imagined option is cued, so the experimenter knows the match rate."""

    share: float = field(0.0, "share of trials", "how many trials are catch trials", ge=0, le=0.9)
    match_rate: Share = field(
        0.8, "share of catch trials", "how many guesses on catch trials match the cue"
    )


class Task(Section):
    """What the person imagines and how often."""

    options: Options = field(..., "words or numbers", "what can be imagined and guessed")
    trials: Trials = field(666, "trials", "how many trials the agent learns from")
    trials_per_run: int = field(
        46, "trials", "trials recorded without pause; the last run may be shorter", ge=1, le=100_000
    )
    events: Events = field(
        ("imagination", "perception", "judgment"),
        "event kinds",
        "the events of a trial, in order; imagination comes first",
    )
    catch: Catch = Field(Catch(), description="trials whose match rate is known")


class Human(Section):
    """How reliable the person is."""

    imagination_lapse: Lapse = field(
        0.0,
        "share of trials",
        "how often another option is imagined than the one the guess is judged against",
    )
    judgment_lapse: Lapse = field(
        0.0, "share of trials", "how often a match is judged a mismatch or vice versa"
    )
    key_press: bool = field(
        False, "true or false", "judgments are given by a key, too: recorded, never told the agent"
    )


class _Centred(Section):
    """What a cube and a sphere share: a centre, in voxels or in mm."""

    shape: str
    center: Voxel = field(
        (14, 41, 30),
        "voxel index",
        "the region's centre on the subject's grid; or, in its place, mni: [x, y, z] in mm",
    )
    mni: Point | None = field(
        None,
        "mm right, anterior, superior",
        "the region's centre in MNI space (of subjects of your own: the space of their recording)",
    )

    @model_validator(mode="after")
    def _refuse_two_centres(self) -> "_Centred":
        if self.mni is not None and "center" in self.model_fields_set:
            message = "should not be given beside center: both are the region's centre"
            kind = PydanticCustomError("two_centres", message)
            problem = InitErrorDetails(type=kind, loc=("mni",), input=self.mni)
            raise ValidationError.from_exception_data("Region", [problem])
        return self

    # So that what is written can be read, and protocols without mm keep their hash.
    @model_serializer(mode="wrap")
    def _one_centre(self, handler: SerializerFunctionWrapHandler) -> dict[str, Any]:
        content = handler(self)
        del content["mni" if self.mni is None else "center"]
        return content


# Editors need to be told that only one may be given, and that without a shape a region is a cube.
_ONE_CENTRE: dict[str, Any] = {"not": {"required": ["center", "mni"]}}


class Cube(_Centred):
    """A cube of voxels."""

    model_config = ConfigDict(json_schema_extra=_ONE_CENTRE)

    shape: Literal["cube"] = field(
        "cube", "choice", "cube, sphere (radius), mask (file) or atlas (file, label)"
    )
    size: int = field(4, "voxels", "edge length of the cube", ge=1, le=20)


class Sphere(_Centred):
    """A ball of voxels."""

    model_config = ConfigDict(json_schema_extra={"required": ["shape"], **_ONE_CENTRE})

    shape: Literal["sphere"] = field("sphere", "choice", "cube, sphere, mask or atlas")
    radius: float = field(7.5, "mm", "radius of the sphere", gt=0, le=50)


class Mask(Section):
    """The voxels of a mask file."""

    model_config = ConfigDict(json_schema_extra={"required": ["shape"]})

    shape: Literal["mask"] = field("mask", "choice", "cube, sphere, mask or atlas")
    file: File = field("region.nii.gz", "path", "NIfTI file, relative to the protocol")


class Atlas(Section):
    """The voxels of one label of an atlas."""

    model_config = ConfigDict(json_schema_extra={"required": ["shape", "label"]})

    shape: Literal["atlas"] = field("atlas", "choice", "cube, sphere, mask or atlas")
    file: File = field("atlas.nii.gz", "path", "NIfTI file, relative to the protocol")
    labels: File | None = field(
        None,
        "path",
        "names of the labels (TSV with index and name, or lines of index, name and colours); null: "
        "the .tsv or .txt beside the file",
    )
    label: Label = field(..., "name or number", "which label of the atlas is recorded")


def _shape(region: Any) -> Any:
    if isinstance(region, dict):
        return region.get("shape", "cube")
    return getattr(region, "shape", None)


Region = Annotated[
    Annotated[Cube, Tag("cube")]
    | Annotated[Sphere, Tag("sphere")]
    | Annotated[Mask, Tag("mask")]
    | Annotated[Atlas, Tag("atlas")],
    Discriminator(
        _shape,
        custom_error_type="region",
        custom_error_message="should be 'cube', 'sphere', 'mask' or 'atlas'",
    ),
]


class NoiseSources(Section):
    """Which sources of fMRI noise are on; their strengths are the subject's.

    As in fmrisim, arma, physiological and task noise are shares of the brain's fluctuation: those
    that are on make up the whole of it.
    """

    arma: bool = field(True, "true or false", "spatially smooth noise, autocorrelated in time")
    drift: bool = field(True, "true or false", "slow scanner drift")
    physiological: bool = field(True, "true or false", "heart beat and breathing")
    task: bool = field(True, "true or false", "noise that comes with the events")
    system: bool = field(True, "true or false", "white thermal noise of the scanner")


class Motion(Section):
    """Sudden movements of the head."""

    spikes_per_minute: float = field(0.0, "1/min", "how often the head moves", ge=0, le=60)
    size: float = field(5.0, "noise SD", "how far a spike shifts a frame, up or down", ge=0, le=100)


class Brain(Section):
    """The simulated subject and its responses."""

    subject: File = field(
        "brainiak",
        "name or path",
        "the subject brainiak ships, or a folder relative to the protocol",
    )
    responses: Literal["simulated", "recorded"] = field(
        "simulated", "choice", "a model's, or real ones; a recorded subject sets it to recorded"
    )
    reuse: bool = field(
        False, "true or false", "a recorded subject's responses may be used more than once"
    )
    region: Region = Field(Cube(), description="the voxels that are recorded")
    similarity: float = field(
        0.89, "correlation", "how much imagining an option looks like perceiving it", ge=-1, le=1
    )
    smoothness: float = field(0.0, "mm FWHM", "how smooth the patterns are in space", ge=0, le=50)
    hrf_delay: float = field(
        0.0, "s", "how much later, or earlier, the response peaks than fmrisim's", ge=-2, le=4
    )
    hrf_dispersion: float = field(
        1.0, "ratio", "how many times as wide the response is as fmrisim's", ge=0.5, le=2
    )
    hrf_undershoot: float = field(
        1.0, "ratio", "how many times as deep its undershoot is as fmrisim's", ge=0, le=10
    )
    cnr: Annotated[float, Field(gt=0, le=100)] = field(
        0.5,
        "full-strength noise SD",
        "peak response to a lone event, per unit of its pattern; of a recorded subject, the RMS of "
        "the judgment added to its responses",
    )
    noise: NoiseWeight = field(
        0.05, "weight", "how much of the subject's noise is recorded; 1 is the real brain"
    )
    noise_sources: NoiseSources = Field(NoiseSources(), description="which noise sources are on")
    engine: Literal["exact", "fmrisim"] = field(
        "exact", "choice", "noise sampled at the region, or cut out of fmrisim's whole brain (slow)"
    )
    motion: Motion = Field(Motion(), description="motion spikes")


class Source(Section):
    """Where frames come from."""

    name: Annotated[str, _Installed(SOURCES)] = field(
        "simulated", "name", "simulated, replay, or a source that another package adds"
    )
    path: str | None = field(
        None,
        "path",
        "the recording to play back, relative to the protocol; null where there is none",
        max_length=1000,
    )


Duration = Annotated[float, Field(ge=0.1, le=60)]
Pause = Annotated[float, Field(ge=0, le=600)]


class EventTiming(Section):
    """The times of one kind of event, where they are its own."""

    duration: Duration | None = field(None, "s", "how long it lasts; null: timing.event")
    pause: Pause | None = field(None, "s", "pause after it, at least; null: timing.isi")
    jitter: Pause | None = field(
        None, "s", "the most that is added to that pause at random; null: timing.jitter"
    )


class Timing(Section):
    """When things happen within a trial."""

    tr: float = field(1.5, "s", "repetition time: one frame every TR", ge=0.1, le=10)
    event: Duration = field(2.0, "s", "how long an event lasts")
    isi: Pause = field(7.0, "s", "pause from the end of an event to the next, at least")
    imagination: EventTiming = Field(EventTiming(), description="where imagination differs")
    perception: EventTiming = Field(EventTiming(), description="where seeing the guess differs")
    judgment: EventTiming = Field(EventTiming(), description="where judging it differs")
    jitter: Pause = field(
        0.0, "s", "the most that is added to each pause at random; the analysis knows how much"
    )
    jitter_distribution: Literal["uniform", "exponential"] = field(
        "uniform", "choice", "exponential: mostly little, its decay is a third of the most"
    )
    iti: Pause = field(0.0, "s", "rest between trials, besides the pause after the last event")
    null_trials: Share = field(
        0.0, "per trial", "how many pauses as long as a trial there are, at random places"
    )
    together: bool = field(
        False, "true or false", "guesses are judged while they are seen, not after that"
    )
    decision: Annotated[float, Field(gt=0, le=660)] | None = field(
        None, "s", "when the agent guesses, after imagination begins; null: as late as it can"
    )
    latency: float = field(0.0, "s", "from the decision to the guess on the screen", ge=0, le=60)
    frame_lag: float = field(
        4.0, "s", "the single-frame estimate takes the frame this long after onset", ge=0, le=30
    )
    burn_in: Pause = field(12.0, "s", "rest recorded before the first trial of a run")
    cool_down: Pause = field(0.0, "s", "rest recorded after the last trial of a run")


class Live(Section):
    """At a scanner, where volumes come one by one (`bciigl run`)."""

    trigger: Literal["volume", "key", "serial", "lsl"] = field(
        "volume",
        "choice",
        "what begins a run: its first volume, a key, a byte at a serial port, an LSL marker",
    )
    trigger_from: str = field(
        "5",
        "text",
        "the key of a trigger or, for others, the serial port or the name of the LSL stream",
        min_length=1,
        max_length=200,
    )
    series: PlainText = field(
        "", "text", "volumes count if this is part of their series' description", max_length=200
    )
    dummies: int = field(
        0, "volumes", "volumes at the beginning of a run that are not used", ge=0, le=100
    )
    deadline: float = field(
        1.0,
        "TR",
        "how much later than due a volume may come; decisions do not wait longer",
        gt=0,
        le=20,
    )
    realign: bool = field(
        True, "true or false", "each volume is realigned to the session's reference"
    )
    answers: tuple[str, str] = field(
        ("1", "2"),
        "keys",
        "the keys for match and mismatch, where human.key_press is true",
        strict=False,
    )


class Feedback(Section):
    """How the agent's feedback is mixed from the brain's two answers."""

    perception: Share = field(0.5, "weight", "weight of the response to seeing the guess")
    judgment: Share = field(0.5, "weight", "weight of the response to match or mismatch")


class Estimate(Section):
    """How responses to events are estimated; a plain word stands for the method."""

    method: Literal["glm", "frame", "window"] = field(
        "glm",
        "choice",
        "an event's response by regression, from one frame, or the mean of as many as it lasts",
    )
    hrf: Literal["canonical", "individual"] = field(
        "individual",
        "choice",
        "regression assumes fmrisim's response, or the person's own, fitted in the runs before",
    )
    normalise: bool = field(
        True, "true or false", "estimates are in SDs of the noise, uncorrelated between voxels"
    )
    motion: bool = field(
        False, "true or false", "the head's movement is regressed out, where volumes are realigned"
    )


def estimate_section(value: Any) -> Any:
    """Return what a plain word for the method stands for; anything else as it is."""
    return {"method": value} if isinstance(value, str) else value


class Agent(Section):
    """How the guesses are made."""

    policy: Annotated[str, _Installed(AGENTS)] = field(
        "uniform", "choice", "how the agent guesses; fixed: as a policy learned before"
    )
    epsilon: float = field(
        0.2, "share of trials", "how often epsilon-greedy guesses uniformly", gt=0, le=1
    )
    uniform_runs: Runs = field(1, "runs", "runs guessed uniformly before the agent first learns")
    learn_every: Interval = field(
        1, "runs, or text", "how often the agent learns again: 2 (runs), '2 runs' or '10 trials'"
    )


class Evaluation(Section):
    """The test session: same patterns, new noise, fresh options."""

    test_trials: Trials = field(460, "trials", "trials the policies are scored on")


class Study(Section):
    """The grid of a study."""

    noise: NoiseLevels = field(
        (0.01, 0.05, 0.1), "weight", "noise levels to compare, in place of brain.noise"
    )
    repeats: Runs = field(20, "sessions", "sessions per noise level")


class Screen(Section):
    """What the participant sees, in the protocol's own words (`bciigl run`)."""

    language: Literal["en", "de", "fr", "es"] = field(
        "en", "choice", "the language of all texts that are null"
    )
    instructions: Sentences | None = field(
        None, "text", "what is read before the first run; null: what fits this protocol"
    )
    imagine: Words | None = field(
        None, "text", "the cue to imagine, where the person chooses; null: the language's"
    )
    imagine_cued: Words | None = field(
        None, "text", "the cue of catch trials, with {option}; null: the language's"
    )
    guess: Words | None = field(
        None, "text", "how the guess is shown, with {option}; null: the language's"
    )
    judge: Words | None = field(
        None, "text", "the question to judge the guess; null: the language's, with keys if used"
    )
    rest: Sentences | None = field(None, "text", "between runs; null: the language's")
    goodbye: Sentences | None = field(None, "text", "after the last run; null: the language's")
    paused: Sentences | None = field(
        None, "text", "while the operator has paused; null: the language's"
    )
    font_size: float = field(
        12.0, "% of the screen's height", "size of letters; long texts are smaller", ge=2, le=40
    )
    text_colour: Colour = field(
        "#f2f2f2", "#rrggbb", "colour of letters; not quite white, which dazzles in the dark"
    )
    background: Colour = field("#000000", "#rrggbb", "colour of the screen behind them")
    images: Annotated[dict[str, File], Field(max_length=100)] = field(
        {},
        "a file by option",
        "PNG, JPEG or GIF files, relative to the protocol, shown above the words about an option",
    )


class Protocol(Section):
    """A whole experiment.

    Examples
    --------
    >>> import bciigl
    >>> bciigl.Protocol(name="hands", task={"options": ["left", "right", "rest"], "trials": 138})
    protocol hands
      options  left, right, rest (chance 33.3 %)
      trials   138 in 3 runs, 27 s each
      scanner  1.0 h to learn, 3.5 h more to test
      agent    guesses uniform
      noise    0.05 (1 is a real brain)
      seed     0
    """

    name: Name = field(..., "word", "what the experiment is called: letters, digits, _ and -")
    description: PlainText = field("", "text", "what it is about", max_length=2000)
    task: Task = Field(description="what is imagined, and how often")
    human: Human = Field(Human(), description="how reliable the person is")
    brain: Brain = Field(Brain(), description="the simulated subject")
    population: Population = field(
        {},
        "a distribution by field",
        "how people differ: [low, high], or mean and sd, or median and spread, for fields such as "
        "brain.cnr",
    )
    source: Source = Field(Source(), description="where frames come from")
    timing: Timing = Field(Timing(), description="when things happen")
    live: Live = Field(Live(), description="how volumes come from a scanner")
    screen: Screen = Field(
        Screen(),
        description="what the participant sees; texts may have {options}, {run}, {runs}, {trial}, "
        "{trials}, {match_key}, {mismatch_key}, those about one option {option}",
    )
    feedback: Feedback = Field(Feedback(), description="what the agent gets to see of the answer")
    recording: Literal["shared", "separate"] = field(
        "shared", "choice", "one BOLD series, or one per event kind as in the paper's code"
    )
    estimate: Annotated[Estimate, BeforeValidator(estimate_section)] = Field(
        Estimate(), description="how responses to events are estimated; a word is the method"
    )
    agent: Agent = Field(Agent(), description="how the guesses are made")
    learners: Learners = field(
        ("ai_igl", "transfer", "igl_full_ci", "cb", "ceiling"), "learner ids", "learners to compare"
    )
    evaluation: Evaluation = Field(Evaluation(), description="the test session")
    study: Study = Field(Study(), description="what a sweep repeats")
    seed: int = field(0, "number", "the same seed gives the same bytes", ge=0, le=2**32 - 1)

    @model_validator(mode="after")
    def _refuse_what_cannot_work(self) -> "Protocol":
        problems = []
        findings = (*refusals(self), *population_findings(self), *screen_findings(self))
        for each in findings:
            context = {"message": each.message, "finding": each}
            kind = PydanticCustomError("science", "{message}", context)
            problems.append(InitErrorDetails(type=kind, loc=each.path, input=None))
        if problems:
            raise ValidationError.from_exception_data("Protocol", problems)
        return self

    @property
    def content_hash(self) -> str:
        """SHA-256 of the resolved content: the same whatever the file's key order and comments."""
        # -0.0 equals 0.0, so it has the same hash.
        data = json.loads(self.model_dump_json(), parse_float=lambda text: float(text) + 0.0)
        text = json.dumps(data, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def __repr__(self) -> str:
        """Return the experiment in a few lines; `bciigl.protocol.dump` has every field."""
        from bciigl.protocol.summary import facts

        return facts_text(f"protocol {self.name}", facts(self))

    __str__ = __repr__

    def _repr_html_(self) -> str:
        from bciigl.protocol.load import dump
        from bciigl.protocol.summary import facts

        return facts_html(f"protocol {self.name}", facts(self), more=dump(self))
