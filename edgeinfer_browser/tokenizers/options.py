"""Options that several kinds of components share, read as the Rust library reads them."""

from __future__ import annotations

from edgeinfer_browser.errors import TokenizerError
from edgeinfer_browser.tokenizers.components import Spec, check_options, option, unknown
from edgeinfer_browser.tokenizers.patterns import Matcher, literal_matcher, matcher

_SCHEMES = frozenset(("always", "first", "never"))


def metaspace_options(name: str, spec: Spec) -> tuple[str, str, bool]:
    """The replacement, prepend scheme and whether to split; also from older files, as the Rust library reads them."""
    check_options(name, spec, "replacement", "add_prefix_space", "prepend_scheme", "split", "str_rep")
    replacement = one_char(name, spec, "replacement")
    spec = {"prepend_scheme": "always", "split": None, "add_prefix_space": None, **spec}
    scheme = option(name, spec, "prepend_scheme", str)
    if scheme not in _SCHEMES:
        raise unknown(f"prepend_scheme of {name}", scheme, _SCHEMES)
    if option(name, spec, "add_prefix_space", bool, type(None)) is False and scheme != "never":
        raise TokenizerError(f"{name} in tokenizer.json has add_prefix_space = False but prepend_scheme = {scheme!r}.")
    return replacement, scheme, option(name, spec, "split", bool, type(None)) is not False


def one_char(name: str, spec: Spec, key: str) -> str:
    """An option that is one character."""
    value: str = option(name, spec, key, str)
    if len(value) != 1:
        raise TokenizerError(f"{name} in tokenizer.json has {key} = {value!r}; it should be one character.")
    return value


def pattern_option(name: str, spec: Spec) -> Matcher:
    """The ``pattern`` of a component: ``{"String": ...}`` or ``{"Regex": ...}``."""
    pattern = option(name, spec, "pattern", dict)
    kind = next(iter(pattern), "")
    if len(pattern) != 1 or kind not in ("String", "Regex"):
        raise unknown(f"pattern of {name}", kind, frozenset(("String", "Regex")))
    text = option(f"The pattern of {name}", pattern, kind, str)
    return matcher(text) if kind == "Regex" else literal_matcher(text)
