"""ModelFolder: which files are asked for, in which order, and what a missing one means."""

from __future__ import annotations

import json
from typing import Any

import pytest

from edgeinfer_browser.bridge import Notice
from edgeinfer_browser.cache import ModelFolder
from edgeinfer_browser.errors import (
    AccessDeniedError,
    ContentError,
    FetchError,
    IntegrityError,
    ManifestError,
    NotFoundError,
    ServerError,
)
from edgeinfer_browser.manifest import ModelFile, Variant
from tests.unit.fakes import BASE, TOKENIZER, FakeBridge, packed_folder

TASK = "text-classification"
CONFIG = json.dumps({"id2label": {"0": "no", "1": "yes"}}).encode()
TWO_FILES = Variant("fp32", (ModelFile("onnx/model.onnx", 10), ModelFile("onnx/model.onnx_data", 90)))


async def folder(bridge: FakeBridge, url: str = BASE) -> ModelFolder:
    return await ModelFolder.at(url, bridge)


@pytest.mark.parametrize("url", [BASE, BASE.rstrip("/"), "/models/tiny/", "/models/tiny"])
async def test_a_folder_is_absolute_and_ends_in_a_slash_however_it_was_given(url: str) -> None:
    found = await folder(FakeBridge(), url)
    assert (found.base, found.name) == (BASE, "tiny")


async def test_a_packed_folder_is_read_from_its_own_manifest_alone() -> None:
    bridge = FakeBridge()
    manifest = await (await folder(bridge)).manifest(TASK)
    assert manifest.packed
    assert bridge.fetched == [f"{BASE}edgeinfer.json"]


async def test_a_folder_without_a_manifest_is_read_as_hugging_faces() -> None:
    manifest = await (await folder(FakeBridge({f"{BASE}config.json": CONFIG}))).manifest(TASK)
    assert (manifest.packed, manifest.name, manifest.task) == (False, "tiny", TASK)
    assert manifest.labels == ("no", "yes")


async def test_when_neither_file_is_there_the_first_message_is_kept() -> None:
    with pytest.raises(NotFoundError, match=r"edgeinfer\.json"):
        await (await folder(FakeBridge({}))).manifest(TASK)


class Host(FakeBridge):
    """A host that has an answer of its own for edgeinfer.json."""

    failure: FetchError

    async def fetch_file(self, url: str, **options: Any) -> bytes:
        if url.endswith("edgeinfer.json"):
            raise self.failure
        return await super().fetch_file(url, **options)


@pytest.mark.parametrize("failure", [ContentError("an HTML page"), AccessDeniedError("403, as storage services say")])
async def test_what_is_no_file_in_place_of_the_manifest_counts_as_none(failure: FetchError) -> None:
    bridge = Host({f"{BASE}config.json": CONFIG})
    bridge.failure = failure
    assert not (await (await folder(bridge)).manifest(TASK)).packed


async def test_a_server_error_does_not_count_as_no_manifest() -> None:
    bridge = Host({f"{BASE}config.json": CONFIG})
    bridge.failure = FetchError("edgeinfer.json answered 503", status=503)
    with pytest.raises(FetchError, match="503"):
        await (await folder(bridge)).manifest(TASK)


async def test_a_broken_manifest_does_not_count_as_none() -> None:
    bridge = FakeBridge({f"{BASE}edgeinfer.json": b"{", f"{BASE}config.json": CONFIG})
    with pytest.raises(ManifestError, match=f"{BASE}edgeinfer.json"):
        await (await folder(bridge)).manifest(TASK)


async def test_a_small_file_is_verified_against_the_manifest_that_lists_it() -> None:
    bridge = FakeBridge()
    found = await folder(bridge)
    manifest = await found.manifest(TASK)
    assert await found.read("tokenizer.json", manifest) == TOKENIZER
    bridge.files[f"{BASE}tokenizer.json"] = b"{}"
    with pytest.raises(IntegrityError):
        await found.read("tokenizer.json", manifest)


