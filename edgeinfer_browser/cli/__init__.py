"""edgeinfer <command>: one file per command, imported when it is called.

A command's module has ``add_arguments(parser)`` and ``main(arguments) -> int`` (the exit code). Errors of
:mod:`edgeinfer_browser.errors` are printed without a traceback; anything else is a bug and keeps it.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from edgeinfer_browser.errors import EdgeInferError

#: command -> (what it does, the extra of this package that it needs).
COMMANDS = {
    "bench": ("measure this package against a named peer, in the same run", "run"),
    "evaluate": ("measure every variant of a model on your texts, natively and in a real browser", "evaluate"),
    "head": ("train a small classifier on a shared encoder from texts and labels", "pack"),
    "pack": ("make a model folder with edgeinfer.json from an ONNX model, with every variant measured", "pack"),
    "quantize": ("make a smaller file of a model, by a recipe or by a search that measures", "pack"),
    "run": ("classify a text in a real headless browser and print JSON", "run"),
    "serve": ("serve packed models as the API tier", "server"),
}


def main(argv: Sequence[str] | None = None) -> int:
    """The console script."""
    words = list(sys.argv[1:] if argv is None else argv)
    command = next((word for word in words if not word.startswith("-")), None)
    if command not in COMMANDS:
        return _overview(words, command)
    try:
        module = importlib.import_module(f"edgeinfer_browser.cli.{command}")
    except ModuleNotFoundError as error:
        return _missing(command, error)
    parser = argparse.ArgumentParser(prog=f"edgeinfer {command}", description=module.__doc__)
    module.add_arguments(parser)
    words.remove(command)
    try:
        code: int = module.main(parser.parse_args(words))
    except EdgeInferError as error:
        print(f"edgeinfer {command}: {type(error).__name__}: {error}", file=sys.stderr)
        return 1
    return code


def _overview(words: Sequence[str], command: str | None) -> int:
    lines = [f"  {name:8} {what}" for name, (what, _) in COMMANDS.items()]
    print("usage: edgeinfer COMMAND [options]\n\ncommands:", *lines, sep="\n")
    print('\n"edgeinfer COMMAND --help" tells the options.')
    if command:
        print(f"\nedgeinfer: there is no command {command!r}.", file=sys.stderr)
    return 0 if not command and (not words or {"-h", "--help"} & set(words)) else 2


def _missing(command: str, error: ModuleNotFoundError) -> int:
    extra = COMMANDS[command][1]
    print(
        f"edgeinfer {command} needs {error.name}, which is not installed. "
        f"Install it with: pip install 'edgeinfer-browser[{extra}]'",
        file=sys.stderr,
    )
    return 1
