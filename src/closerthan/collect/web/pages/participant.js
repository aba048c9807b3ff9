// The participant's page: consent, instructions, questions, end. The server keeps the state; this page shows it and
// sends the answers.
"use strict";

/** One object as it is presented: an image, a video, a sound or a text.
 * @typedef {{form: "image" | "video" | "sound" | "text", source?: string, alt?: string, text?: string}} Stimulus */
/** @typedef {{id: string, place: number, of: number, practice: boolean, anchor: Stimulus | null,
 *   options: Stimulus[]}} Question */
/** The server's reply after each step.
 * @typedef {{stage: "questions" | "complete" | "failed" | "declined", questions: Question[], answered: number,
 *   code?: string, redirect?: string}} State */
/** The description of the study for participants.
 * @typedef {{title: string, language: string, version: string, consent: string, instructions: string, question: string,
 *   kind: string, keys: boolean, tie: boolean, skip: boolean, pause_ms: number, parameters: string[],
 *   texts: Record<string, string>}} Study */
/** @typedef {{question: string, choice: number | "tie" | "skip", rt_ms: number}} Answer */

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const notice = /** @type {HTMLElement} */ (document.getElementById("notice"));
const progress = /** @type {HTMLProgressElement} */ (document.getElementById("progress"));
const PREFIX = `closerthan ${location.pathname}`; // prefix of the names under which the browser stores data
const PAUSES = [500, 1000, 2000, 4000, 8000, 15000]; // milliseconds between attempts to send
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
/** The question on the screen and the time at which it became visible.
 * @type {{question: Question | null, since: number | null} | null} */
let current = null;
let sawPractice = false;
let keysOn = true;
let playing = !window.matchMedia("(prefers-reduced-motion: reduce)").matches;
/** The countdown to the redirect to the recruiter's page.
 * @type {ReturnType<typeof setInterval>} */
let countdown;

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
  if (state.stage !== "questions") {
    questions = [];
    return end(state);
  }
  const answered = new Set([current?.question?.id, ...unsent.map((answer) => answer.question)]);
  questions = state.questions.filter((question) => !answered.has(question.id));
  for (const question of questions) preload(question);
  if (current === null) next();
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
  return text
    .split(/\n\s*\n/)
    .map((part) => make("p", { textContent: part.trim().replace(/([^\n])\n(?!\n|[-•*])/g, "$1 ") }));
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

function consent() {
  const agree = button(study.texts.agree, () => begin(agree), "main");
  const decline = button(study.texts.decline, () => leave(decline));
  showText(study.consent, make("div", { className: "buttons" }, agree, decline));
}

