// A questionnaire as a form: one group per item, with an error message of its own.

import { inline } from "./markdown.mjs";

/** One item, as the server describes it.
 * @typedef {{name: string, kind: "choice" | "several" | "number" | "text" | "scale", text: string, required: boolean,
 *   options?: string[], least?: number, most?: number, labels?: string[]}} Item */

/** @type {(tag: string, properties?: object, ...children: (Node | string)[]) => any} */
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  Object.assign(element, properties);
  element.append(...children);
  return element;
}

/** The buttons of a choice, each with its label.
 * @type {(item: Item, type: "radio" | "checkbox", values: (string | number)[]) => HTMLElement[]} */
function buttons(item, type, values) {
  return values.map((value) => {
    const input = make("input", { type, name: item.name, value: String(value) });
    return make("label", {}, input, make("span", {}, ...inline(String(value))));
  });
}

/** @param {Item} item */
function points(item) {
  const { least = 1, most = 7 } = item;
  return Array.from({ length: most - least + 1 }, (_, index) => least + index);
}

/** The part of an item that takes the response.
 * @param {Item} item */
function field(item) {
  if (item.kind === "choice" || item.kind === "several") {
    const type = item.kind === "choice" ? "radio" : "checkbox";
    return make("div", { className: "choices" }, ...buttons(item, type, item.options ?? []));
  }
  if (item.kind === "scale") {
    const [low = "", high = ""] = item.labels ?? [];
    const end = (/** @type {string} */ text) => make("span", { className: "end" }, ...inline(text));
    return make("div", { className: "scale" }, end(low), ...buttons(item, "radio", points(item)), end(high));
  }
  const input =
    item.kind === "text"
      ? make("textarea", { name: item.name, rows: 3, maxLength: 2000 })
      : make("input", { name: item.name, inputMode: "decimal", autocomplete: "off" });
  input.setAttribute("aria-labelledby", `item-${item.name}`);
  return input;
}

/** The response to an item; null if there is none, NaN if it is not a number.
 * @type {(item: Item, form: HTMLFormElement) => string | number | string[] | null} */
function response(item, form) {
  const data = new FormData(form);
  if (item.kind === "several") return data.getAll(item.name).map(String);
  const value = String(data.get(item.name) ?? "").trim();
  if (!value) return null;
  return item.kind === "number" || item.kind === "scale" ? numberIn(value) : value;
}

const DIGIT = /\p{Nd}/u;

/** The number in a text, in the digits of any script; NaN if there is none. A comma is a decimal one, but 1,000
 * counts as none, since it may mean two different numbers.
 * @type {(text: string) => number} */
function numberIn(text) {
  const digit = (/** @type {string} */ one) => {
    const code = /** @type {number} */ (one.codePointAt(0));
    let zero = code; // the digits of a script follow each other, and those of scripts in a row come in tens
    while (DIGIT.test(String.fromCodePoint(zero - 1))) zero -= 1;
    return String((code - zero) % 10);
  };
  const plain = text
    .replace(/\p{Nd}/gu, digit)
    .replace(/[٫，]/g, ",")
    .replace("−", "-");
  return /^[-+]?[1-9]\d{0,2}(,\d{3})+$/.test(plain) ? Number.NaN : Number(plain.replace(",", "."));
}

/** The error in a response, or "".
 * @type {(item: Item, value: ReturnType<typeof response>, texts: Record<string, string>) => string} */
function problem(item, value, texts) {
  if (value === null || (Array.isArray(value) && !value.length)) return item.required ? texts.required : "";
  if (typeof value !== "number") return "";
  const { least = -Number.MAX_VALUE, most = Number.MAX_VALUE } = item;
  if (value >= least && value <= most) return "";
  const { number_needed, number_least, number_most, number_range } = texts;
  const limits = item.least === undefined ? number_most : item.most === undefined ? number_least : number_range;
  if (Number.isNaN(value) || (item.least ?? item.most) === undefined) return number_needed;
  return limits.replace("{least}", String(least)).replace("{most}", String(most));
}

/** Build a form. `send` gets the responses by name once all of them are valid.
 * @type {(items: Item[], texts: Record<string, string>, send: (values: object) => void) => HTMLFormElement} */
export function questionnaire(items, texts, send) {
  const groups = items.map((item) => {
    const legend = make("legend", { id: `item-${item.name}` }, ...inline(item.text));
    if (!item.required) legend.append(` (${texts.optional})`);
    const error = make("p", { className: "error", id: `error-${item.name}` });
    error.setAttribute("role", "alert");
    return make("fieldset", {}, legend, field(item), error);
  });
  const submit = make("button", { type: "submit", className: "main", textContent: texts.go_on });
  const form = make(
    "form",
    { className: "questionnaire", noValidate: true },
    ...groups,
    make("div", { className: "buttons" }, submit),
  );
  form.addEventListener("submit", (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    /** @type {Record<string, unknown>} */
    const values = {};
    let isValid = true;
    items.forEach((item, index) => {
      const value = response(item, form);
      const message = problem(item, value, texts);
      const inputs = [...groups[index].querySelectorAll("input, textarea")];
      groups[index].querySelector(".error").textContent = message;
      for (const input of inputs) {
        if (message) input.setAttribute("aria-describedby", `error-${item.name}`);
        else input.removeAttribute("aria-describedby");
        input.ariaInvalid = String(Boolean(message));
      }
      if (message && isValid) inputs[0].focus();
      isValid &&= !message;
      values[item.name] = value;
    });
    if (!isValid) return;
    submit.disabled = true;
    send(values);
  });
  return form;
}
