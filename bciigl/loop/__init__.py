"""Who acts, trial by trial? A participant, an agent, and the one session loop between them."""

from bciigl.loop.agent import Agent, Choice, FixedAgent, LearningAgent
from bciigl.loop.participant import Participant, SimulatedPerson, Volunteer
from bciigl.loop.session import record, resume, run_session, simulate

__all__ = ["Agent", "Choice", "FixedAgent", "LearningAgent"]
__all__ += ["Participant", "SimulatedPerson", "Volunteer"]
__all__ += ["record", "resume", "run_session", "simulate"]
