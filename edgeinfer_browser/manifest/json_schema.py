"""A JSON Schema checked with the standard library alone: the keywords that ``edgeinfer.schema.json`` uses.

In the browser there is no ``jsonschema``. Draft 2020-12, https://json-schema.org/draft/2020-12/json-schema-validation
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

#: Keywords that say something to people only, or hold what ``$ref`` points at.
ANNOTATIONS = frozenset({"$schema", "$id", "$defs", "title", "description", "examples"})

_PYTHON_TYPES: Mapping[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "number": (int, float),
    "integer": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}

Schema = Mapping[str, Any]
#: Takes the value, the keyword's argument, the schema it stands in, and the place; gives what is wrong.
Check = Callable[["_Checker", Any, Any, Schema, str], "str | None"]


def violation(value: Any, schema: Schema) -> str | None:
    """The first thing in a JSON value that the schema refuses, with its place; None when there is nothing."""
    return _Checker(schema.get("$defs", {})).first(value, schema, "")


class _Checker:
    """Holds what ``$ref`` points at while a value is walked."""

    def __init__(self, definitions: Mapping[str, Schema]) -> None:
        self._definitions = definitions

    def first(self, value: Any, schema: Schema, place: str) -> str | None:
        """The first violation of a schema, keyword by keyword."""
        for keyword, check in CHECKS.items():
            if keyword in schema and (wrong := check(self, value, schema[keyword], schema, place)):
                return wrong
        return None

    def any_of(self, found: Iterator[str | None]) -> str | None:
        """The first that is not None."""
        return next(filter(None, found), None)

    def ref(self, value: Any, target: str, _: Schema, place: str) -> str | None:
        return self.first(value, self._definitions[target.removeprefix("#/$defs/")], place)

    def type(self, value: Any, names: str | list[str], _: Schema, place: str) -> str | None:
        wanted = [names] if isinstance(names, str) else names
        if any(is_of_type(value, name) for name in wanted):
            return None
        return f"{_at(place)} is {_shown(value)}, not {' or '.join(wanted)}"

    def const(self, value: Any, wanted: Any, _: Schema, place: str) -> str | None:
        same = value == wanted and isinstance(value, bool) == isinstance(wanted, bool)
        return None if same else f"{_at(place)} is {_shown(value)}, not {wanted!r}"

    def enum(self, value: Any, known: list[str], _: Schema, place: str) -> str | None:
        return None if value in known else f"{_at(place)} is {_shown(value)}; known: {', '.join(map(repr, known))}"

    def minimum(self, value: Any, least: float, _: Schema, place: str) -> str | None:
        low = is_of_type(value, "number") and value < least
        return f"{_at(place)} is {_shown(value)}; the least is {least}" if low else None

    def maximum(self, value: Any, most: float, _: Schema, place: str) -> str | None:
        high = is_of_type(value, "number") and value > most
        return f"{_at(place)} is {_shown(value)}; the most is {most}" if high else None

    def min_length(self, value: Any, least: int, _: Schema, place: str) -> str | None:
        short = isinstance(value, str) and len(value) < least
        return f"{_at(place)} is shorter than {least} characters" if short else None

    def max_length(self, value: Any, most: int, _: Schema, place: str) -> str | None:
        long = isinstance(value, str) and len(value) > most
        return f"{_at(place)} is longer than {most} characters" if long else None

    def pattern(self, value: Any, pattern: str, schema: Schema, place: str) -> str | None:
        if not isinstance(value, str) or re.search(pattern, value):
            return None
        return f"{_at(place)} is {_shown(value)}. {schema.get('description', f'It must match {pattern}')}".rstrip(".")

    def required(self, value: Any, names: list[str], _: Schema, place: str) -> str | None:
        missing = [name for name in names if name not in value] if isinstance(value, dict) else []
        return f"{_at(place)} has no {missing[0]!r}" if missing else None

    def properties(self, value: Any, schemas: Mapping[str, Schema], _: Schema, place: str) -> str | None:
        if not isinstance(value, dict):
            return None
        known = [name for name in schemas if name in value]
        return self.any_of(self.first(value[name], schemas[name], _inside(place, name)) for name in known)

    def additional_properties(self, value: Any, rest: Schema | bool, schema: Schema, place: str) -> str | None:
        if not isinstance(value, dict) or rest is True:
            return None
        others = [name for name in value if name not in schema.get("properties", {})]
        if rest is False:
            return f"{_at(place)} has {others[0]!r}, which the schema does not describe" if others else None
        return self.any_of(self.first(value[name], rest, _inside(place, name)) for name in others)

    def property_names(self, value: Any, names: Schema, _: Schema, place: str) -> str | None:
        keys = value if isinstance(value, dict) else {}
        return self.any_of(self.first(key, names, f"a key of {_at(place)}") for key in keys)

    def min_properties(self, value: Any, least: int, _: Schema, place: str) -> str | None:
        few = isinstance(value, dict) and len(value) < least
        return f"{_at(place)} has {len(value)} entries; the least is {least}" if few else None

    def min_items(self, value: Any, least: int, _: Schema, place: str) -> str | None:
        few = isinstance(value, list) and len(value) < least
        return f"{_at(place)} has {len(value)} items; the least is {least}" if few else None

    def items(self, value: Any, each: Schema, _: Schema, place: str) -> str | None:
        if not isinstance(value, list) or _all_plain(value, each):
            return None
        return self.any_of(self.first(item, each, f"{place}[{index}]") for index, item in enumerate(value))

    def unique_items(self, value: Any, _wanted: bool, _: Schema, place: str) -> str | None:
        twice = isinstance(value, list) and len(set(value)) < len(value)
        return f"{_at(place)} has an item twice" if twice else None


#: keyword -> check, in the order in which they are made; ``uniqueItems`` is only used where items are strings.
CHECKS: Mapping[str, Check] = {
    "$ref": _Checker.ref,
    "type": _Checker.type,
    "const": _Checker.const,
    "enum": _Checker.enum,
    "minimum": _Checker.minimum,
    "maximum": _Checker.maximum,
    "maxLength": _Checker.max_length,
    "minLength": _Checker.min_length,
    "pattern": _Checker.pattern,
    "required": _Checker.required,
    "minProperties": _Checker.min_properties,
    "propertyNames": _Checker.property_names,
    "properties": _Checker.properties,
    "additionalProperties": _Checker.additional_properties,
    "minItems": _Checker.min_items,
    "items": _Checker.items,
    "uniqueItems": _Checker.unique_items,
}


def is_of_type(value: Any, name: str) -> bool:
    """Whether a value is of a JSON Schema type: true is no number, and 5.0 is an integer."""
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    return isinstance(value, _PYTHON_TYPES[name])


def _all_plain(values: list[Any], schema: Schema) -> bool:
    """Whether all are of Python types that ``type`` allows and asks no more: a short way for the data of tensors."""
    if schema.keys() != {"type"} or "integer" in schema["type"]:
        return False
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return set(map(type, values)) <= {kind for name in names for kind in _PYTHON_TYPES[name]}


def _inside(place: str, name: str) -> str:
    return f"{place}.{name}" if place else name


def _at(place: str) -> str:
    return place or "the manifest"


def _shown(value: Any) -> str:
    return f"{value!r:.60}" if isinstance(value, str | int | float | None) else f"a {type(value).__name__}"
