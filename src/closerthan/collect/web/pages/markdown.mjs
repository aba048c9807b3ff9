// Simple Markdown as elements of the page. Text is inserted as text, never as HTML, so nothing in it can run.

/** The parts of a line: a character after a backslash, a line break, code, bold, italic, a link to the web or to an
 * e-mail address, and the beginning of a picture, which is not supported. */
const INLINE = new RegExp(
  [
    /\\([!-/:-@[-`{-~])/,
    /(?: {2,}|\\)(\n)/,
    /`([^`]+)`/,
    /\*\*(\S(?:.*?\S)?)\*\*(?!\*)/,
    /\*(?![*\s])((?:\\.|[^\\])*?(?:\\.|[^\\*\s]))\*(?!\*)/,
    /\[((?:\\.|[^\\\]])+)\]\(((?:https?:\/\/|mailto:)(?:[^\s()]|\([^\s()]*\))+)\)/,
    /(!\[)/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "is",
);
const HEADING = /^#{1,6}\s+(.*?)(?:\s+#+)?$/;
/** The markers of list items. */
const ITEM = /^(?:[-*•]|(\d{1,9})[.)])\s+(.*)$/;

/** Return a text with its formatting, as nodes to append.
 * @type {(text: string) => Node[]} */
export function inline(text) {
  const match = INLINE.exec(text);
  if (!match) return text ? [document.createTextNode(text)] : [];
  const [whole, character, newline, code, bold, italic, label, address, picture] = match;
  const before = document.createTextNode(text.slice(0, match.index));
  const rest = inline(text.slice(match.index + whole.length));
  if (newline) return [before, document.createElement("br"), ...rest];
  if (character || picture) return [before, document.createTextNode(character ?? picture), ...rest];
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
  return [before, element, ...rest];
}

/** Return the paragraphs, headings and lists of a text.
 * @type {(text: string) => HTMLElement[]} */
export function blocks(text) {
  /** @type {HTMLElement[]} */
  const elements = [];
  /** The lines of the paragraph or list item that the next line may continue, and the element that they will fill.
   * @type {{element: HTMLElement, lines: string[]} | null} */
  let open = null;
  const close = () => {
    open?.element.append(...inline(open.lines.join("\n")));
    open = null;
  };
  for (const line of text.split("\n").map((one) => one.trimStart())) {
    const heading = HEADING.exec(line.trimEnd());
    const item = ITEM.exec(line);
    // A number other than 1 can also be at the start of a line of a paragraph.
    const isItem = item && (!open || open.element.tagName === "LI" || [undefined, "1"].includes(item[1]));
    if (!line.trim() || heading || isItem) close();
    if (heading) {
      elements.push(document.createElement("h2"));
      elements[elements.length - 1].append(...inline(heading[1]));
    } else if (isItem) {
      open = { element: document.createElement("li"), lines: [item[2]] };
      listFor(elements, item[1]).append(open.element);
    } else if (open) {
      open.lines.push(line);
    } else if (line.trim()) {
      open = { element: document.createElement("p"), lines: [line] };
      elements.push(open.element);
    }
  }
  close();
  return elements;
}

/** Return the list that the next item belongs to: the last element, or a new one that begins with `number`.
 * @type {(elements: HTMLElement[], number: string | undefined) => HTMLElement} */
function listFor(elements, number) {
  const tag = number === undefined ? "ul" : "ol";
  const last = elements.at(-1);
  if (last?.tagName === tag.toUpperCase()) return last;
  const list = document.createElement(tag);
  if (list instanceof HTMLOListElement) list.start = Number(number);
  elements.push(list);
  return list;
}
