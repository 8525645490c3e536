"""How long `bciigl --help` and `import bciigl` take, as multiples of what they cannot do without.

`bciigl --help` is compared with `python -c "import click"`, `import bciigl` with `python -c pass`,
in the same run.

Usage: python benchmarks/startup.py [REPEATS]
"""

import subprocess
import sys
import time
from statistics import median

COMMANDS = {
    "pass": [sys.executable, "-c", "pass"],
    "import bciigl": [sys.executable, "-c", "import bciigl"],
    "import click": [sys.executable, "-c", "import click"],
    "bciigl --help": [f"{sys.prefix}/bin/bciigl", "--help"],
}
BARS = (("import bciigl", "pass", 1.5), ("bciigl --help", "import click", 4))
"""What is compared with what, and how many times as long it may take."""


def seconds(command: list[str]) -> float:
    """Return how long one run of a command takes."""
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main() -> None:
    """Time the commands in turn, so that all see the same load."""
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    times = {name: [] for name in COMMANDS}
    for _ in range(repeats):
        for name, command in COMMANDS.items():
            times[name].append(seconds(command))
    for name, values in times.items():
        print(f"{name:14s} {1000 * median(values):6.0f} ms (median of {repeats})")
    for full, base, most in BARS:
        print(f"{full}: {median(times[full]) / median(times[base]):.2f} of {base} (at most {most})")


if __name__ == "__main__":
    main()
