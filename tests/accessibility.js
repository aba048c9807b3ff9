// What a script can see of WCAG 2.2 AA: names, languages, nesting, sizes, contrast. Each finding names the element.
(() => {
  const found = [];
  const seen = (element) => {
    if (element.closest("[hidden], [aria-hidden=true], template")) return false;
    const style = getComputedStyle(element),
      box = element.getBoundingClientRect();
    return style.visibility !== "hidden" && style.display !== "none" && box.width > 1 && box.height > 1;
  };
  const called = (element) =>
    `<${element.tagName.toLowerCase()}${element.id ? " #" + element.id : ""} .${element.className}> "${(element.textContent || "").trim().slice(0, 30)}"`;
  const label = (element) => {
    const by = (element.getAttribute("aria-labelledby") || "")
      .split(/\s+/)
      .filter(Boolean)
      .map((id) => document.getElementById(id)?.textContent || "")
      .join(" ");
    const own = element.labels?.length ? [...element.labels].map((one) => one.textContent).join(" ") : "";
    const pictures = [...element.querySelectorAll("img")].map((one) => one.alt).join(" ");
    return (by || element.getAttribute("aria-label") || own || element.textContent + pictures || "").trim();
  };
  // Names
  for (const element of document.querySelectorAll(
    "button, a[href], input, select, [role=img], [role=region], progress, video, audio[controls]",
  ))
    if (seen(element) && !label(element)) found.push(`no name: ${called(element)}`);
  for (const image of document.querySelectorAll("img"))
    if (!image.hasAttribute("alt")) found.push(`no alt: ${called(image)}`);
  if (!document.documentElement.lang) found.push("no language");
  if (!document.title.trim()) found.push("no title");
  if (document.querySelectorAll("main").length !== 1) found.push("not one main");
  if ([...document.querySelectorAll("h1")].filter(seen).length !== 1) found.push("not one h1");
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  for (const id of new Set(ids)) if (ids.filter((one) => one === id).length > 1) found.push(`twice: #${id}`);
  for (const element of document.querySelectorAll("[tabindex]"))
    if (element.tabIndex > 0) found.push(`tabindex ${called(element)}`);
  for (const outer of document.querySelectorAll("button, a[href]"))
    if (outer.querySelector("button, a[href], input, audio[controls], video[controls]"))
      found.push(`nested: ${called(outer)}`);
  for (const name of ["aria-labelledby", "aria-describedby", "aria-controls"])
    for (const element of document.querySelectorAll(`[${name}]`))
      for (const id of element.getAttribute(name).split(/\s+/))
        if (!document.getElementById(id)) found.push(`no #${id} for ${called(element)}`);
  // Sizes of what is pressed, and no sideways scrolling
  for (const element of document.querySelectorAll("button, a[href]")) {
    const box = element.getBoundingClientRect();
    if (seen(element) && (box.width < 24 || box.height < 24)) found.push(`small: ${called(element)}`);
  }
  if (document.documentElement.scrollWidth > innerWidth)
    found.push(`sideways: ${document.documentElement.scrollWidth} in ${innerWidth}`);
  // Contrast
  const numbers = (colour) => {
    const parts = colour.match(/[\d.]+/g).map(Number);
    return parts.length > 3 ? parts : [...parts, 1];
  };
  const light = ([r, g, b]) =>
    [r, g, b]
      .map((one) => one / 255)
      .map((one) => (one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4))
      .reduce((sum, one, index) => sum + one * [0.2126, 0.7152, 0.0722][index], 0);
  const behind = (element) => {
    for (let one = element; one; one = one.parentElement) {
      const colour = numbers(getComputedStyle(one).backgroundColor);
      if (colour[3] === 1) return colour;
    }
    return [255, 255, 255, 1];
  };
  const ratio = (one, other) => {
    const [high, low] = [light(one), light(other)].sort((a, b) => b - a);
    return (high + 0.05) / (low + 0.05);
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.textContent.trim() || !seen(element) || element.closest("svg, script, style, noscript"))
      continue;
    const style = getComputedStyle(element),
      size = parseFloat(style.fontSize);
    const needed = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
    const reached = ratio(numbers(style.color), behind(element));
    if (reached < needed) found.push(`contrast ${reached.toFixed(2)}: ${called(element)}`);
  }
  return found;
})();
