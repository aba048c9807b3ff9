// The participant's page: consent, instructions, questions, end. The server keeps the state; this page shows it and
// sends the answers.
"use strict";

/** @typedef {import("./media.mjs").Stimulus} Stimulus */
/** @typedef {{id: string, place: number, of: number, practice: boolean, anchor: Stimulus | null,
 *   options: Stimulus[], expected?: number}} Question */
/** The server's reply after each step.
 * @typedef {{stage: "before" | "comprehension" | "questions" | "after" | "complete" | "failed" | "declined" |
 *   "withdrawn" | "consent" | "open" | "paused" | "full" | "unidentified",
 *   questions: Question[], answered: number, code?: string, redirect?: string, withdrawal?: string,
 *   texts?: {question: string, instructions: string}, pilot?: boolean, debriefing?: string, wrong?: boolean,
 *   attempt?: number}} State */
/** The description of the study for participants.
 * @typedef {{title: string, language: string, direction: string, version: string, consent: string,
 *   instructions: string, question: string,
 *   break_after: number, before: Item[], after: Item[], comprehension: {text: string, options: string[]} | null,
 *   kind: string, picks: number, keys: boolean, tie: boolean, skip: boolean, pause_ms: number, parameters: string[],
 *   must_play: boolean, media: string[],
 *   texts: Record<string, string>}} Study */
/** @typedef {import("./questionnaire.mjs").Item} Item */
/** A choice is the position of an option, or the positions of all options that were picked. A fault lists the positions
 * of the stimuli that could not be shown, with the anchor first.
 * @typedef {number | number[] | "tie" | "skip" | {fault: number[]}} Choice */
/** @typedef {{question: string, choice: Choice, rt_ms: number | null}} Answer */

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const notice = /** @type {HTMLElement} */ (document.getElementById("notice"));
const progress = /** @type {HTMLProgressElement} */ (document.getElementById("progress"));
const PREFIX = `closerthan ${location.pathname}`; // prefix of the names under which the browser stores data
const PAUSES = [500, 1000, 2000, 4000, 8000, 15000]; // milliseconds between attempts to send
const PAUSED = 10000; // milliseconds between two looks at whether a paused study has been resumed
const CHOICE_VISIBLE = 110; // milliseconds for which the choice is highlighted before the page goes blank

/** @type {Study} */
let study;
/** The participant's secret; the server stores only its hash.
 * @type {string} */
let key;
/** The next questions, in order.
 * @type {Question[]} */
let questions = [];
/** Answers that the server has not acknowledged.
 * @type {Answer[]} */
let unsent = [];
let sending = false;
/** The question on the screen, whether it is visible and has not been answered, and the time at which it could be
 * answered: when it became visible, or at the end of its sounds and videos.
 * @type {{question: Question | null, since: number | null, visible: boolean} | null} */
let current = null;
let sawPractice = false;
let keysOn = true;
let playing = !window.matchMedia("(prefers-reduced-motion: reduce)").matches;
/** The countdown to the redirect to the recruiter's page.
 * @type {ReturnType<typeof setInterval>} */
let countdown;
let sawInstructions = false;
/** Modules, which are loaded before the first page is shown.
 * @type {typeof import("./markdown.mjs")} */
let markdown;
/** @type {typeof import("./questionnaire.mjs")} */
let forms;
/** @type {typeof import("./media.mjs")} */
let media;
/** @type {typeof import("./picks.mjs")} */
let picks;
/** The picks of the question on the screen, if several options are to be picked.
 * @type {import("./picks.mjs").Picking | null} */
let picking = null;
/** The code with which the participant can have the answers deleted. */
let withdrawalCode = "";

// ---- Browser storage ----------------------------------------------------------------------------------------------

// The tab remembers its participant until it is closed; the browser remembers a participant who has not finished.
const stored = {
  /** @type {(store: () => Storage, name: string) => any} */
  read(store, name) {
    try {
      return JSON.parse(store().getItem(`${PREFIX} ${name}`) ?? "null");
    } catch {
      return null;
    }
  },
  /** @type {(store: () => Storage, name: string, value: object | null) => void} */
  write(store, name, value) {
    try {
      if (value === null) store().removeItem(`${PREFIX} ${name}`);
      else store().setItem(`${PREFIX} ${name}`, JSON.stringify(value));
    } catch {
      // Storage is disabled, so a reload starts from the beginning.
    }
  },
};
const tab = () => window.sessionStorage;
const browser = () => window.localStorage;

