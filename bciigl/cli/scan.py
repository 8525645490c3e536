"""`bciigl scan`."""

from __future__ import annotations

import os
import signal
import threading
import time

import click

from bciigl.base.errors import BciiglError
from bciigl.cli.output import notice, path_option, protocol_of, set_option, warn


@click.command(short_help="Simulate a scanner and the person in it.")
@click.argument("protocol")
@path_option("--to", "Write volumes here.", required=True)
@click.option(
    "--format", "kind", type=click.Choice(["nifti", "dicom"]), default="nifti", show_default=True
)
@click.option("--lsl", metavar="NAME", help="Send the region's values by LSL, not volumes.")
@click.option("--speed", type=float, default=1.0, help="How many times as fast as a real scanner.")
@click.option("--motion", type=float, default=0.0, help="How far the head strays, in mm.")
@click.option("--seed", type=int, help="Which person it is (seed).")
@click.option("--alone", is_flag=True, help="Wait for no session: nothing is shown to the person.")
@path_option("--paths", "What paths in the protocol are relative to, if not its own folder.")
@click.option("--with-parent", is_flag=True, hidden=True, help="End with who began this.")
@set_option("brain.noise=1")
def scan(
    protocol: str,
    to: str,
    kind: str,
    lsl: str | None,
    speed: float,
    motion: float,
    seed: int | None,
    alone: bool,
    paths: str | None,
    with_parent: bool,
    settings: tuple[str, ...],
) -> None:
    """Simulate a scanner and the person in it, volume by volume, for `bciigl run`.

    PROTOCOL is the path of a YAML file or the name of a shipped protocol, the same as that of the
    session. Volumes of the whole head appear in a folder as a scanner would export them: NIfTI, or
    Siemens-like DICOM mosaics. The person sees what the session shows, and the brain answers in
    the volumes that follow. What the person thought is written beside the volumes
    (derivatives/truth) when a run is over.

    Above a speed of 1 the scanner waits for the session where something is to be shown.
    """
    from bciigl.loop.scanner import SimulatedScanner
    from bciigl.protocol import find, parse_change
    from bciigl.source.exported import fastest

    if not 0 < speed < float("inf") or not 0 <= motion < 100:
        raise BciiglError(
            f"--speed should be above 0 and --motion from 0 to 100, got {speed:g}, {motion:g}"
        )
    if with_parent:
        _end_with_parent()
    changes = dict(map(parse_change, settings)) | ({} if seed is None else {"seed": seed})
    wanted = protocol_of(protocol, changes)

    def notify(step: str) -> None:
        if step.startswith("waiting"):
            stream = f" --lsl {lsl}" if lsl else ""
            step = f"{step}: bciigl run {protocol} --volumes {to}{stream} --out DIR"
        notice(step)

    scanner = SimulatedScanner(
        wanted,
        to,
        kind,
        speed=speed,
        motion=motion,
        lsl=lsl,
        paths=paths or find(protocol).parent,
        notify=notify,
    )
    most = fastest(kind, scanner.protocol, scanner.brain.subject, scanner.brain.region)
    how = "with" if wanted.live.realign else "without"
    possible = f"up to {most:.0f} times as fast as a real scanner, {how} realignment"
    notify(f"possible here: {possible}")
    if speed > most:
        warn(f"--speed {speed:g} is more than that: the scanner will wait for the session")
    scanner.serve(alone=alone)


def _end_with_parent() -> None:
    """End this program when the one that began it has ended, even if that was killed."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(0.5)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()
