"""Figures: lines through the means over seeds, and beside them what a publication reports.

Every line is drawn at its true values. Lines that coincide differ in width, dashes and markers: the wide lines
and the large open markers are drawn first, the thin lines and the small filled markers on top of them. The colours
differ in lightness, so that the figures can be read in grey.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import cycle
from math import inf, log
from pathlib import Path
from statistics import mean, median
from typing import Any

from _tables import accuracies

from npi.evaluation.results import Run

WIDTH = 7.0  # of a figure, in inches
DPI = 150  # a page shows a figure about 700 pixels wide: sharp there, and on denser screens
PANEL_HEIGHT = 2.9
STRIP_ROW = 0.23  # height of a line of text in the strip of published values
LEGEND_ROW = 0.17
WIDEST_LABEL = 26  # letters of a label in a legend of three columns
NARROWEST = 0.045  # between two labels of an x axis, as a fraction of it
TRAINED = "0.9"  # the grey behind the training lengths
HOW_DRAWN = (
    "Bands run from the lowest to the highest seed. A line ends at the longest tested length; after two lengths\n"
    "without a correct answer, a baseline was tested no further."
)
TEXT: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "axes.labelsize": 9,
    "legend.fontsize": 8.5,
    "legend.title_fontsize": 8.5,
    "legend.frameon": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "grid.color": "0.85",
    "grid.linewidth": 0.6,
}


@dataclass(frozen=True)
class Style:
    """How a learner is drawn; `dashes` is a line style of matplotlib, sizes are in points."""

    colour: str
    dashes: Any
    width: float
    marker: str
    size: float
    filled: bool


STYLES = (
    Style("#8fc1e8", "-", 4.0, "o", 9.5, False),
    Style("#08306b", "-", 1.3, "o", 3.5, True),
    Style("#e6550d", (0, (4, 2)), 2.2, "^", 7.5, False),
    Style("#00592a", (0, (6, 1.5, 1, 1.5)), 2.0, "s", 6.5, False),
    Style("#7a4fb5", (0, (1, 1)), 2.0, "D", 3.8, True),
    Style("#a6a6a6", (0, (5, 1)), 2.4, "v", 8.0, False),
    Style("#8c2d04", (0, (2, 1)), 1.4, "P", 5.0, True),
    Style("#d6a400", (0, (8, 2, 1, 2, 1, 2)), 2.6, "h", 8.5, False),
    Style("#1a1a1a", (0, (1, 2.5)), 1.6, "X", 4.5, True),
    Style("#c51b8a", (0, (3, 3)), 1.6, "<", 6.0, False),
)


# Learners that have the same style in every figure.
STYLE_OF = {
    "loop": 0,
    "recursive": 1,
    "s2s": 2,
    "s2s-easy": 2,
    "s2s-stacked": 3,
    "s2s-plain": 4,
    "transformer": 5,
}


@dataclass(frozen=True)
class Line:
    """A learner: its name, a value for each seed by x, and the number of its style."""

    name: str
    points: Mapping[int, Sequence[float]]
    style: int


@dataclass(frozen=True)
class Reach:
    """What a publication says in words: from which x to which. Without a start, from the first x of the figure."""

    text: str
    end: float
    start: float | None = None


def styles_of(learners: Iterable[str]) -> dict[str, int]:
    """The number of the style of each learner: those of STYLE_OF, and the next free ones for others."""
    learners = list(learners)
    found = {learner: STYLE_OF[learner] for learner in learners if learner in STYLE_OF}
    free = cycle(sorted(set(range(len(STYLES))) - set(found.values())))
    return {learner: found[learner] if learner in found else next(free) for learner in learners}


def tested(runs: Sequence[Run]) -> dict[int, list[float]]:
    """By length, the accuracy of each run, at the lengths that at least one run was tested on."""
    tried = {score["length"] for run in runs for score in run.result["scores"]}
    return {length: values for length, values in accuracies(runs).items() if length in tried}


def pyplot() -> Any:
    """The library for figures, set to write files and to the sizes of our text."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcdefaults()
    pyplot.rcParams.update(TEXT)
    return pyplot


def save(figure: Any, path: Path, renderings: bool = False) -> None:
    """Write a PNG file: of 256 colours, which takes a third of the space, unless it shows renderings of cars."""
    from PIL import Image

    drawn = BytesIO()
    figure.savefig(drawn, dpi=DPI, format="png")
    image = Image.open(drawn).convert("RGB")
    (image if renderings else image.quantize(256, dither=Image.Dither.NONE)).save(path, optimize=True)
    pyplot().close(figure)


