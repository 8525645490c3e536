"""How long `bciigl --help` takes, as a multiple of `python -c "import click"` in the same run.

Usage: python benchmarks/startup.py [REPEATS]
"""

import subprocess
import sys
import time
from statistics import median

COMMANDS = {
    "import click": [sys.executable, "-c", "import click"],
    "bciigl --help": [f"{sys.prefix}/bin/bciigl", "--help"],
}


def seconds(command: list[str]) -> float:
    """Return how long one run of a command takes."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Time the two commands in turn, so that both see the same load."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    times = {name: [] for name in COMMANDS}
    for _ in range(repeats):
        for name, command in COMMANDS.items():
            times[name].append(seconds(command))
    for name, values in times.items():
        print(f"{name:14s} {1000 * median(values):6.0f} ms (median of {repeats})")
    base, full = (median(values) for values in times.values())
    print(f"ratio          {full / base:6.2f} (at most 4)")


if __name__ == "__main__":
    main()
