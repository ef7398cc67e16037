"""The demo page as a visitor meets it. First assertion: which tier answered."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route

TEXT = "I could watch this film every single evening."
LOADING_MS = 120_000
TIERS = ("", "webgpu", "wasm", "api")
NAMES = {"webgpu": "WebGPU", "wasm": "WASM", "api": "API"}

#: Elements whose text is hard to read: contrast below WCAG AA on the nearest background that is a plain colour.
LOW_CONTRAST = """() => {
  const context = new OffscreenCanvas(1, 1).getContext("2d");
  const luminance = (colour) => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = colour;
    context.fillRect(0, 0, 1, 1);
    const part = (value) => (value /= 255) <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    const [red, green, blue] = context.getImageData(0, 0, 1, 1).data;
    return 0.2126 * part(red) + 0.7152 * part(green) + 0.0722 * part(blue);
  };
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = getComputedStyle(at).backgroundColor;
      if (colour !== "rgba(0, 0, 0, 0)") return colour;
    }
    return "Canvas";
  };
  const own = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
  return [...document.querySelectorAll("body *")].filter((element) => own(element) && element.checkVisibility())
    .map((element) => {
      const [a, b] = [luminance(getComputedStyle(element).color), luminance(ground(element))];
      return { text: element.textContent.trim().slice(0, 40),
               ratio: (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) };
    }).filter(({ ratio }) => ratio < 4.5);
}"""

#: Controls that a screen reader could not name.
UNNAMED = """() => [...document.querySelectorAll("button, input, select, textarea, progress, summary")]
  .filter((element) => !(element.labels?.length || element.textContent.trim() || element.ariaLabel
    || document.getElementById(element.getAttribute("aria-labelledby"))))
  .map((element) => element.outerHTML)"""

#: The outline of the focused control, or of the label that stands for it.
OUTLINE = """() => {
  const shown = document.activeElement.closest(".segments label") ?? document.activeElement;
  const { outlineStyle, outlineWidth } = getComputedStyle(shown);
  return outlineStyle === "none" ? 0 : parseFloat(outlineWidth);
}"""

Open = Callable[..., Page]


@pytest.fixture
def visit(chromium: Browser, site_url: str) -> Iterator[Open]:
    """visit(query, **context options) -> the page, just opened; no script of it may fail unseen."""
    contexts, failures = [], list[str]()

    def visit_page(query: str = "", **options: Any) -> Page:
        contexts.append(chromium.new_context(base_url=site_url, **options))
        page = contexts[-1].new_page()
        page.on("pageerror", lambda error: failures.append(str(error)))
        page.goto(f"./{query}")
        return page

    yield visit_page
    for context in contexts:
        context.close()
    assert failures == []


def wait_for(page: Page, state: str) -> None:
    page.wait_for_function(f"document.documentElement.dataset.state === {state!r}", timeout=LOADING_MS)


def classify(page: Page, text: str = TEXT) -> Any:
    """By keyboard; gives the page's own record of the answer."""
    page.get_by_label("Your text").fill(text)
    page.keyboard.press("Control+Enter")
    page.wait_for_function("window.demo.lastResult !== null", timeout=LOADING_MS)
    return page.evaluate("window.demo.lastResult")


def stop(page: Page, tier: str) -> str:
    """What the page says of a tier."""
    return page.locator(f".stop[data-tier={tier}]").inner_text()


def test_a_text_sent_while_loading_is_answered_when_ready(visit: Open) -> None:
    page = visit()
    result = classify(page)
    assert result["tier"] == "wasm"  # the adapter here is a software one, and automatic means the faster
    assert "Answered by WASM on your processor" in page.locator("#answer").inner_text()
    assert page.locator(".verdict").inner_text() == "Positive"
    assert page.locator(".bars li").count() == 2
    assert "did not leave this device" in page.locator(".place").inner_text()
    assert "Answered" in stop(page, "wasm")
    assert "software" in stop(page, "webgpu")
    assert "WASM came first" in stop(page, "api")


@pytest.mark.parametrize("tier", ["webgpu", "wasm", "api"])
def test_a_tier_is_forced_by_keyboard_alone(visit: Open, tier: str) -> None:
    page = visit("?tier=wasm" if tier == "api" else "?tier=api")
    page.locator("input[name=tier]:checked").focus()
    start = TIERS.index("wasm" if tier == "api" else "api")
    key = "ArrowRight" if TIERS.index(tier) > start else "ArrowLeft"
    for _ in range(abs(TIERS.index(tier) - start)):
        page.keyboard.press(key)
    result = classify(page)
    assert result["tier"] == tier
    assert f"tier={tier}" in page.url
    assert f"{NAMES[tier]} on" in page.locator("#answer").inner_text()
    for other in set(NAMES) - {tier}:
        assert f"You chose {NAMES[tier]}" in stop(page, other)


