"""What the brain does when something happens: subject, region, responses, noise, scanner."""

from bciigl.brain.events import Event, Trials
from bciigl.brain.scanner import Scanner
from bciigl.brain.simulated import Brain
from bciigl.brain.subject import Subject, load_subject

__all__ = ["Brain", "Event", "Scanner", "Subject", "Trials", "load_subject"]