// A key belongs to the address for which it was created: the recruiter may send several people to the same computer.
function keyAndAddress() {
  return { key, address: JSON.stringify(address()) };
}

/** @type {(record: {key: string, address: string} | null) => string | null} */
function keyForThisAddress(record) {
  return record?.address === JSON.stringify(address()) ? record.key : null;
}

function remember() {
  stored.write(tab, "key", keyAndAddress());
  stored.write(browser, "key", keyAndAddress());
}

function storeUnsent() {
  stored.write(browser, "unsent", unsent.length ? { key, unsent } : null);
}

function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(18));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// ---- The server ---------------------------------------------------------------------------------------------------

class Refusal extends Error {
  /** @param {number} status */
  constructor(status) {
    super(`status ${status}`);
    this.status = status;
  }
}

/** @type {(path: string, body?: object) => Promise<any>} */
async function ask(path, body) {
  const reply = await fetch(path, {
    method: body === undefined ? "GET" : "POST",
    headers: { "Content-Type": "application/json", ...(key ? { Authorization: `Bearer ${key}` } : {}) },
    body: body === undefined ? undefined : JSON.stringify(body),
    cache: "no-store",
    credentials: "omit",
  });
  if (!reply.ok) throw new Refusal(reply.status);
  return reply.json();
}

/** @type {(milliseconds: number) => Promise<void>} */
const wait = (milliseconds) =>
  new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      window.removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    window.addEventListener("online", done); // do not wait any longer once the connection is back
  });

/** Repeat a request with growing pauses while the server cannot be reached. Throw Refusal if the server rejects it.
 * @type {(path: string, body?: object) => Promise<any>} */
async function askUntilAnswered(path, body) {
  for (let tries = 0; ; tries += 1) {
    try {
      const reply = await ask(path, body);
      say("");
      return reply;
    } catch (error) {
      const isFinal = error instanceof Refusal && error.status < 500 && error.status !== 429;
      if (isFinal) throw error;
      if (tries > 0) say(study?.texts.waiting ?? "");
      await wait(PAUSES[Math.min(tries, PAUSES.length - 1)]);
    }
  }
}

async function send() {
  if (sending) return;
  sending = true;
  try {
    while (unsent.length) {
      let state;
      try {
        state = await askUntilAnswered("answer", unsent[0]);
        unsent.shift();
      } catch (error) {
        if (error instanceof Refusal && error.status === 401) {
          forgetAll();
          return showText(study.texts.gone);
        }
        // The server's state wins, for example if the question was answered in another tab: continue from there.
        unsent = [];
        current = null;
        state = await askUntilAnswered("state");
      }
      storeUnsent();
      follow(state);
    }
  } finally {
    sending = false;
  }
}

/** Continue with the state that the server sent.
 * @param {State} state */
function follow(state) {
  Object.assign(study, state.texts ?? {});
  if (state.stage === "paused") {
    questions = [];
    waitWhilePaused("state");
    return;
  }
  if (state.stage === "consent") {
    questions = [];
    consentAgain();
    return;
  }
  if (state.stage === "before" || state.stage === "after") return fillIn(state.stage);
  const isFirst = state.stage === "comprehension" || (state.stage === "questions" && state.answered === 0);
  if (isFirst && (!sawInstructions || state.wrong)) return instructions(state);
  if (state.stage === "comprehension") return comprehension(state);
  if (state.stage !== "questions") {
    questions = [];
    return end(state);
  }
  const answered = new Set([current?.question?.id, ...unsent.map((answer) => answer.question)]);
  questions = state.questions.filter((question) => !answered.has(question.id));
  for (const question of questions) load(question);
  if (current === null) nextWhenLoaded();
}

function forgetAll() {
  unsent = [];
  for (const name of ["key", "unsent"]) {
    stored.write(tab, name, null);
    stored.write(browser, name, null);
  }
}

// ---- Building the page --------------------------------------------------------------------------------------------

