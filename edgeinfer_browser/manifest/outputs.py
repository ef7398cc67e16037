"""Which of a graph's outputs a run is asked for: what is not read must not be copied off the device."""

from __future__ import annotations

from collections.abc import Iterable

#: One vector of a text, float32 [batch_size, width].
EMBEDDING = "sentence_embedding"
#: One vector of each token, float32 [batch_size, sequence_length, width]; transformers.js reads it by this name.
TOKEN_VECTORS = "last_hidden_state"


def wanted_outputs(outputs: Iterable[str]) -> tuple[str, ...]:
    """All outputs, in order, but the token vectors of a graph that pools them itself.

    A packed encoder gives those for transformers.js, which pools by itself: as many bytes as the embedding for each
    token of the text. Whoever wants them asks by name.

    Example:
        >>> wanted_outputs(["sentence_embedding", "mood_logits", "last_hidden_state"])
        ('sentence_embedding', 'mood_logits')
        >>> wanted_outputs(["last_hidden_state"])
        ('last_hidden_state',)
    """
    names = tuple(outputs)
    return tuple(name for name in names if name != TOKEN_VECTORS) if EMBEDDING in names else names
