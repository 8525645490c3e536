"""What notebooks show of an object: a title and a short table of facts."""

from collections.abc import Mapping
from html import escape


def facts_html(title: str, facts: Mapping[str, object], *, more: str = "") -> str:
    """Return a title and facts as HTML; `more` is long text that opens with a click."""
    rows = "".join(
        f'<tr><th style="text-align: left">{escape(name)}</th>'
        f'<td style="text-align: left">{escape(str(value))}</td></tr>'
        for name, value in facts.items()
    )
    hidden = f"<details><summary>all of it</summary><pre>{escape(more)}</pre></details>"
    return f"<b>{escape(title)}</b><table>{rows}</table>{hidden if more else ''}"


def facts_text(title: str, facts: Mapping[str, object]) -> str:
    """Return a title and facts as lines of text."""
    width = max(map(len, facts), default=0)
    return "\n".join([title, *(f"  {name:<{width}}  {value}" for name, value in facts.items())])
