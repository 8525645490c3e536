"""
An experiment of your own
=========================

Four answers for people who cannot speak. The protocol can be a YAML file or, as here, be written in
Python.
"""

import bciigl

protocol = bciigl.Protocol(
    name="four_answers",
    description="Four answers, imagined by people who cannot speak.",
    task={"options": ["yes", "no", "maybe", "stop"], "trials": 184},
    timing={"tr": 2.0, "isi": 7.0, "judgment": {"pause": 4.0}},
    brain={"noise": 1.0},
)
protocol

# %%
# A trial, drawn in characters. The agent guesses as late as it can, when the next event begins.

from bciigl.protocol.timeline import timeline

print(*timeline(protocol), sep="\n")

# %%
# What cannot work is refused, with the reason.

try:
    bciigl.load(protocol, changes={"timing.decision": 12.0, "task.trails": 200})
except bciigl.protocol.ProtocolError as error:
    print(error)

# %%
# Will it work? Simulate it.

session = bciigl.simulate(protocol)
session.learn()

# %%
session.plot()
