"""A refusal of the Rust library is a panic; its backtrace would cost more time than the tests."""

from __future__ import annotations

import os

os.environ["RUST_BACKTRACE"] = "0"
