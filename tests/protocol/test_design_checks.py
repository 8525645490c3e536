"""What a protocol is refused or warned for as an experiment."""

import pytest
from pydantic import ValidationError

from bciigl.protocol import Protocol, load, shipped
from bciigl.protocol.design_checks import advice, judged_match_rate


def build(**sections) -> Protocol:
    task = {"options": [7, 8, 9], **sections.pop("task", {})}
    return Protocol.model_validate({"name": "x", "task": task, **sections})


def refused(**sections) -> str:
    with pytest.raises(ValidationError) as caught:
        build(**sections)
    (error,) = caught.value.errors()
    finding = error["ctx"]["finding"]
    assert error["loc"] == finding.path
    return f"{'.'.join(finding.path)}: {finding.message}"


def warned(protocol: Protocol) -> set[str]:
    return {".".join(each.path) for each in advice(protocol)}


def test_two_options_without_catch_trials_rest_on_an_assumption():
    for policy in ("uniform", "explore-then-commit", "epsilon-greedy"):
        protocol = build(task={"options": ["yes", "no"]}, agent={"policy": policy})
        (finding,) = (each for each in advice(protocol) if each.path == ("task", "options"))
        assert "imagining an option resembles seeing it" in finding.message
        assert "add catch trials (task.catch.share: 0.2) or a third option" in finding.message
    assert "task.options" not in warned(build(task={"options": ["yes", "no", "maybe"]}))


def test_two_options_with_catch_trials_are_allowed():
    build(task={"options": ["yes", "no"], "catch": {"share": 0.2, "match_rate": 0.8}})
    build(task={"options": ["yes", "no"], "catch": {"share": 0.2, "match_rate": 0.1}})


def test_match_rate_may_be_as_near_to_half_as_the_message_says():
    for rate in (0.4, 0.6):
        build(task={"options": ["yes", "no"], "catch": {"share": 0.2, "match_rate": rate}})


def test_share_that_gives_no_catch_trial_is_none():
    catch = {"share": 1e-9}
    assert "task.options" in warned(build(task={"options": ["yes", "no"], "catch": catch}))


def test_catch_trials_that_match_half_of_the_time_do_not_help():
    catch = {"share": 0.2, "match_rate": 0.59}
    assert refused(task={"options": ["yes", "no"], "catch": catch}).startswith("task.catch.match")
    build(task={"options": ["yes", "no", "maybe"], "catch": catch})


def test_run_longer_than_a_nifti_file_is_refused_with_the_longest_that_fits():
    # (12 s + n x 27 s) / 1.5 s <= 32767 frames holds up to n = 1819
    message = refused(task={"trials": 3000, "trials_per_run": 1820})
    assert "at most 1819 trials" in message
    build(task={"trials": 3000, "trials_per_run": 1819})


def test_long_runs_matter_only_as_far_as_there_are_trials():
    build(task={"trials": 600, "trials_per_run": 5000})
    refused(task={"trials": 600, "trials_per_run": 5000}, evaluation={"test_trials": 5000})


def test_events_out_of_order_are_refused():
    for events in (["perception", "judgment"], ["imagination", "judgment", "perception"]):
        assert refused(task={"events": events}).startswith("task.events")


def test_feedback_without_weight_is_refused():
    assert refused(feedback={"perception": 0.0, "judgment": 0.0}).startswith("feedback")
    silent = {"perception": 0.5, "judgment": 0.0}
    assert refused(task={"events": ["imagination", "judgment"]}, feedback=silent)


def test_decision_comes_before_the_next_event():
    assert refused(timing={"decision": 9.5}).startswith("timing.decision")
    assert refused(timing={"decision": 8.8, "latency": 0.3}).startswith("timing.decision")
    assert refused(timing={"latency": 9.0}).startswith("timing.latency")
    build(timing={"decision": 8.7, "latency": 0.3})
    # 0.5 + 0.3 is a little more than 0.1 + 0.7, but only to a computer
    build(timing={"event": 0.1, "isi": 0.7, "tr": 0.1, "decision": 0.5, "latency": 0.3})


def test_responses_that_begin_together_are_regressed_as_one():
    uneven = {"perception": 0.2, "judgment": 0.8}
    assert not advice(build(timing={"together": True}))
    (said,) = advice(build(timing={"together": True}, feedback=uneven))
    assert "regression gives their sum" in said.message
    assert not advice(build(timing={"together": True}, feedback=uneven, estimate="frame"))


def test_window_is_complete_before_the_decision():
    timing = {"tr": 1.5, "event": 4.5, "isi": 4.5, "frame_lag": 4.5}
    build(timing=timing, estimate="window")
    said = refused(timing={**timing, "frame_lag": 5.0}, estimate="window")
    assert said.startswith("timing.frame_lag: the last frame of the window 5 s after onset")