def test_an_api_that_is_down_is_an_error_one_can_read_and_leave(visit: Open) -> None:
    page = visit("?tier=api")
    page.route("**/api/**", lambda route: route.abort())
    wait_for(page, "ready")
    page.get_by_label("Your text").fill(TEXT)
    page.keyboard.press("Control+Enter")
    wait_for(page, "error")
    assert "Failed" in stop(page, "api")
    said = page.get_by_role("alert").inner_text()
    assert said.startswith("The API gave no answer")
    assert "RemoteError" in said
    assert "choose Automatic or WASM" in said
    page.unroute("**/api/**")
    page.get_by_role("button", name="Try again").click()
    wait_for(page, "ready")
    page.wait_for_function("window.demo.lastResult !== null")
    assert page.evaluate("window.demo.lastResult.tier") == "api"
    assert page.get_by_role("alert").inner_text() == ""


def test_when_no_tier_answers_every_attempt_is_shown(visit: Open) -> None:
    page = visit("?tier=api")

    def refuse(route: Route) -> None:
        route.abort()

    page.route("**/api/**", refuse)
    page.route("**/*.onnx*", refuse)
    page.get_by_label("Automatic", exact=True).check()
    page.get_by_label("Your text").fill(TEXT)
    page.keyboard.press("Control+Enter")
    wait_for(page, "error")
    assert ["Not used" in stop(page, "webgpu"), "Failed" in stop(page, "wasm"), "Failed" in stop(page, "api")] == [
        True
    ] * 3
    message = page.locator(".error-message")
    assert message.evaluate("(element) => getComputedStyle(element).whiteSpace") == "pre-wrap"
    assert message.inner_text().count("\n") >= 3


def test_a_tier_that_does_not_exist_is_named_with_those_that_do(visit: Open) -> None:
    page = visit("?tier=quantum")
    wait_for(page, "error")
    assert page.evaluate("window.demo.pipeline") is None
    assert "quantum" in page.get_by_role("alert").inner_text()
    page.locator("input[name=tier][value=api]").check()
    assert classify(page)["tier"] == "api"


def test_the_policy_comes_from_the_address(visit: Open) -> None:
    page = visit("?policy=only-remote")
    assert classify(page)["tier"] == "api"
    assert page.get_by_label("Automatic means").input_value() == "only-remote"
    assert "was sent to the API" in page.locator(".place").inner_text()
    page.get_by_label("Automatic means").select_option("prefer-local")
    assert "policy" not in page.url
    assert classify(page)["tier"] == "wasm"


def test_a_text_is_shown_as_text(visit: Open) -> None:
    page = visit("?tier=api")
    text = "<img src=x onerror=\"document.title='owned'\"> lovely"
    assert classify(page, text)["tier"] == "api"
    assert page.locator(".quote").inner_text() == text
    assert page.locator("img").count() == 0


def test_the_device_table_gives_values_and_reasons(visit: Open) -> None:
    page = visit("?tier=wasm")
    assert classify(page)["tier"] == "wasm"
    page.get_by_text("What this device can do").click()
    row = page.get_by_role("row", name="wasm_threads")
    assert "Yes" in row.inner_text() or "cross-origin isolation" in row.inner_text()
    assert "Yes" in page.get_by_role("row", name="wasm_simd").inner_text()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_can_read_all_of_it(visit: Open, scheme: str) -> None:
    page = visit("?tier=wasm", color_scheme=scheme, viewport={"width": 390, "height": 844}, reduced_motion="reduce")
    assert classify(page)["tier"] == "wasm"
    for summary in page.locator("summary").all():
        summary.click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate(LOW_CONTRAST) == []
    page.locator("input[name=tier][value=api]").check()
    assert classify(page)["tier"] == "api"
    assert page.evaluate(LOW_CONTRAST) == []
    page.locator("input[name=tier]:checked").focus()
    assert page.locator(".verdict").is_visible()


def test_every_control_has_a_name_and_shows_its_focus(visit: Open) -> None:
    page = visit("?tier=api")
    assert classify(page)["tier"] == "api"
    assert page.evaluate(UNNAMED) == []
    page.reload()  # so that Tab starts at the top
    wait_for(page, "ready")
    seen = list[str]()
    for _ in range(12):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            break
        assert page.evaluate(OUTLINE) >= 2
        seen.append(page.evaluate("document.activeElement.id || document.activeElement.type || 'summary'"))
    assert {"text", "button", "submit", "radio", "summary"} <= set(seen)
