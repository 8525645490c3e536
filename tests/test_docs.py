"""What the documentation says can be run."""

import re
import runpy
from pathlib import Path

import click
import pytest

import bciigl
from bciigl.cli.main import cli

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
MADE = {"_build", "auto_gallery", "benchmarks", "changelog.md", "contributing.md"}
"""What building the site makes of other files: see docs/_ext/repository_files.py."""
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
PAGES += [
    each for each in sorted(DOCS.rglob("*.md")) if each.relative_to(DOCS).parts[0] not in MADE
]


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_in_the_documentation_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for code in re.findall(r"```python\n(.*?)```", page.read_text(), re.DOTALL):
        exec(compile(code, page.name, "exec"), names)  # noqa: S102


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_within_the_project_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
        assert (page.parent / link).exists(), link


def test_commands_and_options_in_the_documentation_exist():
    text = "\n".join(page.read_text() for page in PAGES).replace("\\\n", " ")
    calls = set(re.findall(r"(?:^\$ |`|bin/|&& )bciigl ([a-z][^`\n&]*)", text, re.MULTILINE))
    assert len(calls) > 100
    for call in calls:
        command, words = cli, call.split()
        while words and isinstance(command, click.Group) and not words[0].startswith("["):
            command = command.commands[words.pop(0)]
        known = {"-h", "--help"}.union(*(each.opts for each in command.params))
        assert {each.split("=")[0] for each in words if each.startswith("-")} <= known, call


def test_every_public_name_is_in_the_reference():
    listed = re.findall(
        r"^   bciigl\.(\S+)$", (DOCS / "reference/api.rst").read_text(), re.MULTILINE
    )
    assert {each.rpartition(".")[2] for each in listed} >= set(bciigl.__all__)


def test_page_of_commands_is_current():
    # to renew it: python docs/commands.py
    made = runpy.run_path(str(DOCS / "commands.py"))["page"]()
    assert (DOCS / "commands.md").read_text() == made