/** @param {HTMLButtonElement} pressed */
async function begin(pressed) {
  pressed.disabled = true;
  remember(); // before the request: if the reply is lost, the same key is sent again
  try {
    const state = await askUntilAnswered("join", { consent: study.version, address: address() });
    if (state.stage === "questions") instructions(state);
    else end(state);
  } catch (error) {
    forgetAll();
    if (error instanceof Refusal && error.status === 403) showText(`${study.texts.preview}\n\n${study.instructions}`);
    else location.reload();
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

/** @param {State} state */
function instructions(state) {
  showText(
    study.instructions,
    make(
      "div",
      { className: "buttons" },
      button(study.texts.start, () => follow(state), "main"),
    ),
  );
  for (const question of state.questions) preload(question);
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
  if (redirect) {
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
  showText(state.stage === "declined" ? texts.declined : texts.thanks, ...parts);
  document.body.dataset.stage = state.stage;
}

// ---- Questions ----------------------------------------------------------------------------------------------------

/** A promise for each media file that resolves once the file is loaded.
 * @type {Map<string, Promise<unknown>>} */
const loaded = new Map();

/** @param {Question} question */
function preload(question) {
  for (const { form, source } of stimuli(question)) {
    if (!source || loaded.has(source)) continue;
    if (form === "image") {
      const image = new Image();
      image.src = source;
      const ready = image.decode().catch(() => {}); // if it fails, the alternative text is shown
      loaded.set(source, ready);
    } else {
      const medium = make(form === "video" ? "video" : "audio", { preload: "auto", muted: true, src: source });
      loaded.set(
        source,
        new Promise((resolve) => {
          for (const event of ["canplaythrough", "error"]) medium.addEventListener(event, resolve, { once: true });
          setTimeout(resolve, 5000); // some browsers load nothing before playback starts
        }),
      );
    }
  }
}

/** @type {(question: Question) => Stimulus[]} */
function stimuli(question) {
  return question.anchor ? [question.anchor, ...question.options] : question.options;
}

/** @param {Stimulus} thing */
function presentation(thing) {
  if (thing.form === "text") return make("span", { className: "words", textContent: thing.text });
  if (thing.form === "image")
    return make("img", { src: thing.source, alt: thing.alt, draggable: false, decoding: "sync" });
  if (thing.form === "video") {
    const video = make("video", {
      src: thing.source,
      muted: true,
      loop: true,
      playsInline: true,
      preload: "auto",
      "aria-label": thing.alt,
    });
    if (playing) video.play().catch(() => {});
    return video;
  }
  const sound = make("audio", { src: thing.source, preload: "auto" });
  const play = button(
    `▶ ${study.texts.play}`,
    () => {
      for (const other of document.querySelectorAll("audio")) if (other !== sound) other.pause();
      sound.currentTime = 0;
      sound.play().catch(() => {});
    },
    "play",
  );
  if (thing.alt) play.setAttribute("aria-label", `${study.texts.play}: ${thing.alt}`);
  return make("span", {}, sound, play);
}

/** @type {(thing: Stimulus, index: number, sides: string[]) => HTMLElement} */
function option(thing, index, sides) {
  const number = make("span", { className: "hint", textContent: String(index + 1), hidden: !keysOn });
  number.setAttribute("aria-hidden", "true");
  if (thing.form === "sound") {
    // HTML does not allow a button inside another one.
    const select = button(study.texts.choose, () => choose(index, select), "option");
    select.setAttribute("aria-label", `${study.texts.choose}: ${sides[index]}`);
    return make("div", { className: "sound" }, make("div", { className: "thing" }, presentation(thing)), select);
  }
  const select = make(
    "button",
    { type: "button", className: "option" },
    make("span", { className: "thing" }, presentation(thing)),
    number,
  );
  const words = thing.form === "text" ? thing.text : thing.alt;
  select.setAttribute("aria-label", words ? `${sides[index]}: ${words}` : sides[index]);
  select.onclick = () => choose(index, select);
  return select;
}

async function next() {
  const question = questions.shift();
  if (question === undefined) {
    // All questions have been answered; the reply to the last answer brings more.
    current = null;
    if (!unsent.length && !sending) showText(study.texts.problem);
    return;
  }
  current = { question, since: null };
  const isAfterPractice = !question.practice && question.place === 1 && sawPractice;
  sawPractice = question.practice;
  if (isAfterPractice) {
    const goOn = () => {
      current = { question, since: null };
      draw(question);
    };
    showText(study.texts.practice_done, make("div", { className: "buttons" }, button(study.texts.go_on, goOn, "main")));
    current = { question, since: null };
    return;
  }
  await draw(question);
}

/** @param {Question} question */
async function draw(question) {
  const { texts } = study;
  const sides = question.options.length === 2 ? [texts.left, texts.right] : [texts.left, texts.middle, texts.right];
  const place = make("p", {
    className: "place",
    textContent: filled(question.practice ? texts.practice : texts.place, {
      place: question.place,
      number: question.of,
    }),
  });
  const heading = make("h1", { textContent: study.question, tabIndex: -1, id: "question" });
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
  const asking = make(
    "div",
    { className: `asking ${study.kind} blank` },
    place,
    heading,
    make("div", { className: "shown" }, anchor, options),
    others(question),
  );
  main.replaceChildren(asking);
  progress.hidden = false;
  progress.value = question.practice ? 0 : (question.place - 1) / question.of;
  progress.setAttribute("aria-label", place.textContent);
  heading.focus({ preventScroll: true });
  const ready = Promise.all(stimuli(question).map(({ source }) => source && loaded.get(source)));
  const slow = setTimeout(() => say(texts.loading), 700);
  await Promise.all([ready, new Promise((resolve) => setTimeout(resolve, study.pause_ms))]);
  clearTimeout(slow);
  if (current?.question !== question) return;
  if (notice.textContent === texts.loading) say("");
  asking.classList.remove("blank");
  announce(place.textContent);
  requestAnimationFrame(() => {
    if (current?.question === question) current.since = performance.now();
  });
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
      button(study.kind === "odd" ? texts.all_alike : texts.tie, (event) => choose("tie", event.currentTarget), "tie"),
    );
  if (study.skip) row.append(button(texts.skip, (event) => choose("skip", event.currentTarget), "skip"));
  if (stimuli(question).some((thing) => thing.form === "video")) {
    const pause = button(playing ? texts.pause : texts.resume, () => {
      playing = !playing;
      pause.textContent = playing ? texts.pause : texts.resume;
      for (const video of document.querySelectorAll("video")) {
        if (playing) video.play().catch(() => {});
        else video.pause();
      }
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

/** @type {(chosen: Answer["choice"], pressed: any) => void} */
function choose(chosen, pressed) {
  if (!current?.question || current.since === null) return; // not visible yet, or just answered
  const { question, since } = current;
  current = { question, since: null };
  unsent.push({ question: question.id, choice: chosen, rt_ms: Math.round(performance.now() - since) });
  storeUnsent();
  pressed?.classList.add("chosen");
  setTimeout(() => {
    main.querySelector(".asking")?.classList.add("blank");
    for (const sound of document.querySelectorAll("audio")) sound.pause();
    next();
    send();
  }, CHOICE_VISIBLE);
}

/** The option that a key chooses, by the number of options.
 * @type {Record<number, Record<string, number>>} */
const KEYS = {
  2: { ArrowLeft: 0, 1: 0, ArrowRight: 1, 2: 1 },
  3: { ArrowLeft: 0, 1: 0, ArrowUp: 1, ArrowDown: 1, 2: 1, ArrowRight: 2, 3: 2 },
};

document.addEventListener("keydown", (event) => {
  if (!study?.keys || !keysOn || !current?.question || !current.since) return;
  if (event.repeat || event.ctrlKey || event.altKey || event.metaKey) return;
  const index = KEYS[current.question.options.length][event.key];
  if (index === undefined) return;
  event.preventDefault();
  choose(index, main.querySelectorAll(".option")[index]);
});

// ---- Start --------------------------------------------------------------------------------------------------------

async function start() {
  main.after(region);
  study = await askUntilAnswered("study");
  document.title = study.title;
  document.documentElement.lang = study.language;
  keysOn = study.keys;
  const keyOfTab = keyForThisAddress(stored.read(tab, "key"));
  const keyOfBrowser = keyForThisAddress(stored.read(browser, "key"));
  key = keyOfTab ?? keyOfBrowser ?? newKey();
  if (keyOfTab === null && keyOfBrowser === null) return consent();
  const record = stored.read(browser, "unsent");
  if (record?.key === key) unsent = record.unsent;
  let state;
  try {
    if (unsent.length) {
      main.replaceChildren();
      current = { question: null, since: null }; // nothing is drawn until the server has all answers
      await send();
      current = null;
    }
    state = await askUntilAnswered("state");
  } catch {
    forgetAll(); // the join request was lost, or the data were deleted
    key = newKey();
    return consent();
  }
  if (state.stage !== "questions") return end(state);
  if (keyOfTab === null && Object.keys(address()).length === 0) return welcomeBack(state);
  remember();
  return state.answered === 0 ? instructions(state) : follow(state);
}

start().then(() => {
  document.body.dataset.ready = "yes";
});
