"""Loading that cannot go bad, in real browsers: cut, closed, full, damaged, refused, and two tabs at once.

The model is the tiny one with 10 MB of ballast in its file, so that a download has a middle.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Playwright

from edgeinfer_browser import NoBackendError
from tests.browser.client import Client, tried
from tests.browser.conftest import FIREFOX, ROOT
from tests.browser.file_server import Fault, FileServer, file_server
from tests.browser.loads import (
    GRAPH,
    SEGMENT,
    answers,
    cached,
    heavy_model,
    kinds,
    segments,
    size_of,
    start,
    told,
    wait,
    wait_for_segments,
)


@pytest.fixture(scope="module")
def folder(site: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site with a heavy model."""
    made = tmp_path_factory.mktemp("loading")
    for name in ("edgeinfer", "blank.html"):
        (made / name).symlink_to(site / name)
    (made / "shim.js").symlink_to(ROOT / "edgeinfer_browser/_shim/shim.js")
    heavy_model(site / "models/tiny", made / "models/heavy", seed=1)
    return made


@pytest.fixture
def server(folder: Path) -> Iterator[FileServer]:
    """A server of its own for each test: another origin, another log."""
    with file_server(folder) as running:
        yield running


@pytest.fixture
def context(chromium_without_adapter: Browser, server: FileServer) -> Iterator[BrowserContext]:
    made = chromium_without_adapter.new_context(base_url=server.url)
    yield made
    made.close()


def test_a_cut_connection_is_taken_up_and_no_byte_comes_twice(page: Page, server: FileServer) -> None:
    holds = [threading.Event(), threading.Event()]
    server.faults[GRAPH] = [Fault(cut=SEGMENT, hold=hold) for hold in holds]
    start(page)
    for count, hold in enumerate(holds, 1):
        wait_for_segments(page, count)  # the page has all that was sent: a broken stream drops what is not yet read
        hold.set()
    info = answers(page)
    assert kinds(info) == []
    assert [request.range for request in server.asked(GRAPH)] == ["", f"bytes={SEGMENT}-", f"bytes={2 * SEGMENT}-"]
    assert sum(request.sent for request in server.asked(GRAPH)) == size_of(server)
    assert (len(cached(page)), segments(page)) == (1, 0)


@pytest.mark.parametrize("how", ["reload", "close"])
def test_a_page_that_ends_in_the_middle_leaves_no_file_and_the_next_one_goes_on(
    context: BrowserContext, page: Page, server: FileServer, how: str
) -> None:
    hold = threading.Event()
    server.faults[GRAPH] = [Fault(cut=9_000_000, hold=hold)]
    start(page)
    wait_for_segments(page, 2)
    assert cached(page) == []
    if how == "close":
        page.close()
        page = context.new_page()
    else:
        page.reload()
    start(page)
    info = answers(page)
    hold.set()
    assert kinds(info) == []
    _, second = server.asked(GRAPH)
    # Less than a segment is lost; nothing, when the page had the time to keep it.
    assert second.range in (f"bytes={2 * SEGMENT}-", "bytes=9000000-")
    assert second.sent == size_of(server) - int(second.range[len("bytes=") : -1])
    assert (len(cached(page)), segments(page)) == (1, 0)


def test_two_tabs_download_once(context: BrowserContext, page: Page, server: FileServer) -> None:
    hold = threading.Event()
    server.faults[GRAPH] = [Fault(cut=1_000_000, hold=hold, goes_on=True)]
    other = context.new_page()
    start(page)
    start(other)
    wait(page, "async () => (await navigator.locks.query()).pending.some(({ name }) => name.includes(argument))", GRAPH)
    hold.set()
    for each in (page, other):
        assert kinds(answers(each)) == []
    assert len(server.asked(GRAPH)) == 1
    assert len(server.asked("tokenizer.json")) == 1
    downloads = [event for event in other.evaluate("events") if event.get("loaded")]
    assert downloads, "the tab that waits shows how far the other is"


def test_two_loads_of_one_page_download_once(page: Page, server: FileServer) -> None:
    server.faults[GRAPH] = []
    start(page)
    page.evaluate("globalThis.first = loading")
    start(page)
    answers(page)
    assert page.evaluate("first")["tier"] == "wasm"
    assert len(server.asked(GRAPH)) == 1


