"""Vocabularies: token to id, checked when they are read."""

from __future__ import annotations

from edgeinfer_browser.errors import TokenizerError
from edgeinfer_browser.tokenizers.components import Spec, option


def vocabulary(kind: str, spec: Spec) -> dict[str, int]:
    """The ``vocab`` of a model; raises TokenizerError for an id that is not a number or is there twice."""
    vocab: dict[str, int] = option(kind, spec, "vocab", dict)
    ids = vocab.values()
    if not {*map(type, ids)} <= {int} or min(ids, default=0) < 0:
        token = next(token for token, key in vocab.items() if type(key) is not int or key < 0)
        raise TokenizerError(f"The vocabulary of {kind} has the id {vocab[token]!r} for {token!r}.", token=token)
    if len({*ids}) < len(vocab):
        seen: dict[int, str] = {}
        for token, key in vocab.items():
            if seen.setdefault(key, token) != token:
                message = f"The vocabulary of {kind} has the id {key} twice, for {seen[key]!r} and for {token!r}."
                raise TokenizerError(message, token=token, id=key)
    return vocab
