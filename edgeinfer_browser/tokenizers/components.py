"""Checked access to the parts of ``tokenizer.json``: an unknown name or option is an error, never a guess."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from edgeinfer_browser.errors import TokenizerError

T = TypeVar("T")

#: One component of ``tokenizer.json``, such as ``{"type": "BertNormalizer", "lowercase": true}``.
Spec = Mapping[str, Any]


def unknown(kind: str, name: object, known: Mapping[str, object] | frozenset[str]) -> TokenizerError:
    """The error for a name outside a fixed list; it names what was found and lists what is known."""
    names = sorted(known)
    message = f"tokenizer.json has an unknown {kind}: {name!r}. Known: {', '.join(names)}."
    return TokenizerError(message, kind=kind, name=str(name), known=names)


def check_options(kind: str, spec: Spec, *known: str) -> None:
    """Refuse a component with an option that is not in ``known`` (``type`` always is)."""
    for option in spec:
        if option != "type" and option not in known:
            raise unknown(f"option of {kind}", option, frozenset(known))


def option(kind: str, spec: Spec, name: str, *types: type) -> Any:
    """The value of an option that must be there and be one of the types (``bool`` is not an ``int``)."""
    if name not in spec:
        raise TokenizerError(f"{kind} in tokenizer.json lacks {name!r}.", kind=kind, option=name)
    value = spec[name]
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        wanted = " or ".join("null" if kind is type(None) else kind.__name__ for kind in types)
        message = f"{kind} in tokenizer.json has {name} = {value!r}; it should be {wanted}."
        raise TokenizerError(message, kind=kind, option=name)
    return value


def build(kind: str, spec: Spec, registry: Mapping[str, Callable[[Spec], T]]) -> T:
    """Make a component by its ``type``; raises TokenizerError for one that is not in the registry."""
    if not isinstance(spec, Mapping):
        raise TokenizerError(f"The {kind} in tokenizer.json should be an object, not {spec!r}.", kind=kind)
    maker = registry.get(spec.get("type", ""))
    if maker is None:
        raise unknown(kind, spec.get("type"), registry)
    return maker(spec)
