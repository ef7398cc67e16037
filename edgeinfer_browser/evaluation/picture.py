"""A picture of quality against size: what each megabyte of a variant buys."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from edgeinfer_browser.errors import InputError, OutputError
from edgeinfer_browser.packing.quality import QUALITY_FLOOR

PANELS_ABREAST = 3
#: Share of the width within which a name would touch the next point.
NEAR = 0.14
Place = tuple[tuple[int, int], Literal["left", "right", "center"], Literal["top", "center", "bottom"]]
#: Where a point's name goes: in points from it, and how it is aligned there.
RIGHT: Place = ((9, 0), "left", "center")
LEFT: Place = ((-9, 0), "right", "center")
ABOVE: Place = ((0, 8), "center", "bottom")
BELOW: Place = ((0, -8), "center", "top")
FORMATS = (".png", ".svg")
#: dtype -> colour (Okabe and Ito's set, told apart by colour-blind readers) and marker (told apart in grey).
LOOKS = {
    "fp32": ("#000000", "o"),
    "fp16": ("#0072B2", "s"),
    "q8": ("#D55E00", "D"),
    "q4": ("#009E73", "^"),
    "q4f16": ("#CC79A7", "v"),
}


def require_format(path: Path) -> None:
    """Refuse a file name that ends in neither .svg nor .png.

    Raises:
        InputError: naming the file.
    """
    if path.suffix.lower() not in FORMATS:
        raise InputError(f"--picture {path}: the name must end in {' or '.join(FORMATS)}.", path=str(path))


def draw(report: Mapping[str, Any], path: Path) -> None:
    """Draw a report of :func:`edgeinfer_browser.evaluation.report.evaluate`, one panel for each way to see quality.

    Raises:
        OutputError: when the file cannot be written.
    """
    panels = _panels(report)
    wide = min(len(panels), PANELS_ABREAST)
    high = -(-len(panels) // wide)
    figure = Figure(figsize=(1.2 + 4.8 * wide, 0.6 + 3.8 * high), layout="constrained")
    axes = list(figure.subplots(high, wide, squeeze=False).flat)
    for axis, (title, floor, floor_name, points) in zip(axes, panels, strict=False):
        _panel(axis, title, floor, floor_name, points)
    for axis in axes[len(panels) :]:
        axis.set_axis_off()
    figure.suptitle(
        f"{report['model']['name']}: quality against size, {report['texts']['count']} texts (up and left is better)"
    )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, dpi=160, metadata={"Date": None} if path.suffix.lower() == ".svg" else None)
    except OSError as error:
        raise OutputError(f"{path} could not be written: {error.strerror or error}.", path=str(path)) from error


#: dtype -> megabytes, quality, how far down and how far up its bar goes.
Points = dict[str, tuple[float, float, float, float]]
Panel = tuple[str, float | None, str, Points]


def _panels(report: Mapping[str, Any]) -> list[Panel]:
    variants = report["variants"]
    sizes = {dtype: variant["bytes"] / 1e6 for dtype, variant in variants.items() if variant["agreement"]}
    found: list[Panel] = []
    for output in next(iter(variants.values()))["agreement"]:
        compared = {dtype: variants[dtype]["agreement"][output] for dtype in sizes}
        if "same_label" in compared["fp32"]:
            shares = {d: (sizes[d], each["same_label"] * 100, 0.0, 0.0) for d, each in compared.items()}
            found.append((f"{output}: same label as fp32, %", QUALITY_FLOOR * 100, "not advised below", shares))
        else:
            cosines = {
                d: (sizes[d], each["mean_cosine"], each["mean_cosine"] - each["worst_cosine"], 0.0)
                for d, each in compared.items()
            }
            found.append(
                (
                    f"{output}: cosine to fp32\nmean, bar down to the worst text",
                    QUALITY_FLOOR,
                    "not advised below",
                    cosines,
                )
            )
        right = {d: variants[d]["accuracy"][output] for d in sizes if output in variants[d]["accuracy"]}
        if right:
            bars = {
                d: (sizes[d], r["accuracy"] * 100, r["half_width"] * 100, r["half_width"] * 100)
                for d, r in right.items()
            }
            majority = next(iter(right.values()))["majority"] * 100
            found.append((f"{output}: accuracy, %\nbar: 95 % interval", majority, "always the commonest label", bars))
    return found


def _panel(axis: Axes, title: str, floor: float | None, floor_name: str, points: Points) -> None:
    widest = max(size for size, *_ in points.values()) * 1.3
    for dtype, (size, quality, down, up) in points.items():
        colour, marker = LOOKS[dtype]
        axis.errorbar(size, quality, yerr=[[down], [up]], color=colour, marker=marker, markersize=8, capsize=4)
        shift, across, along = _place(size, sorted(each[0] for each in points.values()), NEAR * widest)
        axis.annotate(
            f"{dtype}\n{size:.0f} MB",
            (size, quality),
            shift,
            textcoords="offset points",
            ha=across,
            va=along,
            color=colour,
        )
    axis.set_title(title, fontsize=10)
    axis.set_xlabel("download, MB")
    axis.set_xlim(0, widest)
    axis.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
    axis.grid(alpha=0.3)
    axis.spines[["top", "right"]].set_visible(False)
    if floor is not None:
        axis.axhline(floor, color="#666666", linestyle="--", linewidth=1)
        axis.annotate(
            floor_name, (0.99, floor), xycoords=("axes fraction", "data"), va="bottom", ha="right", fontsize=8
        )


def _place(size: float, sizes: list[float], near: float) -> Place:
    """To the right; where a larger point is near, to the left; between two, or at the edge, above and below in turn."""
    index = sizes.index(size)
    if index + 1 == len(sizes) or sizes[index + 1] - size > near:
        return RIGHT
    if size - (sizes[index - 1] if index else 0.0) > near:
        return LEFT
    return ABOVE if index % 2 else BELOW
