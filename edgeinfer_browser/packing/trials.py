"""Trial runs: the dims of a graph's outputs found by running inputs of two sizes, whatever the file declares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

from edgeinfer_browser.errors import EdgeInferError, GraphError
from edgeinfer_browser.packing.native import answers, open_session

#: The size of each axis: its name, or a constant.
Dims = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class Trial:
    """Feeds, and the size that each named axis has in them."""

    feeds: Mapping[str, npt.NDArray[Any]]
    sizes: Mapping[str, int]

    @classmethod
    def of_tokens(cls, texts: int, tokens: int) -> Trial:
        """Texts whose every token is number 1, nothing padded."""
        feeds = {name: np.ones((texts, tokens), np.int64) for name in ("input_ids", "attention_mask")}
        feeds["token_type_ids"] = np.zeros((texts, tokens), np.int64)
        return cls(feeds, {"batch_size": texts, "sequence_length": tokens})

    @classmethod
    def of_pixels(cls, pictures: int, height: int, width: int) -> Trial:
        """Grey pictures."""
        return cls({"pixels": np.full((pictures, height, width, 3), 127, np.uint8)}, {"batch_size": pictures})

    def __str__(self) -> str:
        return " and ".join(f"a {axis} of {size}" for axis, size in self.sizes.items())


def dims_of_trials(model: onnx.ModelProto, name: str, trials: Sequence[Trial]) -> dict[str, Dims]:
    """The dims of each output: constants, and the axes that follow the input.

    Args:
        model: the graph.
        name: what it is called in messages.
        trials: two, with no two sizes alike.

    Raises:
        GraphError: when it does not run with both, or an output's dims follow neither.
    """
    session = open_session(model)
    every = [output.name for output in session.get_outputs()]
    seen = []
    for trial in trials:
        try:
            seen.append(answers(session, [trial.feeds], every)[0])
        except EdgeInferError as error:
            raise GraphError(
                f"{name} does not run with {trial}. Shapes inside it are fixed, or do not fit: export it again with "
                f"dynamic axes. {error}"
            ) from error
    return {output: _dims(f"{name}: the output {output!r}", output, seen, trials) for output in seen[0]}


def _dims(what: str, output: str, seen: Sequence[Mapping[str, npt.NDArray[Any]]], trials: Sequence[Trial]) -> Dims:
    shapes = [each[output].shape for each in seen]
    if len({len(shape) for shape in shapes}) > 1:
        raise GraphError(f"{what} has another number of dims for another input: {' and '.join(map(str, shapes))}.")
    return tuple(_axis(what, sizes, trials) for sizes in zip(*shapes, strict=True))


def _axis(what: str, sizes: Sequence[int], trials: Sequence[Trial]) -> str | int:
    if len(set(sizes)) == 1:
        return sizes[0]
    for axis in trials[0].sizes:
        if all(size == trial.sizes[axis] for size, trial in zip(sizes, trials, strict=True)):
            return axis
    tried = ", ".join(f"{size} with {trial}" for size, trial in zip(sizes, trials, strict=True))
    raise GraphError(f"{what} has an axis that follows neither batch nor length: {tried}.")
