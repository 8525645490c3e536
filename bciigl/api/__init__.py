"""How is it called from Python? What `import bciigl` gives, for notebooks and scripts."""

from bciigl.api.plan import PlanResults, plan
from bciigl.api.protocols import check, load
from bciigl.api.report import report
from bciigl.api.results import Results, learn
from bciigl.api.session import RecordedSession, open_dataset, simulate
from bciigl.api.study import StudyResults, open_study, sweep

__all__ = ["PlanResults", "RecordedSession", "Results", "StudyResults"]
__all__ += ["check", "learn", "load", "open_dataset", "open_study"]
__all__ += ["plan", "report", "simulate", "sweep"]