def test_a_cancelled_download_disturbs_no_other_and_can_be_taken_up(page: Page, server: FileServer) -> None:
    # As a cancelled task of Python does it: abort() of the shim, which the page's client does not offer for a load.
    holds = [threading.Event(), threading.Event()]
    server.faults[GRAPH] = [Fault(cut=SEGMENT, hold=hold) for hold in holds]
    data = (server.folder / "models/heavy" / GRAPH).read_bytes()
    file = {"url": f"models/heavy/{GRAPH}", "sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}
    page.evaluate(
        """async (file) => {
          const { createShim } = await import(new URL("shim.js", document.baseURI).href);
          globalThis.shim = createShim("{}");
          file.url = new URL(file.url, document.baseURI).href;
          globalThis.get = (call) => shim.fetchToCache(JSON.stringify({ ...file, timeout: 30 }), undefined, call);
          globalThis.calls = [get(1), get(2)];
        }""",
        file,
    )
    wait_for_segments(page, 1)
    page.evaluate("shim.abort(1)")
    assert "was cancelled" in page.evaluate("calls[0].then(({ error }) => error)")
    holds[0].set()
    wait_for_segments(page, 2)  # the other goes on
    page.evaluate("shim.abort(2)")
    assert "was cancelled" in page.evaluate("calls[1].then(({ error }) => error)")
    assert cached(page) == []
    assert page.evaluate("get(3).then(({ error }) => error)") == ""
    assert [request.range for request in server.asked(GRAPH)] == ["", f"bytes={SEGMENT}-", f"bytes={2 * SEGMENT}-"]
    assert (len(cached(page)), segments(page)) == (1, 0)


def test_a_full_cache_costs_one_notice_and_no_answer(context: BrowserContext, page: Page, server: FileServer) -> None:
    quota = {"origin": server.url.rstrip("/"), "quotaSize": 2_000_000}
    context.new_cdp_session(page).send("Storage.overrideQuotaForOrigin", quota)
    start(page)
    info = answers(page)
    assert kinds(info) == ["quota_exceeded"]
    assert told(page) == ["quota_exceeded"]
    assert "QuotaExceededError" in info["notices"][0]["message"]
    assert (cached(page), segments(page)) == ([], 0)
    assert cached(page, "tokenizer.json"), "what fits is kept"


@pytest.fixture
def insecure(launch_chromium: Callable[..., Browser], server: FileServer) -> Iterator[Page]:
    """A page on http and a name that is not localhost: no Cache API, no crypto.subtle, no Web Locks."""
    browser = launch_chromium("--host-resolver-rules=MAP insecure.test 127.0.0.1")
    with browser.new_context(base_url=server.url.replace("127.0.0.1", "insecure.test")) as made:
        page = made.new_page()
        page.goto("blank.html")
        assert page.evaluate("[typeof caches, typeof crypto.subtle, typeof navigator.locks]") == ["undefined"] * 3
        yield page


def test_without_a_cache_the_model_answers_from_memory_with_one_notice(insecure: Page, server: FileServer) -> None:
    start(insecure)
    info = answers(insecure)
    assert kinds(info) == ["cache_unavailable"]
    assert told(insecure) == ["cache_unavailable"]
    assert info["persisted"] is None
    start(insecure)
    assert kinds(answers(insecure)) == ["cache_unavailable"]
    assert len(server.asked(GRAPH)) == 1, "the page has it in memory"


def test_without_crypto_subtle_a_damaged_file_is_found_all_the_same(insecure: Page, server: FileServer) -> None:
    damaged = bytearray((server.folder / "models/heavy" / GRAPH).read_bytes())
    damaged[5_000_000] ^= 1
    server.faults[GRAPH] = [Fault(200, bytes(damaged))] * 2
    with pytest.raises(NoBackendError, match=r"IntegrityError: .* has sha256"):
        Client(insecure).load("heavy", api=None, tier="wasm")
    assert len(server.asked(GRAPH)) == 2
    start(insecure)
    assert answers(insecure)["tier"] == "wasm"


def test_a_damaged_cache_entry_is_replaced_and_told_once(page: Page, server: FileServer) -> None:
    start(page)
    answers(page)
    page.evaluate(
        """async (key) => {
          const cache = await caches.open("edgeinfer-models-v1");
          const whole = await (await cache.match(key)).arrayBuffer();
          new Uint8Array(whole)[5_000_000] ^= 1;
          await cache.put(key, new Response(whole));
        }""",
        cached(page)[0],
    )
    for asked, given_up in ((2, ["cache_entry_damaged"]), (2, [])):
        page.reload()
        start(page)
        assert kinds(answers(page)) == given_up
        assert told(page) == given_up
        assert len(server.asked(GRAPH)) == asked


def test_a_wrong_file_is_fetched_once_more_and_then_an_integrity_error(page: Page, server: FileServer) -> None:
    server.faults[GRAPH] = [Fault(200, b"m" * 1000)] * 2
    with pytest.raises(
        NoBackendError, match=r"IntegrityError: .* has 1000 bytes, but the model's manifest says"
    ) as error:
        Client(page).load("heavy", api=None, tier="wasm")
    assert GRAPH in str(error.value)
    assert len(server.asked(GRAPH)) == 2
    assert (cached(page), segments(page)) == ([], 0)


#: (answer, class that the reason names, what it says)
IMPOSTORS = [
    (Fault(200, b"<!doctype html><title>App</title>"), "ContentError", "HTML page"),
    (Fault(200, b'{"error": "no such model"}'), "ContentError", "JSON instead of the file"),
    (Fault(200, b"version https://git-lfs.github.com/spec/v1\n"), "ContentError", "git lfs pull"),
    (Fault(200), "ContentError", "is empty"),
    (Fault(401), "AccessDeniedError", "needs a sign-in"),
    (Fault(403), "AccessDeniedError", "is forbidden"),
    (Fault(404), "NotFoundError", "pack it, or choose another dtype"),
    (Fault(410), "NotFoundError", "was not found"),
    (Fault(429, headers={"Retry-After": "3600"}), "TooManyRequestsError", "too many requests"),
    (Fault(500), "ServerError", "the server failed"),
]


def test_what_comes_in_place_of_the_file_is_told_by_name_and_never_cached(page: Page, server: FileServer) -> None:
    client = Client(page)
    for fault, name, says in IMPOSTORS:
        server.faults[GRAPH] = [fault] * 4
        with pytest.raises(NoBackendError) as caught:
            client.load("heavy", api=None, tier="wasm")
        reason = tried(caught.value.details, "wasm")
        assert name in reason
        assert says in reason
        assert GRAPH in reason
        assert (cached(page), segments(page)) == ([], 0)
    server.faults[GRAPH] = [Fault(429, headers={"Retry-After": "1"}), Fault(503)]
    start(page)
    assert answers(page)["tier"] == "wasm"


def test_an_old_revision_goes_when_the_new_one_is_whole_and_not_before(
    page: Page, server: FileServer, folder: Path, site: Path
) -> None:
    other = folder / "models/changing"
    heavy_model(site / "models/tiny", other, seed=2)
    start(page, "models/changing/")
    answers(page)
    (old,) = cached(page)
    heavy_model(site / "models/tiny", other, seed=3)
    server.faults[GRAPH] = [Fault(404)]
    with pytest.raises(NoBackendError):
        Client(page).load("changing", api=None, tier="wasm")
    assert cached(page) == [old]
    start(page, "models/changing/")
    answers(page)
    (new,) = cached(page)
    assert new != old
    assert len(cached(page, "tokenizer.json")) == 1


@pytest.mark.parametrize("granted", [True, False])
def test_persistent_storage_is_asked_for_unless_it_is_there_and_reported(
    context: BrowserContext, page: Page, server: FileServer, granted: bool
) -> None:
    if granted:
        session = context.new_cdp_session(page)
        target = session.send("Target.getTargetInfo")["targetInfo"]["browserContextId"]
        grant = {"permissions": ["durableStorage"], "origin": server.url.rstrip("/"), "browserContextId": target}
        session.send("Browser.grantPermissions", grant)
    page.evaluate("""() => {
      const { persist } = StorageManager.prototype;
      globalThis.asked = 0;
      StorageManager.prototype.persist = function () { asked++; return persist.call(this); };
    }""")
    start(page)
    answers(page)
    page.wait_for_function("expected => pipeline.info.persisted === expected", arg=granted)
    assert page.evaluate("asked") == (0 if granted else 1)


@pytest.fixture(scope="module")
def firefox_with_little_room(playwright: Playwright) -> Iterator[Browser]:
    """A Firefox whose sites may store 4 MB."""
    preferences: dict[str, str | float | bool] = {"dom.quotaManager.temporaryStorage.fixedLimit": 4096}
    browser = playwright.firefox.launch(channel="moz-firefox", executable_path=FIREFOX, firefox_user_prefs=preferences)
    yield browser
    browser.close()


def test_firefox_says_in_its_own_words_that_the_cache_is_full(
    firefox_with_little_room: Browser, server: FileServer
) -> None:
    with firefox_with_little_room.new_context(base_url=server.url) as made:
        page = made.new_page()
        page.set_default_timeout(120_000)
        start(page)
        info = answers(page)
        assert kinds(info) == ["quota_exceeded"]
        assert told(page) == ["quota_exceeded"]
        assert "NS_ERROR_FILE_NO_DEVICE_SPACE" in info["notices"][0]["message"]


def test_firefox_resumes_and_keeps_the_model(firefox: Browser, server: FileServer) -> None:
    with firefox.new_context(base_url=server.url) as made:
        page = made.new_page()
        page.set_default_timeout(120_000)
        server.faults[GRAPH] = [Fault(cut=3_000_000)]
        start(page)
        info = answers(page)
        assert kinds(info) == []
        ranges = [request.range for request in server.asked(GRAPH)]
        assert (ranges[0], len(ranges)) == ("", 2)
        page.reload()
        start(page)
        answers(page)
        assert len(server.asked(GRAPH)) == 2
