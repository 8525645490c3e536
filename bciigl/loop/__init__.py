"""Who talks to the brain, trial by trial? A person, an agent, and the loop between them."""

from bciigl.loop.agent import Agent, Choice, FixedAgent, LearningAgent
from bciigl.loop.clock import Clock
from bciigl.loop.in_memory import Session, simulate
from bciigl.loop.session import record, resume

__all__ = [
    "Agent",
    "Choice",
    "Clock",
    "FixedAgent",
    "LearningAgent",
    "Session",
    "record",
    "resume",
    "simulate",
]
