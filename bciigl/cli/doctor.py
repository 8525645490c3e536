"""`bciigl doctor`: whether everything works that bciigl needs."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from bciigl import __version__
from bciigl.cli.output import echo_json, json_option, verbose, wrapped

OK, MISSING, FAILED = "ok", "missing", "failed"
PYTHONS = (3, 10), (3, 12)
ENOUGH_SPACE = 1e9
EXTRAS = {
    "live": "sessions at a scanner, rehearsals, the browser's pages, DICOM",
    "lsl": "streams of the Lab Streaming Layer",
    "region": "a region in a participant's own space",
    "gym": "the Gymnasium environment",
    "dask": "studies on a cluster",
    "notebook": "JupyterLab, for the notebooks",
    "docs": "to build the documentation",
}
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "firefox")


@dataclass(frozen=True)
class Finding:
    """What was found: a thing, whether it works and is needed, facts, and how to mend it."""

    name: str
    status: str
    found: str
    remedy: str = ""
    needed: bool = False


@click.command(short_help="Check that this computer has what bciigl needs.")
@json_option
def doctor(as_json: bool) -> None:
    """Check that this computer has what bciigl needs, and say how to mend what it has not.

    Looks at Python, packages, extras, the browser, write access, disk space, processors and LSL,
    and simulates a tiny session whose result is known. The exit code is 1 if something is broken
    that bciigl cannot do without; extras that are not installed are no fault.
    """
    findings = [finding for check in CHECKS for finding in check()]
    broken = [each for each in findings if each.needed and each.status != OK]
    if as_json:
        echo_json({"ok": not broken, "checks": [asdict(each) for each in findings]})
    else:
        click.echo("\n".join([wrapped(_verdict(findings, broken)), "", *_lines(findings)]))
    if broken:
        raise click.exceptions.Exit(1)


def _verdict(findings: list[Finding], broken: list[Finding]) -> str:
    if broken:
        return f"Broken: {', '.join(each.name for each in broken)}. See below how to mend it."
    others = [each.name for each in findings if each.status != OK]
    besides = f" Not installed, or not working, and not always needed: {', '.join(others)}."
    return f"Everything works that bciigl needs.{besides if others else ''}"


def _lines(findings: list[Finding]) -> Iterator[str]:
    width = max(len(each.name) for each in findings) + 2
    colours = {OK: "green", MISSING: "yellow", FAILED: "red"}
    indent = " " * (9 + width)
    for each in findings:
        status = click.style(f"{each.status:<9}", fg=colours[each.status])
        shown = wrapped(each.found, indent)
        yield f"{status}{each.name:<{width}}{shown.lstrip()}"
        if each.remedy:
            # A command is a line of its own, to be copied.
            yield f"{indent}{each.remedy}"


def _pip(what: str) -> str:
    """Return the command that installs something into the Python that runs this."""
    here = os.path.dirname(sys.executable)
    on_path = shutil.which("pip") == os.path.join(here, "pip")
    return f"{'pip' if on_path else f'{sys.executable} -m pip'} install {what}"


def _versions() -> Iterator[Finding]:
    where = Path(__file__).parent.parent
    yield Finding("bciigl", OK, f"{__version__}, in {where}", needed=True)
    lowest, highest = (".".join(map(str, each)) for each in PYTHONS)
    fits = PYTHONS[0] <= sys.version_info[:2] <= PYTHONS[1]
    found = f"{sys.version.split()[0]}, {sys.executable}"
    remedy = "" if fits else f"Use Python {lowest} to {highest}."
    yield Finding("Python", OK if fits else FAILED, found, remedy, needed=True)


def requirements() -> dict[str, dict[str, str]]:
    """Return the lowest version of each package that bciigl and each of its extras needs."""
    from importlib.metadata import PackageNotFoundError, metadata, requires

    try:
        wanted = {"": {}, **{each: {} for each in metadata("bciigl").get_all("Provides-Extra", [])}}
        lines = requires("bciigl") or []
    except PackageNotFoundError:
        return {}
    for line in lines:
        package, lowest = re.match(r"([\w.-]+)(?:\[.*?\])?\s*(?:>=\s*([\d.]+))?", line).groups()
        extra = re.search(r"extra == ['\"]([\w-]+)", line)
        wanted[extra[1] if extra else ""][package] = lowest or ""
    return wanted


def _installed(wanted: dict[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Return the versions that are installed of packages, and what is wrong with the others."""
    from importlib.metadata import PackageNotFoundError, version

    found, wrong = {}, {}
    for package, lowest in wanted.items():
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            wrong[package] = "is not installed"
            continue
        if _numbers(found[package]) < _numbers(lowest):
            wrong[package] = f"is {found[package]}, should be {lowest} or later"
    return found, wrong


def _numbers(version: str) -> list[int]:
    return [int(each) for each in re.findall(r"\d+", version.partition("+")[0])]


