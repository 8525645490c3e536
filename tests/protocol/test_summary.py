"""The facts about an experiment."""

import json

from bciigl.protocol import load
from bciigl.protocol.summary import summary


def test_summary_tells_what_it_costs():
    facts = summary(load("number_guessing"))
    assert (facts["trials"], facts["runs"], facts["trial_seconds"]) == (666, 15, 27)
    assert round(facts["scanner_hours"], 2) == 5.04
    assert round(facts["test_scanner_hours"], 2) == 3.48
    assert round(facts["chance"], 1) == 33.3
    assert facts["decision_seconds"] == 9
    assert json.loads(json.dumps(facts)) == facts