async def test_a_file_that_the_manifest_does_not_list_is_read_as_it_is() -> None:
    bridge = FakeBridge({**packed_folder(), f"{BASE}vocab.txt": b"words"})
    found = await folder(bridge)
    assert await found.read("vocab.txt", await found.manifest(TASK)) == b"words"


async def test_all_files_of_a_variant_are_had_in_order() -> None:
    files = {f"{BASE}onnx/model.onnx": b"m" * 10, f"{BASE}onnx/model.onnx_data": b"d" * 90}
    found = await folder(FakeBridge(files))
    assert await found.fetch(TWO_FILES) == (
        ("onnx/model.onnx", f"key:{BASE}onnx/model.onnx"),
        ("onnx/model.onnx_data", f"key:{BASE}onnx/model.onnx_data"),
    )


async def test_progress_sums_over_files_up_to_the_total() -> None:
    files = {f"{BASE}onnx/model.onnx": b"m" * 10, f"{BASE}onnx/model.onnx_data": b"d" * 90}
    told: list[tuple[str, int, int]] = []
    await (await folder(FakeBridge(files))).fetch(TWO_FILES, lambda *each: told.append(each))
    assert [(url.rpartition("/")[2], loaded, total) for url, loaded, total in told] == [
        ("model.onnx", 5, 100),
        ("model.onnx", 10, 100),
        ("model.onnx_data", 55, 100),
        ("model.onnx_data", 100, 100),
    ]


async def test_progress_never_exceeds_its_total_where_sizes_are_not_known() -> None:
    files = {f"{BASE}onnx/model.onnx": b"m" * 10, f"{BASE}onnx/model.onnx_data": b"d" * 90}
    unknown = Variant("fp32", (ModelFile("onnx/model.onnx"), ModelFile("onnx/model.onnx_data")))
    told: list[tuple[int, int]] = []
    await (await folder(FakeBridge(files))).fetch(unknown, lambda _, loaded, total: told.append((loaded, total)))
    assert told[-1] == (100, 100)
    assert all(loaded <= total for loaded, total in told)
    assert told == sorted(told)


async def test_a_missing_model_file_is_not_found_by_its_url() -> None:
    with pytest.raises(NotFoundError, match=r"onnx/model\.onnx"):
        await (await folder(FakeBridge({}))).fetch(TWO_FILES)


async def test_a_missing_model_file_says_which_dtype_lacks_it() -> None:
    with pytest.raises(NotFoundError, match="of dtype 'fp32': pack it, or choose another dtype") as caught:
        await (await folder(FakeBridge({}))).fetch(TWO_FILES)
    assert caught.value.details["status"] == 404


QUOTA, CACHE = Notice("quota_exceeded", "It is full."), Notice("cache_unavailable", "There is none.")


async def test_each_kind_of_notice_is_told_once_and_kept() -> None:
    told: list[Notice] = []
    bridge = FakeBridge(notices=[QUOTA, Notice("quota_exceeded", "It is still full."), CACHE])
    found = await ModelFolder.at(BASE, bridge, told.append)
    manifest = await found.manifest(TASK)
    await found.read("tokenizer.json", manifest)
    await found.fetch(manifest.variant("q8"))
    assert told == [QUOTA, CACHE]
    assert found.notices == {"quota_exceeded": QUOTA, "cache_unavailable": CACHE}


async def test_notices_are_kept_where_nobody_listens() -> None:
    found = await ModelFolder.at(BASE, FakeBridge(notices=[QUOTA]))
    await found.read("tokenizer.json", await found.manifest(TASK))
    assert list(found.notices) == ["quota_exceeded"]


async def test_old_revisions_are_forgotten_when_the_new_one_is_whole_and_other_dtypes_of_it_stay() -> None:
    bridge = FakeBridge()
    found = await folder(bridge)
    manifest = await found.manifest(TASK)
    await found.read("tokenizer.json", manifest)
    assert bridge.forgotten == []
    await found.fetch(manifest.variant("q8"))
    ((base, current),) = bridge.forgotten
    assert base == BASE
    files = [*manifest.files.values(), *(file for each in manifest.variants.values() for file in each.files)]
    assert sorted(current) == sorted((f"{BASE}{file.path}", file.sha256) for file in files)


