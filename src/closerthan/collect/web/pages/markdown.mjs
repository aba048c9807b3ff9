// Simple Markdown as elements of the page. Text is inserted as text, never as HTML, so nothing in it can run.

// Bold, italic, code, and links to the web or to an e-mail address.
const INLINE = /\*\*(\S(?:.*?\S)?)\*\*|\*(\S(?:.*?\S)?)\*|`([^`]+)`|\[([^\]]+)\]\(((?:https?:\/\/|mailto:)[^\s()]+)\)/s;

/** Return a text with its formatting, as nodes to append.
 * @type {(text: string) => Node[]} */
export function inline(text) {
  const match = INLINE.exec(text);
  if (!match) return text ? [document.createTextNode(text)] : [];
  const [whole, bold, italic, code, label, address] = match;
  /** @type {HTMLElement} */
  let element;
  if (code !== undefined) {
    element = document.createElement("code");
    element.textContent = code;
  } else if (address !== undefined) {
    const link = document.createElement("a");
    link.href = address;
    link.target = "_blank";
    link.rel = "noreferrer noopener";
    link.append(...inline(label));
    element = link;
  } else {
    element = document.createElement(bold !== undefined ? "strong" : "em");
    element.append(...inline(bold ?? italic));
  }
  const rest = text.slice(match.index + whole.length);
  return [document.createTextNode(text.slice(0, match.index)), element, ...inline(rest)];
}

/** Return the paragraphs, headings and lists of a text.
 * @type {(text: string) => HTMLElement[]} */
export function blocks(text) {
  return text
    .split(/\n\s*\n/)
    .map((part) => part.trim())
    .filter(Boolean)
    .map(block);
}

/** @type {(text: string) => HTMLElement} */
function block(text) {
  const heading = /^#{1,4}\s+(.*)$/.exec(text);
  if (heading) return filled("h2", heading[1]);
  const lines = text.split("\n").map((line) => line.trim());
  for (const [tag, marker] of /** @type {[string, RegExp][]} */ ([
    ["ul", /^[-*•]\s+/],
    ["ol", /^\d+[.)]\s+/],
  ])) {
    if (!marker.test(lines[0])) continue;
    const list = document.createElement(tag);
    for (const line of lines) {
      if (marker.test(line)) list.append(filled("li", line.replace(marker, "")));
      else list.lastElementChild?.append(" ", ...inline(line));
    }
    return list;
  }
  return filled("p", lines.join(" "));
}

/** @type {(tag: string, text: string) => HTMLElement} */
function filled(tag, text) {
  const element = document.createElement(tag);
  element.append(...inline(text));
  return element;
}
