"""What did each event evoke? From frames and known event times to one vector per event.

The context of a trial is its imagination's estimate, from frames that are complete when the agent
decides and from no later ones. Feedback is the weighted sum of perception's and judgment's. Both
may be calibrated by earlier runs.
"""

from bciigl.estimate.calibration import UNCALIBRATED, Calibration, Calibrator
from bciigl.estimate.trials import context, contexts, feedback, feedback_so_far

__all__ = ["UNCALIBRATED", "Calibration", "Calibrator"]
__all__ += ["context", "contexts", "feedback", "feedback_so_far"]