async def test_nothing_is_forgotten_while_a_file_of_the_revision_is_missing() -> None:
    bridge = FakeBridge()
    found = await folder(bridge)
    manifest = await found.manifest(TASK)
    del bridge.files[f"{BASE}onnx/q8.onnx"]
    with pytest.raises(NotFoundError):
        await found.fetch(manifest.variant("q8"))
    assert bridge.forgotten == []


async def test_a_plain_folder_has_no_revisions_to_forget() -> None:
    bridge = FakeBridge({f"{BASE}config.json": CONFIG, f"{BASE}onnx/model.onnx": b"m"})
    found = await folder(bridge)
    manifest = await found.manifest(TASK)
    await found.fetch(Variant("fp32", (ModelFile("onnx/model.onnx"),)))
    assert not manifest.packed
    assert bridge.forgotten == []


PLAIN = Variant(
    "fp32",
    (ModelFile("onnx/model.onnx"), ModelFile("onnx/model.onnx_data", optional=True)),
    elsewhere=(ModelFile("model.onnx"), ModelFile("model.onnx_data", optional=True)),
)


@pytest.mark.parametrize("names", [("onnx/model.onnx",), ("onnx/model.onnx", "onnx/model.onnx_data")])
async def test_an_optional_file_is_had_when_it_is_there(names: tuple[str, ...]) -> None:
    bridge = FakeBridge({f"{BASE}{name}": b"x" for name in names})
    assert [path for path, _ in await (await folder(bridge)).fetch(PLAIN)] == list(names)


async def test_files_at_the_top_are_found_when_there_are_none_below_onnx() -> None:
    bridge = FakeBridge({f"{BASE}model.onnx": b"x", f"{BASE}model.onnx_data": b"y"})
    told: list[tuple[str, int, int]] = []
    fetched = await (await folder(bridge)).fetch(PLAIN, lambda *each: told.append(each))
    assert [path for path, _ in fetched] == ["model.onnx", "model.onnx_data"]
    assert told[-1] == (f"{BASE}model.onnx_data", 2, 2)


async def test_a_service_that_says_forbidden_for_what_is_not_there_is_understood() -> None:
    class Storage(FakeBridge):
        async def fetch_file(self, url: str, **options: Any) -> bytes:
            if url not in self.files:
                raise AccessDeniedError(f"{url} is forbidden (403).", url=url, status=403)
            return await super().fetch_file(url, **options)

    fetched = await (await folder(Storage({f"{BASE}model.onnx": b"x"}))).fetch(PLAIN)
    assert [path for path, _ in fetched] == ["model.onnx"]


async def test_an_optional_file_that_is_not_there_is_asked_for_once_and_is_nothing_to_tell() -> None:
    bridge = FakeBridge({f"{BASE}onnx/model.onnx": b"x"}, notices=[QUOTA])
    found = await folder(bridge)
    await found.fetch(PLAIN)
    assert bridge.fetched == [f"{BASE}onnx/model.onnx", f"{BASE}onnx/model.onnx_data"]
    assert found.notices == {}


async def test_a_file_that_is_nowhere_is_told_with_both_places() -> None:
    with pytest.raises(NotFoundError, match=rf"{BASE}onnx/model\.onnx was .*{BASE}model\.onnx was"):
        await (await folder(FakeBridge({}))).fetch(PLAIN)


async def test_a_server_error_is_no_reason_to_look_elsewhere() -> None:
    class Down(FakeBridge):
        async def fetch_file(self, url: str, **_: Any) -> bytes:
            self.fetched.append(url)
            raise ServerError(f"{url} answered 503", url=url, status=503)

    bridge = Down({})
    with pytest.raises(ServerError, match="503"):
        await (await folder(bridge)).fetch(PLAIN)
    assert bridge.fetched == [f"{BASE}onnx/model.onnx"]
