"""Equations as MathML, which browsers draw themselves: no script, no font, no request."""

from typing import Any

from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the renderer "mathml"."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _inline(writer: Any, node: Any) -> None:
    writer.body.append(tex2mathml(node.astext()))
    _skip()


def _block(writer: Any, node: Any) -> None:
    # A wide equation scrolls in itself, not the page.
    equation = tex2mathml(node.astext(), as_block=True)
    writer.body.append(f'<div class="equation">{equation}</div>')
    _skip()


def _skip() -> None:
    from docutils.nodes import SkipNode

    raise SkipNode
