"""
A person's own response
=======================

People's haemodynamic responses differ by a second or more. The analysis begins with the canonical
one, and fits the person's own from frames and the times of events alone: no label, no guess.
"""

import matplotlib.pyplot as plt
import numpy as np

import bciigl
from bciigl.brain import Trials
from bciigl.estimate import Calibrator
from bciigl.protocol.hrf import event_response, shape_of

late = {"brain.noise": 1.0, "brain.hrf_delay": 1.5, "brain.hrf_dispersion": 1.2}
protocol = bciigl.load("number_guessing", changes=late)
brain, calibrator = bciigl.Brain(protocol), Calibrator(protocol)
rng = np.random.default_rng(0)
for run in range(1, 5):
    trials = Trials.random(protocol, 46, rng)
    frames = brain.scan("train", run, trials=46).play(trials.events(protocol))
    calibrator.add(frames)

# %%
seconds = np.linspace(0, 25, 251)
courses = {
    "the person's": event_response(seconds, 2.0, shape_of(protocol.brain)),
    "fitted after four runs": event_response(seconds, 2.0, weights=calibrator.calibration.response),
    "assumed at first": event_response(seconds, 2.0),
}
styles = (
    {"color": "black", "linewidth": 6, "alpha": 0.3},
    {"color": "#d55e00"},
    {"color": "#0072b2", "linestyle": "--"},
)
figure, ax = plt.subplots(figsize=(8, 3.6), layout="constrained")
for (name, course), style in zip(courses.items(), styles, strict=True):
    ax.plot(seconds, course / course.max(), label=name, **style)
ax.set(
    xlabel="seconds after the onset of a 2 s event", ylabel="response, of its peak", yticks=[0, 1]
)
ax.set_title("Four runs tell that this person's response peaks 1.5 s late")
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
