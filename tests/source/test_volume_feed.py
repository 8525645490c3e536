"""From volumes to the region's values: realigned to one reference, or as they are."""

import numpy as np
import pytest
from heads import head
from realign import displaced
from recordings import small

from bciigl.brain.region import Region
from bciigl.source.realign import Movement
from bciigl.source.volume_feed import VolumeFeed, digest, volume_number
from bciigl.source.volumes import Volume

HEAD = head((24, 26, 22))
CENTRE = np.argwhere(HEAD.mask).mean(axis=0).round().astype(int)
REGION = Region(CENTRE + np.argwhere(np.ones((2, 2, 2))), HEAD.affine)
MIDDLE = HEAD.affine[:3] @ [*CENTRE, 1]


class PlainFeed(VolumeFeed):
    """A feed that only reads what it is given."""

    def __init__(self, reference: Volume | None = None, **live) -> None:
        self.faults, self.references = [], []
        self.fault = lambda what, number: self.faults.append((number, what))
        super().__init__(small(live=live), REGION, reference, self.references.append)

    def begin_run(self, session, run, past) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


def volume(data=None, number: int | None = 1, offset: float | None = None, seed: int = 0) -> Volume:
    """Return a volume of the head, with a little noise."""
    data = HEAD.base if data is None else data
    noise = 0.002 * HEAD.base.max() * np.random.default_rng(seed).standard_normal(data.shape)
    return Volume(np.float32(data + noise), HEAD.affine, number, "s", "d", 1.5, 40_000.5, offset)


def moved(*parameters: float, seed: int = 0) -> Volume:
    matrix = Movement(np.array(parameters), MIDDLE).matrix
    return volume(displaced(HEAD.base, HEAD.affine, matrix), seed=seed)


def test_values_are_those_of_the_file_without_realignment():
    feed, mine = PlainFeed(realign=False), moved(2.0, 0, 0, 0, 0, 0)
    arrival = feed._arrival(mine, 3, series="x", changed=5)
    assert (arrival.number, arrival.movement, arrival.acquired) == (3, None, 40_000.5)
    np.testing.assert_array_equal(arrival.values, mine.data[REGION.index])
    assert arrival.about == {"data": digest(mine), "series": "x", "changed": 5}
    assert feed.references == []


def test_first_volume_after_the_dummies_is_the_reference():
    feed = PlainFeed(dummies=2)
    dummy = feed._arrival(moved(3.0, 0, 0, 0, 0, 0), 1)
    assert dummy.movement is None
    assert feed.references == []
    first = volume(seed=1)
    arrival = feed._arrival(first, 2)
    assert feed.references == [first]
    assert np.abs(arrival.movement).max() < 1e-6
    np.testing.assert_allclose(arrival.values, first.data[REGION.index], rtol=1e-4)
    found = feed._arrival(moved(1.5, -1.0, 0.5, 0, 0, 0.02, seed=2), 3).movement
    assert np.abs(found[:3] - [1.5, -1.0, 0.5]).max() < 0.3
    assert abs(found[5] - 0.02) < 0.005
    assert feed.references == [first]
    assert feed.faults == []


def test_values_follow_the_head():
    feed = PlainFeed(volume(seed=9))
    still = feed._arrival(volume(seed=1), 0).values
    gone = moved(3.0, 2.0, 0, 0, 0, 0, seed=1)
    realigned = feed._arrival(gone, 1).values
    assert np.std(realigned - still) < 0.2 * np.std(gone.data[REGION.index] - still)


def test_reference_that_is_given_is_kept_to():
    feed = PlainFeed(volume())
    found = feed._arrival(moved(2.0, 0, 0, 0, 0, 0, seed=3), 0)
    assert abs(found.movement[0] - 2.0) < 0.3
    assert feed.references == []  # it is known already


def test_volume_that_shows_no_head_is_no_reference():
    feed = PlainFeed()
    for data in (np.zeros(HEAD.shape, np.float32), np.ones(HEAD.shape, np.float32)):
        empty = volume()._replace(data=data)
        assert feed._arrival(empty, 0) is None
    assert feed.references == []
    good = volume(seed=1)
    assert feed._arrival(good, 1) is not None
    assert feed.references == [good]
    assert [number for number, _ in feed.faults] == [1, 1]
    assert all(what.startswith("cannot be realigned: ") for _, what in feed.faults)


def test_reference_that_cannot_be_kept_is_none():
    """Or else a session that is resumed would have another one."""
    feed, keep = PlainFeed(), [OSError("disk full")]
    references = feed.references

    def on_reference(mine: Volume) -> None:
        if keep:
            raise keep.pop()
        references.append(mine)

    feed._on_reference = on_reference
    with pytest.raises(OSError, match="disk full"):
        feed._arrival(volume(seed=1), 0)
    second = volume(seed=2)
    assert np.abs(feed._arrival(second, 1).movement).max() < 1e-6
    assert references == [second]


def test_volume_that_is_no_head_is_left_out():
    feed = PlainFeed(volume())
    rng = np.random.default_rng(0)
    noise = volume(HEAD.base.max() * rng.random(HEAD.shape))
    assert feed._arrival(noise, 6) is None
    ((number, what),) = feed.faults
    assert number == 7
    assert what.startswith("cannot be realigned: volume: does not look like the reference")
    assert feed._arrival(volume(seed=1), 7) is not None


def test_region_that_left_the_field_of_view_is_told_of():
    edge = Region(np.array([[0, 13, 11], [1, 13, 11]]), HEAD.affine)
    feed = PlainFeed()
    feed._region = edge
    assert feed._arrival(volume(seed=1), 0) is not None
    assert feed._arrival(moved(-4.0, 0, 0, 0, 0, 0), 1) is None
    assert feed.faults == [(2, "has part of the region outside the field of view")]


def test_digest_tells_volumes_apart():
    mine = volume()
    digests = {digest(volume(seed=seed)) for seed in range(5)}
    assert len(digests) == 5
    # Without what tells who the person is, and however it lies in memory.
    other = mine._replace(series="Doe_Jane", description="x", acquired=1.0)
    assert digest(other) == digest(mine)
    assert digest(mine._replace(data=np.asfortranarray(mine.data))) == digest(mine)
    assert digest(mine._replace(number=2)) != digest(mine)


def test_number_is_by_time_where_that_is_known():
    for number, offset, expected in [(5, None, 5), (5, 3.0, 3), (5, 2.99, 3), (None, 1.5, 2)]:
        assert volume_number(volume(number=number, offset=offset), 1.5) == expected
    assert volume_number(volume(number=None), 1.5) is None
