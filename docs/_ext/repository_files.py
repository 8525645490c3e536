"""Files of the repository that are pages of the site, too: the changelog, measured results.

They are written as they are to be read in the repository, with links from file to file. So each is
copied into the site before it is built, and links between them lead to the copies.
"""

import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]
PAGES = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    **{
        f"benchmarks/{each.name}": f"benchmarks/{each.name}"
        for each in (ROOT / "benchmarks").glob("*.md")
    },
}
"""A page of the site by its file in the repository."""
LINK = re.compile(r"\[([^\[\]]*)\]\(([^)#:\s]+)(#[^)\s]*)?\)")


def setup(app: Sphinx) -> dict[str, Any]:
    """Copy the files, and lead all links to the copies."""
    app.connect("builder-inited", _copy)
    app.connect("source-read", _lead_links)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _copy(app: Sphinx) -> None:
    for file, page in PAGES.items():
        text, copy = (ROOT / file).read_text(), Path(app.srcdir, page)
        copy.parent.mkdir(exist_ok=True)
        # Sphinx reads what has changed.
        if not copy.exists() or copy.read_text() != text:
            copy.write_text(text)


def _lead_links(app: Sphinx, name: str, source: list[str]) -> None:
    page = f"{name}.md"
    files = {page: file for file, page in PAGES.items()}
    here = (ROOT / files.get(page, f"docs/{page}")).parent
    if (Path(app.srcdir) / page).exists():
        source[0] = LINK.sub(lambda link: _led(link, here, Path(page).parent), source[0])


def _led(link: re.Match, here: Path, page_folder: Path) -> str:
    words, target, section = link[1], (here / link[2]).resolve(), link[3] or ""
    if not target.is_relative_to(ROOT):
        return link[0]
    file = str(target.relative_to(ROOT))
    if page := PAGES.get(file) or (file.startswith("docs/") and file.removeprefix("docs/")):
        return f"[{words}]({'../' * len(page_folder.parts)}{page}{section})"
    # Not a part of the site, such as a notebook.
    return f"`{file}`" if words in (file, target.name) else f"{words} (`{file}`)"
