// Questions with several picks: options are picked one after another, taken back if necessary, and confirmed.

/** The words on the page, with {placeholders}.
 * @typedef {Record<string, string>} Texts */
/** How options are picked: how many of them, whether in order, and what happens with the result.
 * @typedef {{number: number, isRanked: boolean, texts: Texts, announce: (text: string) => void,
 *   confirm: (picks: number[], pressed: HTMLElement) => void}} Rules */

/** @type {(text: string, values: Record<string, string | number>) => string} */
const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => String(values[name] ?? ""));

export class Picking {
  /** The positions of the picked options, in the order in which they were picked.
   * @type {number[]} */
  picks = [];
  /** What to do, how much of it is done, and the button to confirm. */
  bar = document.createElement("div");

  /** @param {HTMLButtonElement[]} buttons
   * @param {Rules} rules */
  constructor(buttons, rules) {
    this.buttons = buttons;
    this.rules = rules;
    const { number, isRanked, texts } = rules;
    const task = document.createElement("p");
    task.textContent = filled(isRanked && number > 1 ? texts.choose_ranked : texts.choose_several, { number });
    this.count = document.createElement("p");
    this.count.className = "count";
    this.done = document.createElement("button");
    this.done.type = "button";
    this.done.className = "main";
    this.done.textContent = texts.confirm;
    this.done.onclick = () => this.confirm();
    this.bar.className = "picking";
    this.bar.append(task, this.count, this.done);
    this.texts = buttons.map((button) => button.textContent);
    this.labels = buttons.map((button) => button.getAttribute("aria-label")); // of the options that have one
    this.marks = buttons.map((button) => {
      const mark = document.createElement("span");
      mark.className = "mark";
      button.append(mark);
      return mark;
    });
    this.show();
  }

  get isComplete() {
    return this.picks.length === this.rules.number;
  }

  /** Pick an option, or take the pick back. A single pick replaces the one before.
   * @param {number} index */
  toggle(index) {
    if (this.picks.includes(index)) this.picks = this.picks.filter((one) => one !== index);
    else if (this.rules.number === 1) this.picks = [index];
    else if (!this.isComplete) this.picks.push(index);
    this.show();
    this.rules.announce(this.count.textContent ?? "");
  }

  confirm() {
    if (this.isComplete) this.rules.confirm([...this.picks], this.done);
  }

  /** Show the state of all options. */
  show() {
    const { number, isRanked, texts } = this.rules;
    for (const [index, button] of this.buttons.entries()) {
      const rank = this.picks.indexOf(index);
      button.setAttribute("aria-pressed", String(rank >= 0));
      const isNumber = isRanked && number > 1;
      this.marks[index].textContent = rank < 0 ? "" : isNumber ? String(rank + 1) : "✓";
      this.marks[index].ariaHidden = String(!isNumber); // that an option is pressed is announced anyway
      const label = this.labels[index];
      // The mark follows the visible text, so that the label contains both as they are seen.
      const text = this.texts[index];
      if (label !== null)
        button.setAttribute("aria-label", label.replace(text, `${text} ${this.marks[index].textContent}`.trimEnd()));
      if (this.isComplete && rank < 0 && number > 1) button.setAttribute("aria-disabled", "true");
      else button.removeAttribute("aria-disabled");
    }
    this.count.textContent = filled(texts.chosen_so_far, { place: this.picks.length, number });
    this.done.setAttribute("aria-disabled", String(!this.isComplete));
  }

  /** Handle a key: digits pick, arrows move the focus, and Enter confirms unless a button has the focus.
   * @type {(event: KeyboardEvent) => boolean} */
  key(event) {
    const index = "1234567890".indexOf(event.key);
    if (event.key.length === 1 && index >= 0) {
      if (index < this.buttons.length) this.toggle(index);
      return index < this.buttons.length;
    }
    if (event.key === "Enter" && !(document.activeElement instanceof HTMLButtonElement)) {
      this.confirm();
      return this.isComplete;
    }
    return this.move(event.key);
  }

  /** Move the focus to the next option in the direction of an arrow key.
   * @param {string} key */
  move(key) {
    const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
    const step = /** @type {Record<string, number[]>} */ (steps)[key];
    if (!step) return false;
    const targets = [...this.buttons, this.done];
    const from = targets.find((one) => one === document.activeElement);
    if (!from) {
      targets[0].focus();
      return true;
    }
    /** @type {(one: Element) => number[]} */
    const centre = (one) => {
      const box = one.getBoundingClientRect();
      return [box.x + box.width / 2, box.y + box.height / 2];
    };
    const [x, y] = centre(from);
    let best = null;
    let least = Number.POSITIVE_INFINITY;
    for (const target of targets) {
      const [dx, dy] = [centre(target)[0] - x, centre(target)[1] - y];
      const ahead = dx * step[0] + dy * step[1];
      const aside = Math.abs(dx * step[1]) + Math.abs(dy * step[0]);
      // Targets in the direction of the key come first, and sidesteps cost more than distance.
      if (ahead > 4 && ahead + 3 * aside < least) {
        least = ahead + 3 * aside;
        best = target;
      }
    }
    // At the end of a row, continue with the option that follows.
    const next = best ?? targets[targets.indexOf(from) + step[0] + step[1]];
    next?.focus();
    return true;
  }
}
