"""Drift: told of when it matters, once and when it has doubled; slow transfers are none."""

import numpy as np
import pytest

from bciigl.source.drift import DAY, WINDOW, DriftWatch

TR = 2.0


def told(acquired, arrived=None, tr: float = TR, numbers=None, **how) -> list[tuple[int, str]]:
    """Return what is warned of, with the place of the volume in the order of arrival."""
    found = []
    watch = DriftWatch(tr, lambda *what: found.append((step, *what)), **how)
    step = 0
    numbers = range(len(acquired)) if numbers is None else numbers
    arrived = acquired if arrived is None else arrived
    for each in zip(numbers, acquired, arrived, strict=True):
        watch.take(*each)
        step += 1
    return found


def test_a_scanner_that_keeps_its_time_is_not_told_of():
    rng = np.random.default_rng(0)
    acquired = 40_000 + TR * np.arange(300) + rng.uniform(-0.02, 0.02, 300)
    arrived = TR * np.arange(300) + rng.exponential(1.5, 300)
    order = np.argsort(arrived)
    assert (np.diff(order) < 0).sum() > 10
    assert told(acquired[order], arrived[order], numbers=order) == []


def test_lost_volumes_are_no_drift():
    numbers = np.array([0, 1, 5, 6, 40, 41])
    assert told(TR * numbers, numbers=numbers) == []


@pytest.mark.parametrize("began", [40_000.0, DAY - 30.0])
@pytest.mark.parametrize(("real", "words"), [(2.1, "0.60 s later"), (1.9, "0.60 s earlier")])
def test_a_wrong_tr_is_told_of_when_it_is_a_quarter_off_and_when_that_doubles(began, real, words):
    acquired = (began + real * np.arange(40)) % DAY  # off by 0.1 s a volume
    found = told(acquired, real * np.arange(40))
    assert [step for step, *_ in found] == [6, 13, 27]
    assert found[0][1:] == (f"was acquired {words} than its number and the TR say", 7)


def test_a_wrong_number_is_told_of():
    acquired = TR * np.arange(10)
    found = told(acquired, numbers=[0, 1, 2, 3, 4, 6, 7, 8, 9, 10], own_clock=False)
    assert [(step, number) for step, _, number in found] == [(5, 7)]
    assert "2.00 s earlier" in found[0][1]


@pytest.mark.parametrize(("rate", "words"), [(1.01, "fallen behind"), (0.99, "run ahead of")])
@pytest.mark.parametrize("began", [40_000.0, DAY - 100.0])
def test_a_clock_that_drifts_is_told_of_through_slow_transfers(rate, words, began):
    rng = np.random.default_rng(1)
    seconds = TR * np.arange(200)
    delays = np.where(rng.random(200) < 0.3, 0.1, rng.exponential(3.0, 200))
    found = told((began + seconds) % DAY, rate * seconds + delays)
    assert len(found) in (2, 3)  # 4 s in the end, told of at 0.5, 1, 2
    assert all(words in what and number is None for _, what, number in found)
    # Of 0.02 s a volume, after as many as make a quarter of a TR, or a window later.
    assert 25 <= found[0][0] - WINDOW / 2 <= 25 + 2 * WINDOW
    assert told((began + seconds) % DAY, rate * seconds + delays, own_clock=False) == []


def test_transfers_that_are_slow_for_a_while_are_no_drift():
    arrived = TR * np.arange(100.0)
    arrived[30 : 30 + WINDOW - 1] += 10.0
    assert told(TR * np.arange(100), arrived) == []


@pytest.mark.parametrize("acquired", [None, 40_000.0])
def test_headers_without_a_time_of_their_own_say_nothing(acquired):
    assert told([acquired] * 50, TR * np.arange(50)) == []
