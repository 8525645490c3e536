"""Plans in Python: how many trials and scanner hours an experiment needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bciigl.api.figure import new_axes
from bciigl.api.protocols import Source
from bciigl.base.html import facts_html
from bciigl.study import planning
from bciigl.study.planning import Planned

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class PlanResults(Planned):
    """A plan and its answers, one for each design, the best first.

    `trials`, `hours`, `interval`, `reached`, `limit` and `sentence` are those of the best design:
    see `bciigl.study.plan_answer.Answer`.

    Examples
    --------
    >>> import bciigl
    >>> found = bciigl.plan("number_guessing", noise=0.1, people=3, hours=0.3, jobs=1)
    >>> len(found.designs)
    1
    """

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw how many people reach the target after how many hours.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        """
        from bciigl.report.plan_drawings import draw_plan

        return draw_plan(new_axes(ax), self)

    def _repr_html_(self) -> str:
        facts = {
            f"design {place}" if each.varied else "answer": each.sentence
            for place, each in enumerate(self.designs, start=1)
        }
        return facts_html(f"plan of {self.plan.protocol.name}", facts)


def plan(protocol: Source = "number_guessing", **wanted: Any) -> PlanResults:
    """Return how many trials and scanner hours an experiment needs.

    Parameters
    ----------
    protocol : str, path-like or Protocol
        As in `simulate`.
    **wanted
        `target` (percent), `power` (share of people who should reach it), `noise`, `people`,
        `vary`, `changes`, `out`, `jobs`, `progress` and more: see `bciigl.study.planning.plan`.

    Returns
    -------
    PlanResults

    Examples
    --------
    >>> import bciigl
    >>> found = bciigl.plan("number_guessing", noise=0.1, people=4, hours=0.5, jobs=1)
    >>> found.plan.people, found.reached
    (4, True)
    """
    return PlanResults(**vars(planning.plan(protocol, **wanted)))
