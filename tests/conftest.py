"""What tests of several rooms share."""

import os
from pathlib import Path

# Before numpy is imported, here and in the workers: two processes have a core each.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import HealthCheck, settings

from bciigl.cli.main import cli

# Time never decides a test; fixtures that examples share hold nothing an example changes.
# Few examples where someone waits for them, many where nobody does.
for profile, examples in {"bciigl": 10, "ci": 60}.items():
    settings.register_profile(
        profile,
        max_examples=examples,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture],
    )
settings.load_profile("ci" if os.environ.get("CI") else "bciigl")


@pytest.fixture
def bciigl():
    """Run the command line in this process; anything but a clean exit is an error."""

    def run(*arguments: object) -> Result:
        return CliRunner().invoke(cli, [str(each) for each in arguments], catch_exceptions=False)

    return run


@pytest.fixture
def write(tmp_path: Path):
    """Write a protocol file and return its path."""

    def write_file(content: str | bytes, name: str = "mine.yaml") -> Path:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


@pytest.fixture
def npz(tmp_path: Path):
    """Write arrays to an NPZ file and return its path; None leaves an array out."""

    def write_arrays(**arrays: np.ndarray | None) -> Path:
        path = tmp_path / "arrays.npz"
        np.savez(path, **{name: array for name, array in arrays.items() if array is not None})
        return path

    return write_arrays
