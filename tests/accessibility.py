"""Checks of a page's accessibility (WCAG 2.2 AA, as far as a script can see), run inside the browser."""

from pathlib import Path

CHECKS = Path(__file__).with_name("accessibility.js").read_text(encoding="utf-8")
FOCUS = """(() => {
  const element = document.activeElement, style = getComputedStyle(element);
  const visible = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  return { what: `${element.tagName} ${element.className}`, visible };
})()"""


def problems(browser):
    """What is wrong, one sentence each."""
    return browser.ask(CHECKS)


def focus(browser):
    """What has the focus, and whether that can be seen."""
    return browser.ask(FOCUS)