def _packages() -> Iterator[Finding]:
    wanted = requirements().get("", {})
    if not wanted:
        found = "bciigl is not installed as a package: what it needs is not known"
        yield Finding("packages", FAILED, found, _pip("-e ."), needed=True)
        return
    found, wrong = _installed(wanted)
    for package, problem in wrong.items():
        remedy = _pip(f"'{package}>={wanted[package]}'")
        yield Finding(package, FAILED, f"{package} {problem}", remedy, needed=True)
    fine = {name: each for name, each in found.items() if name not in wrong}
    count = "all" if not wrong else f"{len(fine)} of"
    listed = ", ".join(f"{name} {each}" for name, each in fine.items())
    found = listed if verbose() else f"{count} {len(wanted)} (-v lists them)"
    yield Finding("packages", OK, found, needed=True)


def _extras() -> Iterator[Finding]:
    for extra, packages in requirements().items():
        if extra not in EXTRAS:
            continue
        found, wrong = _installed(packages)
        listed = ", ".join(f"{name} {each}" for name, each in found.items())
        if not wrong:
            words = f"{EXTRAS[extra]} ({listed})" if verbose() else EXTRAS[extra]
            yield Finding(f"extra {extra}", OK, words)
            continue
        said = f"{EXTRAS[extra]}: {', '.join(f'{name} {each}' for name, each in wrong.items())}"
        yield Finding(f"extra {extra}", MISSING, said, _pip(f"'bciigl[{extra}]'"))


def _lsl() -> Iterator[Finding]:
    """Whether the library loads that pylsl is a face of."""
    from importlib.util import find_spec

    if find_spec("pylsl") is None:
        return  # which is told as an extra
    try:
        import pylsl

        version = pylsl.library_version()
    except Exception as error:  # pylsl raises RuntimeError, a broken library OSError and others
        said = f"pylsl is installed, but its library does not load: {error}".splitlines()[0]
        yield Finding("LSL", FAILED, said, "conda install -c conda-forge liblsl")
        return
    yield Finding("LSL", OK, f"liblsl {version // 100}.{version % 100} loads")


def _browser() -> Iterator[Finding]:
    import webbrowser

    try:
        opened = webbrowser.get()
        name = getattr(opened, "name", None) or type(opened).__name__
        yield Finding("browser", OK, f"{os.path.basename(name)} opens reports and live pages")
    except webbrowser.Error:
        here = next(filter(None, map(shutil.which, BROWSERS)), None)
        if here is not None:
            said = f"{here} is installed, but there is no display to open it on"
        else:
            said = "none was found to open reports and live pages"
        remedy = "Open links yourself, or on another computer (--host)."
        yield Finding("browser", MISSING, said, remedy)


def _folders() -> Iterator[Finding]:
    def temporary() -> str:
        return tempfile.gettempdir()

    places = {"current folder": (os.getcwd, "Go to a folder of your own, or give --out.")}
    places["temporary folder"] = (temporary, "Set TMPDIR to a folder that can be written.")
    for name, (find, remedy) in places.items():
        try:
            where = find()
            with tempfile.TemporaryFile(dir=where) as file:
                file.write(b"bciigl")
        except OSError as error:
            yield Finding(
                name, FAILED, f"cannot be written: {error.strerror or error}", remedy, True
            )
            continue
        yield Finding(name, OK, f"{where} can be written", needed=True)


def _space() -> Iterator[Finding]:
    try:
        free = shutil.disk_usage(".").free
    except OSError:  # which is told of the folder
        return
    enough = free >= ENOUGH_SPACE
    remedy = "" if enough else "Free 1 GB: a session has 10 MB, volumes of a rehearsal have many."
    yield Finding("disk space", OK if enough else FAILED, f"{free / 1e9:.1f} GB are free", remedy)


def _threads() -> Iterator[Finding]:
    usable = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))(0)
    cores = "1 core" if len(usable) == 1 else f"{len(usable)} cores"
    yield Finding("processors", OK, f"{cores}; studies use a process on each (--jobs)")


def _self_test() -> Iterator[Finding]:
    """Simulate a tiny session whose result is known, and learn from it."""
    try:
        problem = known_result()
    except Exception as error:  # whatever is broken
        problem = f"{type(error).__name__}: {error}".splitlines()[0]
    said = problem or "a tiny session was simulated and decoded as expected"
    remedy = _pip("--force-reinstall bciigl") if problem else ""
    yield Finding("self-test", FAILED if problem else OK, said, remedy, needed=True)


KNOWN = [0, 0, 1, 2, 2, 0, 2, 0]
"""What the person of the self-test imagines first."""


def known_result() -> str:
    """Return what is wrong with the result of a session that is known, or nothing."""
    from bciigl.loop import simulate
    from bciigl.protocol import load
    from bciigl.study.learning import learn_from

    changes: dict[str, Any] = {"task.trials": 92, "evaluation.test_trials": 46}
    changes |= {"brain.noise": 0.05, "seed": 0}
    sessions = simulate(load("number_guessing", changes=changes))
    imagined = sessions["train"].truth.meant[: len(KNOWN)].tolist()
    if imagined != KNOWN:
        return f"other options were imagined than expected: {imagined}, not {KNOWN}"
    result = learn_from(sessions, "ai_igl")
    if result.accuracy != 100 or result.diagnosis.verdict != "trust":
        return f"{result.accuracy:.1f} % were decoded, not 100 % ({result.diagnosis.verdict})"
    return ""


CHECKS: tuple[Callable[[], Iterator[Finding]], ...] = (
    *(_versions, _packages, _extras, _lsl, _browser),
    *(_folders, _space, _threads, _self_test),
)
