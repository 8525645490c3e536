"""Table 2 of the paper: the number-guessing task at growing noise."""

from bciigl.protocol import Protocol, find, load
from bciigl.study.controls import CONTROLS
from bciigl.study.grid import Study

NAME = "table2"
PUBLISHED_NOISE = (0.01, 0.05, 0.1)
FURTHER_NOISE = (0.2, 0.5, 1.0)
SEPARATE = {"recording": "separate", "estimate": {"method": "frame", "normalise": False}}


def table2(
    *,
    noise: tuple[float, ...] = PUBLISHED_NOISE + FURTHER_NOISE,
    repeats: int | None = None,
    seed: int | None = None,
    separate: bool = False,
) -> Study:
    """Return the study of Table 2, with the noise levels beyond the paper's and with controls.

    By default there are as many repeats as in the paper, 20. `separate` is for separate recordings
    and single-frame estimates, as in the paper's code, in place of one series with regression.
    """
    changes = {"study.noise": list(noise), "study.repeats": repeats, "seed": seed}
    changes = {name: value for name, value in changes.items() if value is not None}
    protocol = load(NAME, changes={**changes, **(SEPARATE if separate else {})})
    return Study(protocol, str(find(NAME).parent), controls=tuple(CONTROLS), table=NAME)


def departures(protocol: Protocol) -> list[str]:
    """Return in what a simulation of Table 2 differs from the paper's experiment, in sentences."""
    differences = [
        "centring: contexts and feedback are centred by the mean of their run, test contexts too"
        " (which is transductive), for all learners; the released code learns from raw values.",
        "learners: the paper's text has a linear model, its released code a network of 250 and 100"
        " units trained by Adam; here all learners are linear: plain AI-IGL has the paper's"
        " objective and way to break the symmetry, AI-IGL is this package's own search.",
        "region: the same size, but in the inferior parietal lobule of fmrisim's template; patterns"
        " are drawn anew for each repeat.",
        "test: a session of its own with new noise; in the released code test rows share their"
        " noise with training rows.",
    ]
    if protocol.recording == "shared":
        differences += [
            "recording: one BOLD series in which the responses of all events overlap; the released"
            " code has three separate recordings with noise of their own.",
            "signal: a lone event peaks at 0.5 noise SDs whatever comes after; the released code"
            " scales each run by its maximum.",
        ]
    if protocol.estimate.method == "glm":
        differences.append(
            "estimates: regression per event, contexts from frames before the guess alone; the"
            " released code takes one frame 4 s after onset."
        )
    return differences
