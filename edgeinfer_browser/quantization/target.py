"""What a quantized file has to reach: quality, size, speed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from edgeinfer_browser.errors import InputError, UnknownNameError
from edgeinfer_browser.quantization.search_log import Trial

_QUALITIES = ("cosine", "worst")


@dataclass(frozen=True, slots=True)
class Target:
    """All of it has to hold, on the calibration texts."""

    #: Least mean cosine to fp32; for logits see :mod:`edgeinfer_browser.quantization.closeness`.
    cosine: float
    #: Least cosine of any text.
    worst: float = -1.0
    #: Most megabytes (1e6 bytes) of all files of the variant.
    max_mb: float = math.inf
    #: Most time of a run in WASM, as a multiple of plain int8's.
    max_slowdown: float = math.inf

    def quality_reached(self, trial: Trial) -> bool:
        """Whether the answers are close enough."""
        return trial.mean >= self.cosine and trial.worst >= self.worst

    def within_budget(self, trial: Trial) -> bool:
        """Whether size and estimated time are."""
        return trial.mb <= self.max_mb and trial.slowdown <= self.max_slowdown

    def __str__(self) -> str:
        words = [f"mean cosine {self.cosine:g}"]
        words += [f"worst {self.worst:g}"] if self.worst > -1 else []
        words += [f"at most {self.max_mb:g} MB"] if self.max_mb < math.inf else []
        words += [f"at most {self.max_slowdown:g}x plain int8's time"] if self.max_slowdown < math.inf else []
        return ", ".join(words)


def parse_target(text: str, max_mb: float | None = None, max_slowdown: float | None = None) -> Target:
    """``cosine=0.995`` or ``cosine=0.995,worst=0.98``, and the budgets (None: any).

    Raises:
        InputError: when there is no cosine, or a value is no number from 0 to 1, or a budget is not above 0.
        UnknownNameError: for another name.
    """
    given: dict[str, float] = {}
    for part in text.split(","):
        name, _, value = part.partition("=")
        if name.strip() not in _QUALITIES:
            raise UnknownNameError.of("target", name.strip(), _QUALITIES)
        given[name.strip()] = _number(value, name.strip())
    if "cosine" not in given:
        raise InputError(f"The target {text!r} names no mean cosine. Say e.g. cosine=0.995,worst=0.98.")
    for what, budget in (("size", max_mb), ("slowdown", max_slowdown)):
        if budget is not None and not budget > 0:
            raise InputError(f"A {what} of at most {budget:g} cannot be reached by any file.")
    return Target(given["cosine"], given.get("worst", -1.0), max_mb or math.inf, max_slowdown or math.inf)


def _number(text: str, name: str) -> float:
    try:
        value = float(text)
    except ValueError as error:
        raise InputError(f"{name}={text} is no number. Say e.g. {name}=0.99.") from error
    if not 0 <= value <= 1:
        raise InputError(f"{name}={text}: a cosine to reach is from 0 to 1.")
    return value
