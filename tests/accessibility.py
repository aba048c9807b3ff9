"""Accessibility checks (those parts of WCAG 2.2 AA that a script can check), run inside the browser."""

from pathlib import Path

CHECKS = Path(__file__).with_name("accessibility.js").read_text(encoding="utf-8")
FOCUS = """(() => {
  const element = document.activeElement, style = getComputedStyle(element);
  const visible = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  return { what: `${element.tagName} ${element.className}`, visible };
})()"""


def problems(browser):
    """Return the accessibility problems of the page."""
    return browser.ask(CHECKS)


def focus(browser):
    """Return the focused element and whether its focus is visible."""
    return browser.ask(FOCUS)