def plot_lines(axes: Any, lines: Iterable[Line], scale: float = 100) -> list[Any]:
    """Draw lines with a band from the lowest to the highest seed. Returns their entries of the legend."""
    from matplotlib.colors import to_rgba
    from matplotlib.lines import Line2D

    handles = []
    for line in lines:
        style = STYLES[line.style % len(STYLES)]
        x = sorted(line.points)
        middle, low, high = ([scale * of(line.points[at]) for at in x] for of in (mean, min, max))
        face = style.colour if style.filled else "none"
        strokes = {"color": style.colour, "linestyle": style.dashes, "linewidth": style.width}
        marks = {"marker": style.marker, "markersize": style.size, "markerfacecolor": face, "markeredgewidth": 1.2}
        # Solid lines lie below dashed ones, and large markers below small ones.
        depth = style.width + 10 * (style.dashes == "-")
        axes.plot(x, middle, **strokes, zorder=3 - depth / 100)
        axes.plot(x, middle, color=style.colour, linestyle="none", **marks, zorder=4 - style.size / 100)
        if low != high:
            face, edge = (to_rgba(style.colour, alpha) for alpha in (0.18, 0.5))
            axes.fill_between(x, low, high, facecolor=face, edgecolor=edge, linewidth=0.6, zorder=1)
        handles.append(Line2D([], [], **strokes, **marks, label=line.name.replace("`", "")))
    return handles


def shade_training(axes: Any, longest: float, label: str) -> list[Any]:
    """Shade the lengths up to the longest of training. Returns the entry of the legend."""
    from matplotlib.patches import Patch

    left, right = axes.get_xlim()
    axes.axvspan(left, longest, color=TRAINED, linewidth=0, zorder=0)
    axes.set_xlim(left, right)
    return [Patch(color=TRAINED, label=label)]


def plot_points(
    axes: Any, points: Iterable[tuple[float, float]], label: str, marker: str = "*", size: float = 13, edge: float = 1
) -> list[Any]:
    """Mark published values, as (x, y). Returns the entry of the legend."""
    from matplotlib.lines import Line2D

    look = {"marker": marker, "markersize": size, "markerfacecolor": "#ffe14d", "markeredgecolor": "black"}
    look["markeredgewidth"] = edge
    values = list(points)
    for x, y in values:
        axes.plot(x, y, **look, linestyle="none", zorder=6)
    return [Line2D([], [], **look, linestyle="none", label=label)] if values else []


def plot_reaches(axes: Any, reaches: Sequence[Reach]) -> None:
    """Draw what a publication says in words, a row for each."""
    place = axes.transScale + axes.transLimits  # from x to the fraction of the axis
    left, right = axes.get_xlim()
    for row, reach in enumerate(reaches):
        start = left if reach.start is None else reach.start
        axes.plot([start, reach.end], [-row, -row], color="black", linewidth=1.2)
        ends = [reach.end] if reach.start is None else [start, reach.end]
        axes.plot(ends, [-row] * len(ends), color="black", marker="|", markersize=9, markeredgewidth=1.8, ls="none")
        at_start, at_end = (place.transform((x, 0))[0] for x in (start, reach.end))
        boxed = {"va": "center", "fontsize": 8.5, "textcoords": "offset points"}
        if at_end < 0.5:
            axes.annotate(reach.text, (reach.end, -row), (6, 0), ha="left", **boxed)
        elif at_start > 0.5:
            axes.annotate(reach.text, (start, -row), (-6, 0), ha="right", **boxed)
        else:  # on the line itself
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
            axes.annotate(reach.text, (reach.end, -row), (-14, 0), ha="right", bbox=box, **boxed)
    axes.set_xlim(left, right)
    axes.set_ylim(-len(reaches) + 0.3, 0.7)
    axes.set_yticks([])
    axes.set_ylabel("paper", rotation=0, ha="right", va="center")
    axes.tick_params(axis="x", bottom=False, labelbottom=False)


def set_length_axis(axes: Any, ticks: Sequence[int], base: float = 10) -> None:
    """A logarithmic x axis, with plain numbers at the ticks; ticks too close to the one before have none."""
    axes.set_xscale("log", base=base)
    labels, last = [], 0.0
    for x in ticks:
        apart = not last or log(x / last) > NARROWEST * log(max(ticks) / min(ticks))
        labels.append(f"{x:,}" if apart else "")
        last = x if apart else last
    axes.set_xticks(ticks, labels)
    axes.minorticks_off()


def set_percent_axis(axes: Any, label: str = "correct answers, %") -> None:
    axes.set_ylim(-6, 106)
    axes.set_yticks(range(0, 101, 20))
    axes.set_ylabel(label)


def legend_below(axes: Any, handles: Sequence[Any], title: str | None = None) -> None:
    """A legend below the label of the x axis, where it hides nothing: three columns if they fit, otherwise two."""
    from matplotlib.transforms import ScaledTranslation

    columns = 3 if max((len(handle.get_label()) for handle in handles), default=0) <= WIDEST_LABEL else 2
    below = axes.transAxes + ScaledTranslation(0, -0.4, axes.figure.dpi_scale_trans)
    axes.legend(
        handles=handles, ncols=columns, loc="upper left", bbox_to_anchor=(0, 0), bbox_transform=below, title=title,
        alignment="left", borderaxespad=0, handlelength=3, columnspacing=1.5,
    )  # fmt: skip