/** @type {(tag: string, properties?: Record<string, any>, ...children: (Node | string | null)[]) => any} */
function make(tag, properties = {}, ...children) {
  /** @type {any} */
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** Fill in the {placeholders} of a text.
 * @type {(text: string, values: Record<string, any>) => string} */
function filled(text, values) {
  return text.replace(/\{(\w+)\}/g, (placeholder, name) => (name in values ? values[name] : placeholder));
}

/** @param {string} text */
function say(text) {
  if (notice.textContent !== text) notice.textContent = text;
}

/** @type {(text: string) => Node[]} */
function paragraphs(text) {
  return markdown.blocks(text);
}

/** Show a screen of text.
 * @type {(text: string, ...more: Node[]) => void} */
function showText(text, ...more) {
  progress.hidden = true;
  current = null;
  const heading = make("h1", { textContent: study?.title ?? "", tabIndex: -1 });
  main.replaceChildren(make("div", { className: "reading" }, heading, ...paragraphs(text), ...more));
  heading.focus();
  window.scrollTo(0, 0);
}

/** @type {(text: string, onclick: (event: MouseEvent) => void, className?: string) => HTMLButtonElement} */
function button(text, onclick, className = "") {
  return make("button", { type: "button", textContent: text, className, onclick });
}

// ---- Screens before and after the questions -----------------------------------------------------------------------

/** The parameters of the address that identify the participant to the recruiter. */
function address() {
  const query = new URLSearchParams(location.search);
  return Object.fromEntries(study.parameters.filter((name) => query.has(name)).map((name) => [name, query.get(name)]));
}

/** Show the consent form, unless nobody new may join. */
async function arrive() {
  try {
    const state = await askUntilAnswered("arrive", { address: address() });
    if (state.stage === "full") return end(state);
    if (state.stage === "unidentified") {
      showText(study.texts.no_id);
      document.body.dataset.stage = state.stage;
      return;
    }
    if (state.stage === "paused") {
      waitWhilePaused("arrive", { address: address() });
      return;
    }
  } catch (error) {
    if (!(error instanceof Refusal)) throw error;
  }
  consent();
}

/** Tell the participant that the study is paused, and continue when it is resumed.
 * @type {(path: string, body?: object) => Promise<void>} */
async function waitWhilePaused(path, body) {
  showText(study.texts.paused, ...withdrawal());
  document.body.dataset.stage = "paused";
  for (;;) {
    await wait(PAUSED);
    const state = await askUntilAnswered(path, body);
    if (state.stage === "paused") continue;
    delete document.body.dataset.stage;
    if (state.stage === "open") return consent();
    return follow(state);
  }
}

function consent() {
  const agree = button(study.texts.agree, () => begin(agree), "main");
  const decline = button(study.texts.decline, () => leave(decline));
  showText(study.consent, make("div", { className: "buttons" }, agree, decline));
}

/** Ask somebody who has begun for consent to a text that has changed. */
async function consentAgain() {
  study = await askUntilAnswered("study");
  const agree = button(study.texts.agree, () => begin(agree), "main");
  const decline = button(study.texts.decline, () => {
    const back = button(study.texts.go_on, consentAgain, "main");
    const remove = button(study.texts.stop_and_delete, () => withdraw(remove));
    showText(study.texts.stop_question, ...withdrawal(), make("div", { className: "buttons" }, back, remove));
  });
  showText(study.consent, make("div", { className: "buttons" }, agree, decline));
  main.querySelector("h1")?.after(make("p", { className: "changed", textContent: study.texts.consent_changed }));
}

/** @param {HTMLButtonElement} pressed */
async function begin(pressed) {
  pressed.disabled = true;
  remember(); // before the request: if the reply is lost, the same key is sent again
  try {
    const state = await askUntilAnswered("join", { consent: study.version, address: address() });
    heed(state);
    if (state.stage === "paused") waitWhilePaused("arrive", { address: address() });
    else follow(state);
  } catch (error) {
    const isPreview = error instanceof Refusal && error.status === 403;
    if (!isPreview) return location.reload(); // with the key, because it may belong to somebody who has begun
    forgetAll();
    showText(`${study.texts.preview}\n\n${study.instructions}`);
  }
}

/** @param {HTMLButtonElement} pressed */
async function leave(pressed) {
  pressed.disabled = true;
  try {
    end(await askUntilAnswered("decline", {}));
  } catch {
    location.reload();
  }
}

/** Remember the withdrawal code, and show whether this is a pilot.
 * @param {State} state */
function heed(state) {
  withdrawalCode = state.withdrawal ?? withdrawalCode;
  if (state.pilot && !document.querySelector(".pilot"))
    main.before(make("p", { className: "pilot", textContent: study.texts.pilot }));
}

/** The withdrawal code with an explanation.
 * @type {() => Node[]} */
function withdrawal() {
  const { texts } = study;
  const code = make("strong", { className: "code small", textContent: withdrawalCode });
  if (!withdrawalCode) return [];
  return [make("p", {}, `${texts.withdrawal_code}: `, code), make("p", { textContent: texts.withdrawal_note })];
}

/** A button that asks whether to stop; `goBack` returns to what was shown before.
 * @type {(goBack: () => void) => HTMLButtonElement} */
function stopButton(goBack) {
  const { texts } = study;
  const ask = () => {
    const before = current && { question: current.question, since: null, visible: false };
    media.pauseAll();
    const goOn = button(texts.go_on, goBack, "main");
    const remove = button(texts.stop_and_delete, () => withdraw(remove));
    showText(texts.stop_question, ...withdrawal(), make("div", { className: "buttons" }, goOn, remove));
    current = before;
  };
  return button(texts.stop, ask, "stop");
}

/** Show a question again.
 * @param {Question} question */
function resume(question) {
  current = { question, since: null, visible: false };
  draw(question);
}

/** Delete all answers of this participant.
 * @param {HTMLButtonElement} pressed */
async function withdraw(pressed) {
  pressed.disabled = true;
  unsent = [];
  try {
    await askUntilAnswered("withdraw", {});
  } catch {
    // The participant is unknown to the server, so the answers have been deleted before.
  }
  questions = [];
  end({ stage: "withdrawn", questions: [], answered: 0 });
  forgetAll();
}

/** Show the instructions; again if the question about them was answered wrongly.
 * @param {State} state */
function instructions(state) {
  const goOn = () => {
    sawInstructions = true;
    follow({ ...state, wrong: false });
  };
  showText(
    study.instructions,
    ...withdrawal(),
    make("div", { className: "buttons" }, button(study.texts.start, goOn, "main")),
  );
  if (state.wrong) {
    const notice = make("p", { className: "error", textContent: study.texts.comprehension_wrong });
    notice.setAttribute("role", "alert");
    main.querySelector("h1")?.after(notice);
  }
  startLoading();
}

/** Show a questionnaire.
 * @param {"before" | "after"} when */
async function fillIn(when) {
  study = await askUntilAnswered("study"); // the items may have changed since the page was opened
  showForm(study[when], (values) => respond(when, values));
}

/** Show the question about the instructions.
 * @param {State} state */
async function comprehension({ attempt }) {
  study = await askUntilAnswered("study");
  const { text, options } = /** @type {{text: string, options: string[]}} */ (study.comprehension);
  /** @type {Item} */
  const item = { name: "answer", kind: "choice", text, options, required: true };
  showForm([item], ({ answer }) => respond("comprehension", { answer: options.indexOf(answer), attempt }));
}

/** Show a form with a button to stop, from which people return to what they have filled in.
 * @type {(items: Item[], send: (values: any) => void) => void} */
function showForm(items, send) {
  const form = forms.questionnaire(items, study.texts, send);
  const show = () => showText("", form);
  form.querySelector(".buttons")?.append(stopButton(show));
  show();
}

/** @type {(form: string, values: object) => Promise<void>} */
async function respond(form, values) {
  try {
    follow(await askUntilAnswered("respond", { form, values }));
  } catch {
    showText(study.texts.problem);
  }
}

/** @param {State} state */
function welcomeBack(state) {
  const other = button(study.texts.someone_else, () => {
    forgetAll();
    key = newKey();
    consent();
  });
  const onward = button(
    study.texts.go_on,
    () => {
      remember();
      follow(state);
    },
    "main",
  );
  showText(study.texts.welcome_back, make("div", { className: "buttons" }, onward, other));
}

/** @param {State} state */
function end(state) {
  // The next person at this computer starts from the beginning, while this tab shows the completion code again.
  stored.write(browser, "key", null);
  stored.write(browser, "unsent", null);
  stored.write(tab, "key", keyAndAddress());
  clearInterval(countdown);
  const { texts } = study;
  const parts = [];
  if (state.code)
    parts.push(make("p", {}, `${texts.code}: `, make("strong", { className: "code", textContent: state.code })));
  const { redirect } = state;
  if (redirect && state.debriefing) {
    // No countdown, so that there is time to read.
    const link = make("a", { href: redirect, className: "button main", textContent: texts.back, rel: "noreferrer" });
    parts.push(make("div", { className: "buttons" }, link));
  } else if (redirect) {
    const link = make("a", {
      href: redirect,
      className: "button main",
      textContent: texts.back,
      rel: "noreferrer",
    });
    const stay = button(texts.stay, () => {
      clearInterval(countdown);
      remaining.remove();
      stay.remove();
    });
    const remaining = make("p");
    let seconds = 10;
    const tick = () => {
      remaining.textContent = filled(texts.leaving, { seconds });
      if (seconds === 0) {
        clearInterval(countdown);
        location.assign(redirect);
      }
      seconds -= 1;
    };
    countdown = setInterval(tick, 1000);
    tick();
    parts.push(remaining, make("div", { className: "buttons" }, link, stay));
  }
  if (state.stage === "complete" || state.stage === "failed") {
    const remove = button(texts.delete, () => {
      clearInterval(countdown);
      const keep = button(texts.keep, () => end(state), "main");
      const sure = button(texts.delete, () => withdraw(sure));
      showText(texts.delete_question, make("div", { className: "buttons" }, keep, sure));
    });
    parts.push(make("div", { className: "withdrawal" }, ...withdrawal(), remove));
  }
  /** @type {Record<string, string>} */
  const words = { declined: texts.declined, full: texts.full, withdrawn: texts.withdrawn };
  showText(words[state.stage] ?? texts.thanks, ...(state.debriefing ? paragraphs(state.debriefing) : []), ...parts);
  document.body.dataset.stage = state.stage;
}

// ---- Questions ----------------------------------------------------------------------------------------------------

/** @type {(question: Question) => Stimulus[]} */
function stimuli(question) {
  return question.anchor ? [question.anchor, ...question.options] : question.options;
}

/** @param {Stimulus} thing */
const presentation = (thing) => media.presentation(thing, study.texts);

/** Load the files of a question, and return the positions of those that cannot be shown, with the anchor first.
 * @type {(question: Question) => Promise<number[]>} */
async function load(question) {
  const results = await Promise.all(
    stimuli(question).map((thing) => media.load(thing, () => say(study.texts.waiting))),
  );
  return results.flatMap((isFine, position) => (isFine ? [] : [position]));
}

/** How many of the files that are loaded before the first question are done, and when all are.
 * @type {{done: number, all: Promise<void>} | null} */
let loading = null;

/** Start to load all files of the study, unless that has been done before. */
function startLoading() {
  const state = { done: 0, all: Promise.resolve() };
  loading ??= state;
  if (loading !== state) return;
  const step = (/** @type {number} */ done) => {
    state.done = done;
    showLoading();
  };
  state.all = media.loadAll(study.media, step);
}

/** Show how much has been loaded. */
function showLoading() {
  const bar = /** @type {HTMLProgressElement | null} */ (document.getElementById("loading"));
  if (!bar || !loading) return;
  bar.value = loading.done;
  const number = bar.nextElementSibling;
  // Isolated, because a text from right to left would turn the fraction around
  if (number) number.textContent = `\u2066${loading.done} / ${bar.max}\u2069`;
}

/** Show the next question once all files have been loaded; those that fail are loaded again when they are needed. */
async function nextWhenLoaded() {
  startLoading();
  if (loading && loading.done < study.media.length) {
    const bar = make("progress", { id: "loading", max: study.media.length, value: 0 });
    bar.setAttribute("aria-label", study.texts.loading);
    const number = make("p", { className: "place" });
    number.setAttribute("aria-hidden", "true");
    showText(study.texts.loading, bar, number);
    showLoading();
    current = { question: null, since: null, visible: false }; // a state that arrives meanwhile draws no question
    await loading.all;
    if (current?.question !== null) return; // the study was paused, for example
  }
  next();
}

/** @type {(thing: Stimulus, index: number, sides: string[]) => HTMLElement} */
function option(thing, index, sides) {
  const number = make("span", { className: "hint", textContent: String(index + 1), hidden: !keysOn });
  if (thing.form === "sound") {
    // HTML does not allow a button inside another one.
    const select = button(study.texts.choose, () => press(index, select), "option");
    select.setAttribute("aria-label", `${study.texts.choose}: ${sides[index]}`);
    return make("div", { className: "sound" }, make("div", { className: "thing" }, presentation(thing)), select);
  }
  const select = make(
    "button",
    { type: "button", className: "option" },
    // The name of the button is its content, so it includes all that is visible.
    make("span", { className: "spoken", textContent: `${sides[index]}: ` }),
    make("span", { className: "thing" }, presentation(thing)),
    number,
  );
  select.onclick = () => press(index, select);
  return select;
}

/** @type {(index: number, pressed: HTMLElement) => void} */
function press(index, pressed) {
  if (!picking) choose(index, pressed);
  else if (current?.question && current.visible) picking.toggle(index);
}

async function next() {
  const question = questions.shift();
  if (question === undefined) {
    // All questions have been answered; the reply to the last answer brings more.
    current = null;
    if (!unsent.length && !sending) showText(study.texts.problem);
    return;
  }
  current = { question, since: null, visible: false };
  const isAfterPractice = !question.practice && question.place === 1 && sawPractice;
  sawPractice = question.practice;
  if (isAfterPractice) {
    const goOn = () => {
      current = { question, since: null, visible: false };
      draw(question);
    };
    showText(study.texts.practice_done, make("div", { className: "buttons" }, button(study.texts.go_on, goOn, "main")));
    current = { question, since: null, visible: false };
    return;
  }
  const { place } = question;
  if (study.break_after && !question.practice && place > 1 && (place - 1) % study.break_after === 0) {
    const text = filled(study.texts.take_a_break, { place: place - 1, number: question.of });
    const goOn = button(study.texts.go_on, () => resume(question), "main");
    const buttons = make("div", { className: "buttons" }, goOn);
    const show = () => {
      showText(text, buttons);
      current = { question, since: null, visible: false };
    };
    buttons.append(stopButton(show));
    return show();
  }
  await draw(question);
}

/** Choose the numbers of columns and rows of many options, for upright phones, phones held sideways and other screens.
 * @type {(shown: HTMLElement, options: Stimulus[]) => void} */
function arrange(shown, options) {
  const number = options.length;
  const rows = number <= 5 ? 1 : number <= 12 ? 2 : 3;
  const arePictures = options.every(({ form }) => form === "image" || form === "video"); // others need more width
  const wide = Math.min(Math.ceil(number / rows), arePictures ? 7 : 4);
  for (const [screen, columns] of Object.entries({ phone: Math.min(3, number), flat: Math.min(5, number), wide })) {
    shown.style.setProperty(`--${screen}-columns`, String(columns));
    shown.style.setProperty(`--${screen}-rows`, String(Math.ceil(number / columns)));
  }
}

const LONG = 100; // characters of a text for which the letters are smaller

/** The classes of a question with texts, whose cards are as tall as they need to be.
 * @param {Question} question */
function textsOf(question) {
  const lengths = stimuli(question).map(({ text }) => text?.length ?? 0);
  return `${Math.max(...lengths) ? "texts" : ""} ${Math.max(...lengths) > LONG ? "long" : ""}`;
}

/** @param {Question} question */
async function draw(question) {
  const { texts } = study;
  const sides = study.picks
    ? question.options.map((_, index) => filled(texts.option, { number: index + 1 }))
    : question.options.length === 2
      ? [texts.left, texts.right]
      : [texts.left, texts.middle, texts.right];
  const place = make("p", {
    className: "place",
    textContent: filled(question.practice ? texts.practice : texts.place, {
      place: question.place,
      number: question.of,
    }),
  });
  const heading = make("h1", { tabIndex: -1, id: "question" }, ...markdown.inline(study.question));
  const anchor =
    question.anchor &&
    make("div", { className: "anchor" }, make("div", { className: "thing" }, presentation(question.anchor)));
  if (anchor) {
    anchor.setAttribute("role", "group");
    anchor.setAttribute("aria-label", texts.reference);
  }
  const options = make(
    "div",
    { className: "options" },
    ...question.options.map((thing, index) => option(thing, index, sides)),
  );
  options.setAttribute("role", "group");
  options.setAttribute("aria-labelledby", "question");
  const shown = make("div", { className: "shown" }, anchor, options);
  if (study.picks) arrange(shown, question.options);
  const rules = { number: study.picks, isRanked: study.kind === "rank", texts, announce, confirm: choose };
  picking = study.picks ? new picks.Picking([...options.querySelectorAll("button.option")], rules) : null;
  const asking = make(
    "div",
    { className: `asking ${study.kind} ${study.picks ? "several" : ""} ${textsOf(question)} blank` },
    place,
    heading,
    shown,
    picking?.bar ?? null,
    others(question),
  );
  main.replaceChildren(asking);
  progress.hidden = false;
  progress.value = question.practice ? 0 : (question.place - 1) / question.of;
  progress.setAttribute("aria-label", place.textContent);
  heading.focus({ preventScroll: true });
  const slow = setTimeout(() => say(texts.loading), 700);
  const [faulty] = await Promise.all([load(question), new Promise((resolve) => setTimeout(resolve, study.pause_ms))]);
  clearTimeout(slow);
  if (current?.question !== question) return;
  if ([texts.loading, texts.waiting].includes(notice.textContent ?? "")) say("");
  if (faulty.length) return showFault(question, faulty);
  asking.classList.remove("blank");
  announce(place.textContent);
  requestAnimationFrame(() => show(question, asking));
}

/** Let a question be answered, as soon as its sounds and videos have been played if that is required.
 * @type {(question: Question, asking: HTMLElement) => Promise<void>} */
async function show(question, asking) {
  const isCurrent = () => current?.question === question && asking.isConnected;
  if (!current || !isCurrent()) return;
  current.visible = true;
  media.broken(asking).then((medium) => {
    const things = [...asking.querySelectorAll(".thing")];
    if (isCurrent()) showFault(question, [things.findIndex((thing) => thing.contains(medium))]);
  });
  const played = media.allPlayed(asking);
  media.playVideos(asking, playing);
  const options = asking.querySelectorAll(".option, .tie");
  if (study.must_play && asking.querySelector("audio, video")) {
    for (const option of options) option.setAttribute("aria-disabled", "true");
    await played;
    for (const option of options) option.removeAttribute("aria-disabled");
    if (notice.textContent === study.texts.play_first) say("");
  }
  if (isCurrent() && current.visible) current.since = performance.now();
}

/** Tell the participant that a question cannot be shown, and report it.
 * @type {(question: Question, faulty: number[]) => void} */
function showFault(question, faulty) {
  const goOn = button(
    study.texts.go_on,
    () => {
      goOn.disabled = true;
      unsent.push({ question: question.id, choice: { fault: faulty }, rt_ms: null });
      storeUnsent();
      next();
      send();
    },
    "main",
  );
  showText(study.texts.fault, make("div", { className: "buttons" }, goOn));
  current = { question, since: null, visible: false };
}

// A live region that stays in the page, so that screen readers notice changes of its text.
const region = make("p", { id: "region" });
region.setAttribute("aria-live", "polite");
/** @param {string} text */
function announce(text) {
  region.textContent = text;
}

/** The buttons below the options: tie, skip, pause and keyboard.
 * @param {Question} question */
function others(question) {
  const { texts } = study;
  const row = make("div", { className: "others" });
  if (study.tie)
    row.append(
      button(
        study.kind === "closer" ? texts.tie : texts.all_alike,
        (event) => choose("tie", event.currentTarget),
        "tie",
      ),
    );
  if (study.skip) row.append(button(texts.skip, (event) => choose("skip", event.currentTarget), "skip"));
  row.append(stopButton(() => resume(question)));
  if (stimuli(question).some((thing) => thing.form === "video")) {
    const pause = button(playing ? texts.pause : texts.resume, () => {
      playing = !playing;
      pause.textContent = playing ? texts.pause : texts.resume;
      media.playVideos(document, playing);
    });
    row.append(pause);
  }
  if (study.keys) {
    const keys = button(
      keysOn ? texts.keys_on : texts.keys_off,
      () => {
        keysOn = !keysOn;
        keys.textContent = keysOn ? texts.keys_on : texts.keys_off;
        for (const hint of main.querySelectorAll(".hint")) hint.toggleAttribute("hidden", !keysOn);
      },
      "keys",
    );
    row.append(keys);
  }
  return row;
}

/** @type {(chosen: Choice, pressed: any) => void} */
function choose(chosen, pressed) {
  if (!current?.question || !current.visible) return; // not visible yet, or just answered
  const { question, since } = current;
  if (since === null && chosen !== "skip") return say(study.texts.play_first);
  current = { question, since: null, visible: false };
  const time = since === null ? null : Math.round(performance.now() - since);
  unsent.push({ question: question.id, choice: chosen, rt_ms: time });
  storeUnsent();
  pressed?.classList.add("chosen");
  if (question.expected !== undefined) return giveFeedback(question.expected, isExpected(chosen, question.expected));
  setTimeout(() => {
    main.querySelector(".asking")?.classList.add("blank");
    media.pauseAll();
    next();
    send();
  }, CHOICE_VISIBLE);
}

/** Whether the expected option was chosen: as the first one of a ranking.
 * @type {(chosen: Choice, expected: number) => boolean} */
function isExpected(chosen, expected) {
  if (!Array.isArray(chosen)) return chosen === expected;
  return study.kind === "rank" ? chosen[0] === expected : chosen.includes(expected);
}

/** Say whether the answer to a practice question was right, and mark the expected option.
 * @type {(expected: number, isRight: boolean) => void} */
function giveFeedback(expected, isRight) {
  const { texts } = study;
  const options = main.querySelectorAll(".option");
  picking?.bar.remove();
  main.querySelector(".chosen")?.classList.remove("chosen"); // only the expected option is marked
  options[expected]?.classList.add("expected");
  const goOn = button(
    texts.go_on,
    () => {
      media.pauseAll();
      next();
      send();
    },
    "main",
  );
  const text = isRight ? texts.practice_right : texts.practice_wrong;
  main.querySelector(".others")?.replaceChildren(make("p", { className: "feedback", textContent: text }), goOn);
  announce(text);
  goOn.focus();
}

/** The option that a key chooses, by the number of options.
 * @type {Record<number, Record<string, number>>} */
const KEYS = {
  2: { ArrowLeft: 0, 1: 0, ArrowRight: 1, 2: 1 },
  3: { ArrowLeft: 0, 1: 0, ArrowUp: 1, ArrowDown: 1, 2: 1, ArrowRight: 2, 3: 2 },
};

// An option under a mouse that has not moved since the question appeared is not highlighted.
document.addEventListener("pointermove", ({ pointerType, movementX, movementY }) => {
  const moved = pointerType === "mouse" && (movementX !== 0 || movementY !== 0);
  if (current?.visible && moved) main.querySelector(".asking")?.classList.add("pointed");
});

document.addEventListener("keydown", (event) => {
  if (!study?.keys || !keysOn || !current?.question || !current.visible) return;
  if (event.repeat || event.ctrlKey || event.altKey || event.metaKey) return;
  if (picking) {
    if (picking.key(event)) event.preventDefault();
    return;
  }
  const index = KEYS[current.question.options.length][event.key];
  if (index === undefined) return;
  event.preventDefault();
  choose(index, main.querySelectorAll(".option")[index]);
});

// ---- Start --------------------------------------------------------------------------------------------------------

async function start() {
  main.after(region);
  [study, markdown, forms, media, picks] = await Promise.all([
    askUntilAnswered("study"),
    import("./markdown.mjs"),
    import("./questionnaire.mjs"),
    import("./media.mjs"),
    import("./picks.mjs"),
  ]);
  document.title = study.title;
  document.documentElement.lang = study.language;
  document.documentElement.dir = study.direction;
  keysOn = study.keys;
  const keyOfTab = keyForThisAddress(stored.read(tab, "key"));
  const keyOfBrowser = keyForThisAddress(stored.read(browser, "key"));
  key = keyOfTab ?? keyOfBrowser ?? newKey();
  if (keyOfTab === null && keyOfBrowser === null) return arrive();
  const record = stored.read(browser, "unsent");
  if (record?.key === key) unsent = record.unsent;
  let state;
  try {
    if (unsent.length) {
      main.replaceChildren();
      current = { question: null, since: null, visible: false }; // nothing is drawn until the server has all answers
      await send();
      current = null;
    }
    state = await askUntilAnswered("state");
  } catch {
    forgetAll(); // the join request was lost, or the data were deleted
    key = newKey();
    return arrive();
  }
  heed(state);
  if (state.stage === "paused") {
    remember();
    return follow(state);
  }
  if (["complete", "failed", "declined"].includes(state.stage)) return end(state);
  if (keyOfTab === null && Object.keys(address()).length === 0) return welcomeBack(state);
  remember();
  return follow(state);
}

start().then(() => {
  document.body.dataset.ready = "yes";
});
