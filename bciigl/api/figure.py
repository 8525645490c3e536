"""Where figures are drawn in notebooks and scripts."""

from matplotlib.axes import Axes

from bciigl.report import style


def new_axes(ax: Axes | None = None, height: float = 3.3) -> Axes:
    """Return given axes, or those of a new figure, that notebooks and `plt.show` show."""
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(style.WIDTH, height), layout="constrained")[1]
