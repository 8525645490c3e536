"""How often, over what grid, how sure? Sessions by the hundred, and what they add up to."""

from bciigl.study.grid import Study, StudyError
from bciigl.study.rows import Row, rows
from bciigl.study.run import run_study
from bciigl.study.store import open_study

__all__ = ["Row", "Study", "StudyError", "open_study", "rows", "run_study"]
