"""What the documentation says can be run."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


SLOW = [[pytest.mark.slow] if page.parent.name == "docs" else [] for page in PAGES]
LONG = [pytest.param(page, marks=marks) for page, marks in zip(PAGES, SLOW, strict=True)]


@pytest.mark.parametrize("page", LONG, ids=[page.name for page in PAGES])
def test_python_in_the_documentation_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for code in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        exec(compile(code, page.name, "exec"), names)  # noqa: S102


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_project_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / link).exists(), link


def test_commands_in_the_documentation_exist(bciigl):
    text = "".join(page.read_text() for page in PAGES)
    for group, command in set(re.findall(r"bciigl (protocol|subject) ([a-z-]+)", text)):
        assert bciigl(group, command, "--help").exit_code == 0, (group, command)
