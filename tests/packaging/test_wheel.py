"""What people get who install a built package, without the repository and without a network."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = "bciigl data protocols LICENSE MANIFEST.in README.md pyproject.toml setup.cfg".split()
SOURCES += "CHANGELOG.md CITATION.cff SECURITY.md codemeta.json".split()

pytestmark = pytest.mark.slow


def run(*command: object, cwd: Path) -> str:
    """Run a program as somebody does who has no repository, and return what it prints."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        [str(each) for each in command], cwd=cwd, env=clean, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def sources(tmp_path_factory) -> Path:
    """Return a copy of what is packaged, so that building leaves nothing in the repository."""
    folder = tmp_path_factory.mktemp("sources")
    for name in SOURCES:
        path = ROOT / name
        if path.is_dir():
            ignore = shutil.ignore_patterns("__pycache__")
            shutil.copytree(path, folder / name, symlinks=True, ignore=ignore)
        else:
            shutil.copy(path, folder)
    return folder


def build_wheel(source: Path, out: Path) -> Path:
    pip = (sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", out)
    run(*pip, source, cwd=out)
    (wheel,) = out.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(sources, tmp_path_factory) -> Path:
    return build_wheel(sources, tmp_path_factory.mktemp("wheel"))


@pytest.fixture(scope="module")
def sdist(sources, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("sdist")
    code = "import sys, setuptools.build_meta as b; b.build_sdist(sys.argv[1])"
    run(sys.executable, "-c", code, out, cwd=sources)
    (archive,) = out.glob("*.tar.gz")
    return archive


def packaged() -> set[str]:
    """Return all files of the package, as they stand in the repository."""
    package = ROOT / "bciigl"
    paths = [*package.rglob("*"), *(package / "data").iterdir(), *(package / "protocols").iterdir()]
    paths = [path for path in paths if path.is_file() and "__pycache__" not in path.parts]
    return {path.relative_to(ROOT).as_posix() for path in paths}


# In the repository for people and editors; `bciigl protocol schema` makes the schema.
NOT_PACKAGED = {"bciigl/data/README.md", "bciigl/protocols/protocol.schema.json"}


def test_the_wheel_has_all_that_the_package_reads(wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in names if ".dist-info/" not in name} == packaged() - NOT_PACKAGED
    assert {"bciigl/py.typed", "bciigl/data/table2.csv", "bciigl/live/pages/screen.js"} < names


def test_a_wheel_made_of_the_source_archive_is_the_same(wheel, sdist, tmp_path):
    with tarfile.open(sdist) as archive:
        names = archive.getnames()
        archive.extractall(tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    assert {f"{source.name}/CITATION.cff", f"{source.name}/CHANGELOG.md"} < set(names)
    (out := tmp_path / "wheel").mkdir()
    found, wanted = (zipfile.ZipFile(each) for each in (build_wheel(source, out), wheel))
    for name in wanted.namelist():
        if not name.endswith("RECORD"):
            assert found.read(name) == wanted.read(name), name


def test_the_installed_package_simulates_and_learns(wheel, tmp_path):
    home, elsewhere = tmp_path / "venv", tmp_path / "elsewhere"
    elsewhere.mkdir()
    venv.create(home)
    python = home / "bin" / "python"
    pip = (sys.executable, "-m", "pip", "--python", python, "install", "--no-deps", "--no-index")
    run(*pip, wheel, cwd=elsewhere)
    # The packages it needs are those of the tests' own environment.
    find = "import sysconfig; print(sysconfig.get_path('purelib'))"
    site = Path(run(python, "-c", find, cwd=elsewhere).strip())
    (site / "requirements.pth").write_text(sysconfig.get_path("purelib") + "\n")

    where = run(python, "-c", "import bciigl; print(bciigl.__file__)", cwd=elsewhere)
    assert Path(where.strip()).parent == site / "bciigl"
    bciigl = home / "bin" / "bciigl"
    shipped = {path.stem for path in (ROOT / "protocols").glob("*.yaml")}
    listed = run(bciigl, "protocol", "list", cwd=elsewhere)
    assert all(name in listed for name in shipped)
    command = (bciigl, "simulate", "--trials", 138, "--noise", 0.05, "--out", "session", "--json")
    document = json.loads(run(*command, cwd=elsewhere))
    assert document["learners"]["ai_igl"]["diagnosis"]["verdict"] == "trust"
    run(bciigl, "report", "session", cwd=elsewhere)
    assert (elsewhere / "session" / "derivatives" / "bciigl" / "report.html").is_file()
