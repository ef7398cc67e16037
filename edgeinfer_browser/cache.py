"""ModelFolder: a model's files at a base URL or path: the manifest, the small files, and a variant's big ones.

The host does the work (the shim: fetch, verify, Cache API; CPython: disk or HTTP); this module says which files, in
which order, against which hashes, and what a missing one means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from edgeinfer_browser.bridge import Bridge
from edgeinfer_browser.errors import ContentError, NotFoundError
from edgeinfer_browser.manifest import ModelFile, ModelManifest, Variant

#: Seconds without a byte after which a download is given up.
STALL_SECONDS = 30.0

#: Called with the file's URL, bytes loaded of all files so far, and bytes of all files (0 when not known).
OnDownload = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A model folder at ``base`` (absolute URL or local path, ending in "/")."""

    bridge: Bridge
    base: str

    @classmethod
    async def at(cls, url: str, bridge: Bridge) -> ModelFolder:
        """The folder at a URL or path, relative ones against the host's own base."""
        return cls(bridge, await bridge.absolute_url(url if url.endswith("/") else f"{url}/"))

    @property
    def name(self) -> str:
        """The last part of the base: what the API tier knows the model by."""
        return self.base.rstrip("/").rpartition("/")[2]

    async def manifest(self, task: str) -> ModelManifest:
        """``edgeinfer.json`` when the folder was packed, else what ``config.json`` of a Hugging Face folder tells."""
        url = f"{self.base}edgeinfer.json"
        try:
            return ModelManifest.from_json(await self._fetch(url), url)
        except (NotFoundError, ContentError) as missing:
            return await self._plain_manifest(task, missing)

    async def _plain_manifest(self, task: str, missing: NotFoundError | ContentError) -> ModelManifest:
        url = f"{self.base}config.json"
        try:
            config = await self._fetch(url)
        except (NotFoundError, ContentError):
            raise missing from None  # neither is there: the first message is the better one
        try:
            limits = await self._fetch(f"{self.base}tokenizer_config.json")
        except (NotFoundError, ContentError):
            limits = b"{}"  # old folders have none
        return ModelManifest.from_hugging_face(config, self.name, url, task, limits)

    async def read(self, path: str, manifest: ModelManifest) -> bytes:
        """A small file's bytes, verified against the manifest when it lists the file."""
        known = manifest.files.get(path)
        url = f"{self.base}{path}"
        if known is None:
            return await self._fetch(url)
        return await self.bridge.fetch_file(url, sha256=known.sha256, size=known.bytes, timeout=STALL_SECONDS)

    async def fetch(self, variant: Variant, on_download: OnDownload | None = None) -> tuple[tuple[str, str], ...]:
        """Have all files of a variant, verified: (path, cache key) of each, the .onnx file first.

        A plain folder may have them at the top instead of below ``onnx/``.

        Raises:
            NotFoundError, ContentError: when a file that must be there is not; names its URL, and where else it was
                looked for.
        """
        try:
            return await self._fetch_all(variant.files, variant.bytes, on_download)
        except (NotFoundError, ContentError) as missing:
            if not variant.elsewhere:
                raise
            try:
                return await self._fetch_all(variant.elsewhere, 0, on_download)
            except (NotFoundError, ContentError) as error:
                raise type(missing)(f"{missing.message} {error.message}", **missing.details) from error

    async def _fetch_all(
        self, files: Sequence[ModelFile], size: int, on_download: OnDownload | None
    ) -> tuple[tuple[str, str], ...]:
        fetched: list[tuple[str, str]] = []
        before = 0
        for file in files:
            last = 0

            def progress(loaded: int, total: int, path: str = file.path, before: int = before) -> None:
                nonlocal last
                last = loaded
                if on_download:
                    on_download(f"{self.base}{path}", before + loaded, size or (total and before + total))

            try:
                fetched.append((file.path, await self._fetch_one(file, progress)))
            except (NotFoundError, ContentError):
                if not file.optional:
                    raise
            before += file.bytes or last
        return tuple(fetched)

    async def _fetch_one(self, file: ModelFile, progress: Callable[[int, int], None]) -> str:
        return await self.bridge.fetch_to_cache(
            f"{self.base}{file.path}",
            sha256=file.sha256,
            size=file.bytes,
            timeout=STALL_SECONDS,
            on_progress=progress,
        )

    async def _fetch(self, url: str) -> bytes:
        return await self.bridge.fetch_file(url, timeout=STALL_SECONDS)
