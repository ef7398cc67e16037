"""load_tokenizer: the Rust library where it is installed, the port where it is not, behind one face."""

from __future__ import annotations

from edgeinfer_browser.tokenizers.protocols import TokenizerLike
from edgeinfer_browser.tokenizers.rust import RustTokenizer
from edgeinfer_browser.tokenizers.tokenizer import Tokenizer


def load_tokenizer(data: bytes, *, prefer_rust: bool = True) -> TokenizerLike:
    """Make a tokenizer from the bytes of ``tokenizer.json``; ``.implementation`` says which one it is.

    Raises TokenizerError when the file has a component or option that the implementation does not know.
    """
    if prefer_rust:
        try:
            return RustTokenizer(data)
        except ImportError:
            # In the browser there is no Rust library; the port gives the same ids.
            pass
    return Tokenizer.from_buffer(data)


def model_tokenizer(data: bytes, max_length: int) -> TokenizerLike:
    """The tokenizer as a model wants it: at most ``max_length`` tokens, specials included, and no padding.

    Files say what suited their makers; a model folder's own limit is what counts. Raises TokenizerError.
    """
    tokenizer = load_tokenizer(data)
    tokenizer.enable_truncation(max_length)
    tokenizer.no_padding()
    return tokenizer
