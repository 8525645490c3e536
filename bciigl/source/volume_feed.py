"""From a volume to the region's values: what every feed of volumes does."""

import hashlib
from collections.abc import Callable

import numpy as np

from bciigl.base.progress import silent
from bciigl.brain.region import Region
from bciigl.protocol import Protocol
from bciigl.source.live import Arrival, Feed
from bciigl.source.realign import Realigner, RealignError
from bciigl.source.volumes import Volume


class VolumeFeed(Feed):
    """Realigns volumes to the session's reference, and reads the region.

    Parameters
    ----------
    protocol : Protocol
        The experiment; `live.realign` says whether volumes are realigned.
    region : Region
        The voxels to read.
    reference : Volume, optional
        What volumes are realigned to; by default the first one.
    on_reference : function
        Called with the reference when it is chosen.
    """

    def __init__(
        self,
        protocol: Protocol,
        region: Region,
        reference: Volume | None = None,
        on_reference: Callable[[Volume], None] = silent,
    ) -> None:
        self._protocol, self._region, self._on_reference = protocol, region, on_reference
        self._realigner: Realigner | None = None
        if reference is not None and protocol.live.realign:
            self._realigner = self._aligned_to(reference)

    def _aligned_to(self, volume: Volume) -> Realigner:
        return Realigner(volume.data, volume.affine, self._region.voxels)

    def _arrival(self, volume: Volume, number: int, **about: object) -> Arrival | None:
        """Return a volume, by number from 0, with the region's values; None if they are not there.

        `about` is what the journal has about it, besides a digest of its voxels.
        """
        movement, values = None, volume.data[self._region.index]
        if number >= self._protocol.live.dummies and self._protocol.live.realign:
            try:
                if self._realigner is None:
                    realigner = self._aligned_to(volume)
                    self._on_reference(volume)
                    self._realigner = realigner  # once it is kept
                moved, values = self._realigner(volume.data)
            except RealignError as error:
                self.fault(f"cannot be realigned: {error}", number + 1)
                return None
            movement = moved.parameters
            if not np.isfinite(values).all():
                self.fault("has part of the region outside the field of view", number + 1)
                return None
        return Arrival(number, values, movement, volume.acquired, {"data": digest(volume), **about})


def digest(volume: Volume) -> str:
    """Return what tells a volume from others: a digest of its voxels and its number."""
    # Not of its name and the rest of its header, which can tell who the person is.
    found = hashlib.blake2b(np.ascontiguousarray(volume.data).data, digest_size=16)
    found.update(f"{volume.number} {volume.offset}".encode())
    return found.hexdigest()


def volume_number(volume: Volume, tr: float) -> int | None:
    """Return a volume's number by its time in the run, from 1, or else as it is counted."""
    return volume.number if volume.offset is None else round(volume.offset / tr) + 1
