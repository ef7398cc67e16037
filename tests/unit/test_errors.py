"""The error tree is the one its docstring draws, and an error survives a boundary."""

from __future__ import annotations

import json
import re

import pytest

from edgeinfer_browser import errors
from edgeinfer_browser.errors import EdgeInferError, InputError, UnknownNameError, from_fields, to_fields


def drawn_tree() -> dict[str, str]:
    """Class -> parent, as the module's docstring draws them."""
    parents: dict[str, str] = {}
    path: dict[int, str] = {}
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"    ([│├└─ ]*)(\w+Error)\b", line)
        if found:
            depth = len(found[1]) // 4
            path[depth] = found[2]
            parents[found[2]] = path.get(depth - 1, "Exception")
    return parents


def defined_classes() -> list[type[EdgeInferError]]:
    return [value for value in vars(errors).values() if isinstance(value, type) and issubclass(value, EdgeInferError)]


def test_the_docstring_draws_every_class_under_its_parent() -> None:
    assert drawn_tree() == {each.__name__: each.__bases__[0].__name__ for each in defined_classes()}


@pytest.mark.parametrize("kind", defined_classes(), ids=lambda kind: kind.__name__)
def test_an_error_crosses_a_boundary_with_its_class_message_and_details(kind: type[EdgeInferError]) -> None:
    details = {"url": "https://host.test/x", "status": 404, "known": ["a", "b"], "message": "its own", "self": 1}
    error = kind("It went wrong: why, and what next.", **details)
    arrived = json.loads(json.dumps(to_fields(error)))
    back = from_fields(arrived["name"], arrived["message"], arrived["details"])
    assert type(back) is kind
    assert (str(back), back.details) == (str(error), details)


def test_a_javascript_name_that_is_not_in_the_tree_is_kept_in_the_message() -> None:
    error = from_fields("TypeError", "x is not a function", {"line": 3})
    assert type(error) is EdgeInferError
    assert str(error) == "TypeError: x is not a function"
    assert error.details == {"line": 3}


def test_an_error_of_python_crosses_with_its_own_name() -> None:
    assert to_fields(KeyError("model")) == {"name": "KeyError", "message": "'model'", "details": {}}


def test_input_errors_are_value_errors_too() -> None:
    with pytest.raises(ValueError, match="no text"):
        raise InputError("no text")


def test_an_unknown_name_lists_the_known_ones_sorted() -> None:
    error = UnknownNameError.of("tier", "tpu", {"wasm", "api"})
    assert str(error) == "Unknown tier 'tpu'. Known: api, wasm."
    assert error.details == {"kind": "tier", "name": "tpu", "known": ["api", "wasm"]}
