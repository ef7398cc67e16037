"""``tokenizer.json`` to ids, masks and offsets, equal to the Rust ``tokenizers`` library, in pure Python."""

from edgeinfer_browser.tokenizers.encoding import Encoding
from edgeinfer_browser.tokenizers.loading import load_tokenizer, model_tokenizer
from edgeinfer_browser.tokenizers.protocols import EncodingLike, TokenizerLike
from edgeinfer_browser.tokenizers.tokenizer import Tokenizer

__all__ = ["Encoding", "EncodingLike", "Tokenizer", "TokenizerLike", "load_tokenizer", "model_tokenizer"]