def test_single_frame_is_complete_before_the_decision():
    assert refused(estimate="frame", timing={"frame_lag": 8.0}).startswith("timing.frame_lag")
    build(estimate="glm", timing={"frame_lag": 8.0})
    # 0.1 + 0.2 is a little more than 0.3, but only to a computer
    build(estimate="frame", timing={"tr": 0.1, "frame_lag": 0.2, "decision": 0.3})


def test_events_closer_than_peak_and_one_frame_warn():
    for timing, overlap in [
        ({"isi": 5.9}, False),
        ({"isi": 5.8}, True),
        ({"isi": 5.9, "tr": 2.0}, True),
    ]:
        assert ("timing.isi" in warned(build(timing=timing))) == overlap


def test_guess_before_the_response_peaks_warns():
    assert "timing.decision" in warned(build(timing={"decision": 6.0}))
    assert "timing.decision" not in warned(build(timing={"decision": 6.5}))
    # where events come faster than responses, the overlap is what is wrong
    assert warned(build(timing={"isi": 3.0})) == {"timing.isi"}


def test_guess_before_the_first_frame_is_refused():
    assert refused(timing={"decision": 1.4}).startswith("timing.decision")
    assert refused(timing={"latency": 8.0}).startswith("timing.latency")
    build(timing={"decision": 1.5})


def test_run_of_more_than_an_hour_warns():
    # (12 s + n x 27 s) <= 3600 s holds up to n = 132
    assert "task.trials_per_run" in warned(build(task={"trials_per_run": 133}))
    assert "task.trials_per_run" not in warned(build(task={"trials_per_run": 132}))


def test_overlap_tells_the_interval_that_would_do():
    (finding,) = advice(build(timing={"isi": 5.0}))
    assert "an isi of 5.9 s or more" in finding.message
    assert not advice(build(timing={"isi": 5.9}))


def test_late_response_warns_of_overlap():
    assert "timing.isi" in warned(build(brain={"hrf_delay": 2.0}))


def test_too_few_trials_warn():
    assert "use 120 or more" in advice(build(task={"trials": 119}))[0].message
    assert "task.trials" not in warned(build(task={"trials": 120}))
    # with 20 options a guess matches once in 20, and 10 matches of each are needed
    assert "task.trials" in warned(build(task={"options": list(range(20)), "trials": 3999}))
    assert "task.trials" not in warned(build(task={"options": list(range(20)), "trials": 4000}))


def test_catch_trials_are_not_learned_from():
    catch = {"share": 0.8, "match_rate": 0.5}
    assert "task.trials" in warned(build(task={"trials": 599, "catch": catch}))


def test_lapses_pull_the_match_rate_towards_half_and_warn():
    lapsing = build(human={"judgment_lapse": 0.4})
    # 1/3 x 0.6 + 2/3 x 0.4
    assert judged_match_rate(lapsing, 1 / 3) == pytest.approx(7 / 15)
    (finding,) = advice(lapsing)
    assert finding.path == ("task", "trials")
    assert "0.47 +- 0.02" in finding.message


def test_few_catch_trials_warn():
    catch = {"share": 0.01, "match_rate": 0.8}
    assert "task.catch.share" in warned(build(task={"options": ["a", "b"], "catch": catch}))


def test_silent_judgment_warns():
    assert "task.events" in warned(build(task={"events": ["imagination", "perception"]}))
    for estimate, said in {"glm": "leak", "frame": "nothing can be learned"}.items():
        (finding,) = advice(build(feedback={"judgment": 0.0}, estimate=estimate))
        assert finding.path == ("feedback", "judgment")
        assert said in finding.message


def test_agent_that_never_acts_on_what_it_learns_warns():
    agent = {"policy": "epsilon-greedy", "uniform_runs": 15}
    assert "agent.uniform_runs" in warned(build(agent=agent))
    assert not warned(build(agent={**agent, "uniform_runs": 14}))
    assert not warned(build(agent={**agent, "policy": "uniform"}))


def test_shipped_protocols_are_beyond_reproach():
    assert not {name: found for name in shipped() if (found := warned(load(name)))}


def test_times_that_differ_need_one_series():
    timing = {"jitter": 1.0, "iti": 2.0}
    said = refused(timing=timing, recording="separate")
    assert said.startswith("timing.jitter") and "leave out timing.jitter, timing.iti" in said


def test_long_jitter_is_warned_of():
    assert "timing" not in warned(build(timing={"jitter": 20.0}))
    assert "timing" in warned(build(timing={"jitter": 21.0}))
