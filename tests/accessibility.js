// The parts of WCAG 2.2 AA that a script can check: names, language, nesting, sizes, contrast. The value of this
// expression is a list of problems, each with its element.
(() => {
  /** @type {string[]} */
  const problems = [];
  /** @param {Element} element */
  const isVisible = (element) => {
    if (element.closest("[hidden], [aria-hidden=true], template")) return false;
    const style = getComputedStyle(element);
    const box = element.getBoundingClientRect();
    return style.visibility !== "hidden" && style.display !== "none" && box.width > 1 && box.height > 1;
  };
  /** @param {Element} element */
  const description = (element) => {
    const id = element.id ? ` #${element.id}` : "";
    const text = (element.textContent || "").trim().slice(0, 30);
    return `<${element.tagName.toLowerCase()}${id} .${element.className}> "${text}"`;
  };
  /** @param {any} element */
  const label = (element) => {
    const by = (element.getAttribute("aria-labelledby") || "")
      .split(/\s+/)
      .filter(Boolean)
      .map((/** @type {string} */ id) => document.getElementById(id)?.textContent || "")
      .join(" ");
    const own = element.labels?.length ? [...element.labels].map((other) => other.textContent).join(" ") : "";
    const pictures = [...element.querySelectorAll("img")].map((image) => image.alt).join(" ");
    return (by || element.getAttribute("aria-label") || own || element.textContent + pictures || "").trim();
  };
  // Names
  for (const element of document.querySelectorAll(
    "button, a[href], input, select, [role=img], [role=region], progress, video, audio[controls]",
  ))
    if (isVisible(element) && !label(element)) problems.push(`no name: ${description(element)}`);
  for (const image of document.querySelectorAll("img"))
    if (!image.hasAttribute("alt")) problems.push(`no alt: ${description(image)}`);
  if (!document.documentElement.lang) problems.push("no language");
  if (!document.title.trim()) problems.push("no title");
  if (document.querySelectorAll("main").length !== 1) problems.push("not one main");
  if ([...document.querySelectorAll("h1")].filter(isVisible).length !== 1) problems.push("not one h1");
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  for (const id of new Set(ids))
    if (ids.filter((other) => other === id).length > 1) problems.push(`duplicate id: #${id}`);
  for (const element of document.querySelectorAll("[tabindex]"))
    if (element instanceof HTMLElement && element.tabIndex > 0) problems.push(`tabindex ${description(element)}`);
  for (const outer of document.querySelectorAll("button, a[href]"))
    if (outer.querySelector("button, a[href], input, audio[controls], video[controls]"))
      problems.push(`nested: ${description(outer)}`);
  for (const name of ["aria-labelledby", "aria-describedby", "aria-controls"])
    for (const element of document.querySelectorAll(`[${name}]`))
      for (const id of (element.getAttribute(name) ?? "").split(/\s+/))
        if (!document.getElementById(id)) problems.push(`no #${id} for ${description(element)}`);
  // The visible text of a button is part of its name, so that people can say what they see.
  for (const element of document.querySelectorAll("button[aria-label], a[aria-label]")) {
    const text = [...element.childNodes].map((part) => part.textContent).join(" ");
    const words = text.replace(/[^\p{L}\p{N}]+/gu, " ").trim();
    const name = label(element).replace(/[^\p{L}\p{N}]+/gu, " ");
    if (isVisible(element) && !name.includes(words)) problems.push(`not in the name: ${description(element)}`);
  }
  // Sizes of buttons and links; no horizontal scrolling
  for (const element of document.querySelectorAll("button, a[href]")) {
    const box = element.getBoundingClientRect();
    if (isVisible(element) && (box.width < 24 || box.height < 24)) problems.push(`small: ${description(element)}`);
  }
  if (document.documentElement.scrollWidth > innerWidth)
    problems.push(`horizontal scrolling: ${document.documentElement.scrollWidth} in ${innerWidth}`);
  // Contrast
  /** @param {string} colour */
  const numbers = (colour) => {
    const parts = (colour.match(/[\d.]+/g) ?? []).map(Number);
    return parts.length > 3 ? parts : [...parts, 1];
  };
  /** @param {number[]} colour */
  const luminance = ([r, g, b]) =>
    [r, g, b]
      .map((value) => value / 255)
      .map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))
      .reduce((sum, value, index) => sum + value * [0.2126, 0.7152, 0.0722][index], 0);
  /** @type {(element: Element) => number[]} */
  const background = (element) => {
    const colour = numbers(getComputedStyle(element).backgroundColor);
    if (colour[3] === 1) return colour;
    return element.parentElement ? background(element.parentElement) : [255, 255, 255, 1];
  };
  /** @type {(first: number[], second: number[]) => number} */
  const contrast = (first, second) => {
    const [high, low] = [luminance(first), luminance(second)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (
      !element ||
      !walker.currentNode.textContent?.trim() ||
      !isVisible(element) ||
      element.closest("svg, script, style, noscript")
    )
      continue;
    const style = getComputedStyle(element);
    const size = parseFloat(style.fontSize);
    const required = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    const measured = contrast(numbers(style.color), background(element));
    if (measured < required) problems.push(`contrast ${measured.toFixed(2)}: ${description(element)}`);
  }
  return problems;
})();