def write_note(figure: Any, text: str) -> None:
    """Sentences below everything else."""
    figure.supxlabel(text, fontsize=8.5, x=0.01, ha="left")


def draw_lines(
    path: Path,
    panels: Mapping[str, Sequence[Line]],
    x_label: str,
    ticks: Sequence[int],
    trained: int | None = None,
    stars: Sequence[tuple[float, float]] = (),
    star_label: str = "paper",
    reaches: Sequence[Reach] = (),
    legend_title: str | None = None,
    note: str = "",
) -> None:
    """Accuracies in percent, one panel below the other, and above them a strip with what the paper says in words.

    path      the PNG file to write
    panels    the title of each panel, and its lines
    ticks     the labelled x; the x axis is logarithmic
    trained   the longest training length: lengths up to it are shaded
    stars     published values, as (x, percent)
    reaches   what the paper says in words
    note      a sentence below the last panel
    """
    shown = {title: lines for title, lines in panels.items() if lines} or dict(list(panels.items())[:1])
    tried = {x for lines in shown.values() for line in lines for x in line.points}
    ticks = [x for x in ticks if min(tried) <= x <= max(tried)] if tried else ticks
    strips = [STRIP_ROW * len(reaches)] if reaches else []
    entries = max(len(lines) for lines in shown.values()) + 2
    height = sum(strips) + len(shown) * (PANEL_HEIGHT + LEGEND_ROW * entries / 3) + 0.4
    figure, grid = pyplot().subplots(
        len(strips) + len(shown), figsize=(WIDTH, height), sharex=True, squeeze=False, layout="constrained",
        height_ratios=[*strips, *[PANEL_HEIGHT] * len(shown)],
    )  # fmt: skip
    everywhere = grid[:, 0]
    for axes, (title, lines) in zip(everywhere[len(strips) :], shown.items(), strict=True):
        handles = plot_lines(axes, lines)
        set_length_axis(axes, ticks)
        set_percent_axis(axes)
        axes.set_title(title)
        axes.set_xlabel(x_label)
        axes.tick_params(labelbottom=True)
        if trained is not None:
            handles += shade_training(axes, trained, f"training lengths, up to {trained}")
        handles += plot_points(axes, stars, star_label)
        legend_below(axes, handles, title=legend_title)
    if strips:
        plot_reaches(everywhere[0], reaches)
    if note:
        write_note(figure, note)
    save(figure, path)


def draw_updates(path: Path, panels: Mapping[str, Mapping[str, Sequence[float | None]]], limit: int) -> None:
    """Updates until every frame was right: a dot for each seed, and the median of each kind of run.

    panels    the title of each panel, and by kind of run the updates of each seed; None if they were not enough
    limit     the most updates of a run: a seed that did not learn every frame is marked there
    """
    from matplotlib.lines import Line2D

    learned = {"marker": "o", "color": "#3182bd", "markersize": 4.5, "linestyle": "none", "markeredgecolor": "#08306b"}
    never = {"marker": ">", "color": "#e6550d", "markersize": 5.5, "linestyle": "none", "markerfacecolor": "white"}
    middle = {"marker": "|", "color": "black", "markersize": 13, "linestyle": "none", "markeredgewidth": 1.8}
    end = {"color": "0.4", "linestyle": "--", "linewidth": 1}
    kinds = max((len(panel) for panel in panels.values()), default=1)
    rows = -(-len(panels) // 2) or 1
    figure, grid = pyplot().subplots(
        rows, 2, figsize=(WIDTH, rows * (0.38 * kinds + 0.55) + 0.5), sharex=True, squeeze=False, layout="constrained"
    )
    places = list(grid.flat)
    for axes, (title, panel) in zip(places, panels.items(), strict=False):
        axes.axvline(limit, **end, zorder=1)
        for row, values in enumerate(panel.values()):
            for seed, updates in enumerate(values):
                height = row + 0.7 * ((seed + 0.5) / len(values) - 0.5)  # seeds with equal updates stay apart
                axes.plot(limit if updates is None else updates, height, **(never if updates is None else learned))
            found = median(inf if updates is None else updates for updates in values)
            if found < inf:
                axes.plot(found, row, **middle, zorder=3)
        axes.set_yticks(range(len(panel)), panel)
        axes.set_ylim(len(panel) - 0.5, -0.5)
        axes.set_xlim(0, 1.06 * limit)
        axes.grid(False, axis="y")
        axes.set_title(title)
        axes.tick_params(labelbottom=True)
    for axes in places[len(panels) :]:
        axes.axis("off")
    figure.supxlabel("updates until every frame is right", fontsize=9)
    handles = [
        Line2D([], [], **learned, label="one seed"),
        Line2D([], [], **middle, label="median"),
        Line2D([], [], **never, label="a seed that did not learn every frame"),
        Line2D([], [], **end, label=f"limit of {limit:,} updates"),
    ]
    figure.legend(handles=handles, loc="outside upper left", ncols=4)
    save(figure, path)
