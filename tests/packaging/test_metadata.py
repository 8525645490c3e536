"""What says what bciigl is: citation, codemeta, conda recipe, issue forms, all of one version."""

import configparser
import json
import re
from pathlib import Path

import jsonschema
import pytest
from jinja2 import Environment, StrictUndefined
from ruamel.yaml import YAML

from bciigl import __version__

ROOT = Path(__file__).parents[2]
AI_IGL, FMRISIM = "https://arxiv.org/abs/2206.08364", "10.7717/peerj.8564"

# The keys of the Citation File Format 1.2.0 that we use, as its guide has them. The whole schema is
# asked by `cffconvert --validate` before a release (docs/releasing.md).
TEXT = {"type": "string", "minLength": 1}
PERSON = {
    "type": "object",
    "properties": {"given-names": TEXT, "family-names": TEXT},
    "required": ["given-names", "family-names"],
    "additionalProperties": False,
}
ENTITY = {
    "type": "object",
    "properties": {"name": TEXT},
    "required": ["name"],
    "additionalProperties": False,
}
AUTHORS = {"type": "array", "items": {"anyOf": [PERSON, ENTITY]}, "minItems": 1}
REFERENCE = {
    "type": "object",
    "properties": {
        "type": {"enum": ["article", "conference-paper"]},
        "title": TEXT,
        "authors": AUTHORS,
        "scope": TEXT,
        "journal": TEXT,
        "collection-title": TEXT,
        "volume": {"type": ["integer", "string"]},
        "start": {"type": ["integer", "string"]},
        "year": {"type": "integer"},
        "doi": {"type": "string", "pattern": r"^10\.\d{4,9}/[\w.:;()/-]+$"},
        "url": {"type": "string", "pattern": r"^(https|http|ftp|sftp)://.+"},
        "identifiers": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"type": {"enum": ["doi", "url", "swh", "other"]}, "value": TEXT},
                "required": ["type", "value"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["authors", "title", "type"],
    "additionalProperties": False,
}
CITATION = {
    "type": "object",
    "properties": {
        "cff-version": {"const": "1.2.0"},
        "message": TEXT,
        "type": {"enum": ["software", "dataset"]},
        "title": TEXT,
        "abstract": TEXT,
        "version": {"type": "string"},
        "license": {"const": "MIT"},
        "date-released": {"type": "string", "pattern": r"^\d{4}-\d{2}-\d{2}$"},
        "authors": AUTHORS,
        "keywords": {"type": "array", "items": TEXT, "minItems": 1, "uniqueItems": True},
        "references": {"type": "array", "items": REFERENCE, "minItems": 1, "uniqueItems": True},
    },
    "required": ["authors", "cff-version", "message", "title"],
    "additionalProperties": False,
}


def read_yaml(path: Path):
    return YAML(typ="safe", pure=True).load(path.read_text())


@pytest.fixture(scope="module")
def setup() -> configparser.ConfigParser:
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    return parser


@pytest.fixture(scope="module")
def requirements(setup) -> dict[str, str]:
    """Return the least version of each package that bciigl needs."""
    lines = setup["options"]["install_requires"].strip().splitlines()
    return dict(re.match(r"([\w.-]+) >= ([\d.]+)", line).groups() for line in lines)


@pytest.fixture(scope="module")
def citation() -> dict:
    return read_yaml(ROOT / "CITATION.cff")


@pytest.fixture(scope="module")
def codemeta() -> dict:
    return json.loads((ROOT / "codemeta.json").read_text())


@pytest.fixture(scope="module")
def recipe() -> dict:
    text = (ROOT / "recipe" / "meta.yaml").read_text()
    environment = Environment(undefined=StrictUndefined)  # noqa: S701 (YAML, not HTML)
    rendered = environment.from_string(text).render(PYTHON="python")
    return YAML(typ="safe", pure=True).load(rendered)


def test_the_citation_is_valid_and_names_what_bciigl_builds_on(citation):
    jsonschema.validate(citation, CITATION)
    assert citation["authors"] == [{"name": "The bciigl developers"}]
    paper, simulator = citation["references"]
    assert (paper["url"], paper["year"], len(paper["authors"])) == (AI_IGL, 2022, 8)
    assert (simulator["doi"], simulator["year"]) == (FMRISIM, 2020)


@pytest.mark.parametrize(
    ("key", "value"), [("authors", []), ("authors", ["me"]), ("titel", "bciigl"), ("version", 0.3)]
)
def test_an_invalid_citation_would_be_found(citation, key, value):
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**citation, key: value}, CITATION)


def test_the_version_is_the_same_everywhere(citation, codemeta, recipe):
    versions = citation["version"], codemeta["version"], str(recipe["package"]["version"])
    assert set(versions) == {__version__}


def test_name_keywords_and_description_are_the_same_everywhere(setup, citation, codemeta, recipe):
    metadata = setup["metadata"]
    assert {citation["title"], codemeta["name"], recipe["package"]["name"]} == {metadata["name"]}
    keywords = metadata["keywords"].split(", ")
    assert citation["keywords"] == codemeta["keywords"] == keywords
    assert codemeta["description"] == recipe["about"]["summary"] == metadata["description"]
    assert codemeta["author"][0]["name"] == metadata["author"] == "The bciigl developers"


def test_codemeta_names_the_same_papers_and_requirements(codemeta, requirements):
    assert [each["@id"] for each in codemeta["citation"]] == [AI_IGL, f"https://doi.org/{FMRISIM}"]
    assert codemeta["softwareRequirements"] == list(requirements)
    assert codemeta["license"].endswith("/MIT")


def test_the_conda_recipe_needs_what_the_package_needs(setup, recipe, requirements):
    python, *packages = recipe["requirements"]["run"]
    assert python == "python " + setup["options"]["python_requires"]
    assert python in recipe["requirements"]["host"]
    assert dict(each.split(" >=") for each in packages) == requirements
    scripts = setup["options.entry_points"]["console_scripts"].strip()
    assert recipe["build"]["entry_points"] == [scripts]
    assert (ROOT / "recipe" / recipe["source"]["path"]).resolve() == ROOT
    assert (ROOT / recipe["about"]["license_file"]).is_file()


@pytest.mark.slow
def test_the_commands_that_test_the_conda_package_run(bciigl, recipe, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for line in recipe["test"]["commands"]:
        program, *words = line.split()
        assert (program, bciigl(*words).exit_code) == ("bciigl", 0), line


FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml"))


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_issue_forms_are_what_their_pages_show(path):
    form = read_yaml(path)
    assert set(form) == {"name", "description", "labels", "body"}
    fields = [each for each in form["body"] if each["type"] != "markdown"]
    ids = [each["id"] for each in fields]
    assert len(set(ids)) == len(ids) > 1
    for each in form["body"]:
        kind, attributes = each["type"], each["attributes"]
        assert kind in ("markdown", "textarea", "input", "dropdown", "checkboxes")
        assert attributes["value" if kind == "markdown" else "label"]
        assert (kind == "dropdown") == ("options" in attributes)
    assert fields[0]["validations"]["required"] is True


def test_there_are_forms_for_faults_ideas_and_questions():
    assert [path.stem for path in FORMS] == ["bug", "feature", "question"]
