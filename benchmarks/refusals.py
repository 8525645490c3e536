"""How long the worst protocol files take to be refused, beside a valid one in the same run.

Usage: python benchmarks/refusals.py
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

FULL = 255_000
"""Just under the size that is refused unread."""

FILES = {
    "10 MB of YAML": "- a\n" * 2_500_000,
    "sequence": "- a\n" * (FULL // 4),
    "mapping": "".join(f"k{i}: 1\n" for i in range(FULL // 11)),
    "one key over and over": "k: 1\n" * (FULL // 5),
    "unknown keys": "".join(f"key{i}: 1\n" for i in range(2_000)),
    "open brackets": "[" * FULL,
    "open braces": "{a: " * (FULL // 4),
    "nested sequences": "- " * (FULL // 2),
    "explicit keys": "? " * (FULL // 2),
    "blank lines": "\n" * FULL,
    "words": "a: " + "b " * (FULL // 2),
    "folded text": "a: >\n" + "  b\n\n" * (FULL // 5),
    "tag": "!<" + "a" * FULL + "> b",
    "many options": f"name: x\ntask: {{options: {list(range(4_000))}}}\n",
}


def seconds(file: str) -> tuple[float, int]:
    """Return how long a check takes as a user runs it, and its exit code."""
    start = time.perf_counter()
    command = [f"{sys.prefix}/bin/bciigl", "protocol", "check", file]
    code = subprocess.run(command, capture_output=True, check=False).returncode
    return time.perf_counter() - start, code


def main() -> None:
    """Time each file once."""
    valid, _ = seconds("number_guessing")
    print(f"{'number_guessing (valid)':24s} {valid:5.2f} s")
    with tempfile.TemporaryDirectory() as folder:
        for name, content in FILES.items():
            path = Path(folder) / "file.yaml"
            path.write_text(content)
            elapsed, code = seconds(str(path))
            print(f"{name:24s} {elapsed:5.2f} s, {elapsed / valid:5.1f} times, exit {code}")


if __name__ == "__main__":
    main()
