"""What a new user tries first: the README's own Python block, in a fresh folder."""

import re
import time
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

README = (Path(__file__).parents[1] / "README.md").read_text()


@pytest.fixture
def own_figures():
    """Let figures be drawn into files, and close them afterwards."""
    plt.close("all")
    with plt.rc_context({"backend": "agg"}):
        yield
    plt.close("all")


def test_ten_lines_lead_to_a_fitted_plotted_trusted_session(
    tmp_path, monkeypatch, own_figures, capsys
):
    block = re.search(r"^```python\n(.*?)^```", README, re.DOTALL | re.MULTILINE).group(1)
    assert len(block.splitlines()) <= 10
    monkeypatch.chdir(tmp_path)
    began = time.perf_counter()
    names: dict = {}
    exec(compile(block, "README.md", "exec"), names)  # noqa: S102 (our own page)
    seconds = time.perf_counter() - began
    assert capsys.readouterr().out == "trust\n"
    with capsys.disabled():
        print(f"\n{len(block.splitlines())} lines, {seconds:.1f} s")  # noqa: T201

    assert names["results"].verdict == "trust"
    assert names["results"].accuracy > 85  # percent; chance is 33.3
    assert names["results"]["ai_igl"].learner.diagnose().verdict == "trust"
    (number,) = plt.get_fignums()
    axes = names["ax"]
    assert plt.figure(number) is axes.figure
    assert axes.get_xlabel()
    curves = [line for line in axes.get_lines() if len(line.get_xdata()) > 2]
    assert max(max(line.get_ydata()) for line in curves) > 85
    page = tmp_path / "report.html"
    assert "<html" in page.read_text() and "AI-IGL" in page.read_text()


def test_the_readme_is_short():
    text = re.sub(r"^```console\n.*?^```", "", README, flags=re.DOTALL | re.MULTILINE)
    assert len(text.split()) <= 1200
