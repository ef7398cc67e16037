"""ModelFolder: a model's files at a base URL or path: the manifest, the small files, and a variant's big ones.

The host does the work (the shim: fetch, verify, Cache API; CPython: disk or HTTP); this module says which files, in
which order, against which hashes, and what a missing one means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from edgeinfer_browser.bridge import Bridge, Notice, OnNotice
from edgeinfer_browser.errors import AccessDeniedError, ContentError, FetchError, NotFoundError
from edgeinfer_browser.manifest import ModelFile, ModelManifest, Variant

#: Seconds without a byte after which a download is given up.
STALL_SECONDS = 30.0

#: Called with the file's URL, bytes loaded of all files so far, and bytes of all files (0 when not known).
OnDownload = Callable[[str, int, int], None]

#: What says that a folder has no such file. Storage services answer 403 for what is not there.
MISSING = (NotFoundError, ContentError, AccessDeniedError)


@dataclass(slots=True)
class ModelFolder:
    """A model folder at ``base`` (absolute URL or local path, ending in "/")."""

    bridge: Bridge
    base: str
    #: Called once for each kind of thing that was given up.
    on_notice: OnNotice | None = None
    #: What was given up so far, by kind.
    notices: dict[str, Notice] = field(default_factory=dict)
    _manifest: ModelManifest | None = None

    @classmethod
    async def at(cls, url: str, bridge: Bridge, on_notice: OnNotice | None = None) -> ModelFolder:
        """The folder at a URL or path, relative ones against the host's own base."""
        return cls(bridge, await bridge.absolute_url(url if url.endswith("/") else f"{url}/"), on_notice)

    @property
    def name(self) -> str:
        """The last part of the base: what the API tier knows the model by."""
        return self.base.rstrip("/").rpartition("/")[2]

    async def manifest(self, task: str) -> ModelManifest:
        """``edgeinfer.json`` when the folder was packed, else what ``config.json`` of a Hugging Face folder tells."""
        url = f"{self.base}edgeinfer.json"
        try:
            self._manifest = ModelManifest.from_json(await self._fetch(url), url)
        except MISSING as missing:
            self._manifest = await self._plain_manifest(task, missing)
        return self._manifest

    async def _plain_manifest(self, task: str, missing: FetchError) -> ModelManifest:
        url = f"{self.base}config.json"
        try:
            config = await self._fetch(url)
        except MISSING:
            raise missing from None  # neither is there: the first message is the better one
        try:
            limits = await self._fetch(f"{self.base}tokenizer_config.json")
        except MISSING:
            limits = b"{}"  # old folders have none
        return ModelManifest.from_hugging_face(config, self.name, url, task, limits)

    async def read(self, path: str, manifest: ModelManifest) -> bytes:
        """A small file's bytes, verified against the manifest when it lists the file."""
        known = manifest.files.get(path)
        url = f"{self.base}{path}"
        if known is None:
            return await self._fetch(url)
        return await self.bridge.fetch_file(
            url, sha256=known.sha256, size=known.bytes, timeout=STALL_SECONDS, on_notice=self._tell
        )

    async def fetch(self, variant: Variant, on_download: OnDownload | None = None) -> tuple[tuple[str, str], ...]:
        """Have all files of a variant, verified: (path, cache key) of each, the .onnx file first.

        A plain folder may have them at the top instead of below ``onnx/``. When all of a packed folder's are there, its
        revision is whole, and what the cache still holds of earlier ones is removed.

        Raises:
            FetchError: when a file cannot be had; names its URL, and where else it was looked for. NotFoundError says
                which dtype lacks it.
        """
        try:
            fetched = await self._fetch_from_either(variant, on_download)
        except NotFoundError as error:
            hint = f"The folder lacks this file of dtype {variant.dtype!r}: pack it, or choose another dtype."
            raise NotFoundError(f"{error.message} {hint}", **error.details) from error
        if self._manifest and self._manifest.packed:
            await self.bridge.forget_old_revisions(self.base, self._files_of(self._manifest))
        return fetched

    async def _fetch_from_either(self, variant: Variant, on_download: OnDownload | None) -> tuple[tuple[str, str], ...]:
        """From where the variant's files should be, else from where a plain folder may have them instead."""
        try:
            return await self._fetch_all(variant.files, variant.bytes, on_download)
        except MISSING as missing:
            if not variant.elsewhere:
                raise
            try:
                return await self._fetch_all(variant.elsewhere, 0, on_download)
            except MISSING as error:
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
            except MISSING:
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
            on_notice=self._tell,
        )

    async def _fetch(self, url: str) -> bytes:
        return await self.bridge.fetch_file(url, timeout=STALL_SECONDS, on_notice=self._tell)

    def _files_of(self, manifest: ModelManifest) -> list[tuple[str, str]]:
        """(URL, sha256) of every file of a revision, of all dtypes."""
        files = [*manifest.files.values(), *(file for each in manifest.variants.values() for file in each.files)]
        return [(f"{self.base}{file.path}", file.sha256) for file in files]

    def _tell(self, notice: Notice) -> None:
        if notice.kind not in self.notices and self.on_notice:
            self.on_notice(notice)
        self.notices.setdefault(notice.kind, notice)
