// The participant's page: consent, instructions, questions, end. The server counts; this page shows and sends.
"use strict";

const main = document.getElementById("main");
const notice = document.getElementById("notice");
const progress = document.getElementById("progress");
const still = window.matchMedia("(prefers-reduced-motion: reduce)");
const here = `closerthan ${location.pathname}`;
const PAUSES = [500, 1000, 2000, 4000, 8000, 15000]; // milliseconds between tries to send again
const SHOWN_CHOICE = 110; // milliseconds for which the choice is seen before the page is blank

let study; // what the server tells of the study
let key; // who we are; known to this browser and, as a hash, to the server
let questions = []; // those to ask, in order
let unsent = []; // answers that the server has not acknowledged
let sending = false;
let current = null; // {question, since}: what is on the screen
let keysOn = true;
let playing = !still.matches;
let leaving; // counts the seconds until the recruiter's page is opened

// ---- What the browser remembers -----------------------------------------------------------------------------------

// A tab knows its participant until it is closed. The browser as a whole remembers somebody who has not finished.
const remembered = {
  read(store, name) {
    try {
      return JSON.parse(store().getItem(`${here} ${name}`));
    } catch {
      return null;
    }
  },
  write(store, name, value) {
    try {
      if (value === null) store().removeItem(`${here} ${name}`);
      else store().setItem(`${here} ${name}`, JSON.stringify(value));
    } catch {
      /* storage is switched off: a reload then begins anew */
    }
  },
};
const tab = () => window.sessionStorage;
const browser = () => window.localStorage;

// Somebody else may have been sent here by the recruiter: a key belongs to the address it was made for.
function whose() {
  return { key, address: JSON.stringify(address()) };
}

function mine(found) {
  return found !== null && found.address === JSON.stringify(address()) ? found.key : null;
}

function remember() {
  remembered.write(tab, "key", whose());
  remembered.write(browser, "key", whose());
}

function keepUnsent() {
  remembered.write(browser, "unsent", unsent.length ? { key, unsent } : null);
}

function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(18));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

// ---- The server ---------------------------------------------------------------------------------------------------

class Refusal extends Error {
  constructor(status) {
    super(`status ${status}`);
    this.status = status;
  }
}

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

const wait = (milliseconds) =>
  new Promise((resolve) => {
    const done = () => {
      clearTimeout(timer);
      window.removeEventListener("online", done);
      resolve();
    };
    const timer = setTimeout(done, milliseconds);
    window.addEventListener("online", done); // no need to wait once the connection is back
  });

// Tried again with growing pauses while the server cannot be reached; what it refuses is thrown.
async function askUntilHeard(path, body) {
  for (let tries = 0; ; tries += 1) {
    try {
      const reply = await ask(path, body);
      say("");
      return reply;
    } catch (error) {
      const lasting = error instanceof Refusal && error.status < 500 && error.status !== 429;
      if (lasting) throw error;
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
        state = await askUntilHeard("answer", unsent[0]);
        unsent.shift();
      } catch (error) {
        if (error.status === 401) {
          keepNothing();
          return showText(study.texts.gone);
        }
        // The server knows better, as when another tab has answered: go on where it says.
        unsent = [];
        current = null;
        state = await askUntilHeard("state");
      }
      keepUnsent();
      take(state);
    }
  } finally {
    sending = false;
  }
}

function take(state) {
  if (state.stage !== "questions") {
    questions = [];
    return end(state);
  }
  const answered = new Set([current?.question?.id, ...unsent.map((one) => one.question)]);
  questions = state.questions.filter((one) => !answered.has(one.id));
  questions.forEach(preload);
  if (current === null) next();
}

function keepNothing() {
  unsent = [];
  for (const name of ["key", "unsent"]) {
    remembered.write(tab, name, null);
    remembered.write(browser, name, null);
  }
}

// ---- Building the page --------------------------------------------------------------------------------------------

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in element) element[name] = value;
    else element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

function filled(text, values) {
  return text.replace(/\{(\w+)\}/g, (place, name) => (name in values ? values[name] : place));
}

function say(text) {
  if (notice.textContent !== text) notice.textContent = text;
}

function paragraphs(text) {
  return text
    .split(/\n\s*\n/)
    .map((part) => make("p", { textContent: part.trim().replace(/([^\n])\n(?!\n|[-•*])/g, "$1 ") }));
}

function show(...content) {
  current = null;
  const heading = content.find((one) => one.tagName === "H1");
  main.replaceChildren(make("div", { className: "reading" }, ...content));
  heading.tabIndex = -1;
  heading.focus();
  window.scrollTo(0, 0);
}

function showText(text, ...more) {
  progress.hidden = true;
  show(make("h1", { textContent: study?.title ?? "" }), ...paragraphs(text), ...more);
}

function button(text, act, className = "") {
  return make("button", { type: "button", textContent: text, className, onclick: act });
}

// ---- Screens before and after the questions -----------------------------------------------------------------------

function address() {
  const given = new URLSearchParams(location.search);
  return Object.fromEntries(study.parameters.filter((name) => given.has(name)).map((name) => [name, given.get(name)]));
}

function consent() {
  const agree = button(study.texts.agree, () => begin(agree), "main");
  const decline = button(study.texts.decline, () => leave(decline));
  showText(study.consent, make("div", { className: "buttons" }, agree, decline));
}

async function begin(pressed) {
  pressed.disabled = true;
  remember(); // before it is sent: if the reply is lost, the same key is sent again
  try {
    const state = await askUntilHeard("join", { consent: study.version, address: address() });
    state.stage === "questions" ? instructions(state) : end(state);
  } catch (error) {
    keepNothing();
    if (error.status === 403) showText(`${study.texts.preview}\n\n${study.instructions}`);
    else location.reload();
  }
}

async function leave(pressed) {
  pressed.disabled = true;
  try {
    end(await askUntilHeard("decline", {}));
  } catch {
    location.reload();
  }
}

function instructions(state) {
  showText(
    study.instructions,
    make(
      "div",
      { className: "buttons" },
      button(study.texts.start, () => take(state), "main"),
    ),
  );
  state.questions.forEach(preload);
}

function welcomeBack(state) {
  const other = button(study.texts.someone_else, () => {
    keepNothing();
    key = newKey();
    consent();
  });
  const onward = button(
    study.texts.go_on,
    () => {
      remember();
      take(state);
    },
    "main",
  );
  showText(study.texts.welcome_back, make("div", { className: "buttons" }, onward, other));
}

function end(state) {
  remembered.write(browser, "key", null); // the next person at this computer begins anew; this tab shows the code again
  remembered.write(browser, "unsent", null);
  remembered.write(tab, "key", whose());
  clearInterval(leaving);
  const { texts } = study;
  const parts = [];
  if (state.code)
    parts.push(make("p", {}, `${texts.code}: `, make("strong", { className: "code", textContent: state.code })));
  if (state.redirect) {
    const link = make("a", {
      href: state.redirect,
      className: "button main",
      textContent: texts.back,
      rel: "noreferrer",
    });
    const stay = button(texts.stay, () => {
      clearInterval(leaving);
      counted.remove();
      stay.remove();
    });
    const counted = make("p");
    let seconds = 10;
    const tick = () => {
      counted.textContent = filled(texts.leaving, { seconds });
      if (seconds === 0) {
        clearInterval(leaving);
        location.assign(state.redirect);
      }
      seconds -= 1;
    };
    leaving = setInterval(tick, 1000);
    tick();
    parts.push(counted, make("div", { className: "buttons" }, link, stay));
  }
  showText(state.stage === "declined" ? texts.declined : texts.thanks, ...parts);
  document.body.dataset.stage = state.stage;
}

// ---- Questions ----------------------------------------------------------------------------------------------------

const loaded = new Map(); // source -> a promise that it is there

function preload(question) {
  for (const thing of [question.anchor, ...question.options]) {
    if (!thing?.source || loaded.has(thing.source)) continue;
    if (thing.form === "image") {
      const image = new Image();
      image.src = thing.source;
      loaded.set(
        thing.source,
        image.decode().catch(() => {}),
      ); // the alternative text is shown then
    } else {
      const medium = make(thing.form === "video" ? "video" : "audio", {
        preload: "auto",
        muted: true,
        src: thing.source,
      });
      loaded.set(
        thing.source,
        new Promise((resolve) => {
          for (const event of ["canplaythrough", "error"]) medium.addEventListener(event, resolve, { once: true });
          setTimeout(resolve, 5000); // some browsers load nothing before it is played
        }),
      );
    }
  }
}

function shown(thing) {
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
      document.querySelectorAll("audio").forEach((other) => other !== sound && other.pause());
      sound.currentTime = 0;
      sound.play().catch(() => {});
    },
    "play",
  );
  if (thing.alt) play.setAttribute("aria-label", `${study.texts.play}: ${thing.alt}`);
  return make("span", {}, sound, play);
}

function option(thing, index, sides) {
  const number = make("span", { className: "hint", textContent: String(index + 1), hidden: !keysOn });
  number.setAttribute("aria-hidden", "true");
  if (thing.form === "sound") {
    // A button may not stand inside another one.
    const choose = button(study.texts.choose, () => choice(index, choose), "option");
    choose.setAttribute("aria-label", `${study.texts.choose}: ${sides[index]}`);
    return make("div", { className: "sound" }, make("div", { className: "thing" }, shown(thing)), choose);
  }
  const choose = make(
    "button",
    { type: "button", className: "option" },
    make("span", { className: "thing" }, shown(thing)),
    number,
  );
  const words = thing.form === "text" ? thing.text : thing.alt;
  choose.setAttribute("aria-label", words ? `${sides[index]}: ${words}` : sides[index]);
  choose.onclick = () => choice(index, choose);
  return choose;
}

async function next() {
  const question = questions.shift();
  if (question === undefined) {
    // all that we had are answered: the reply to the last one brings more
    current = null;
    if (!unsent.length && !sending) showText(study.texts.problem);
    return;
  }
  current = { question, since: null };
  const started = !question.practice && question.place === 1 && study.sawPractice;
  study.sawPractice = question.practice;
  if (started) {
    const after = () => {
      current = { question, since: null };
      draw(question);
    };
    showText(
      study.texts.practice_done,
      make("div", { className: "buttons" }, button(study.texts.go_on, after, "main")),
    );
    current = { question, since: null };
    return;
  }
  await draw(question);
}

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
    make("div", { className: "anchor" }, make("div", { className: "thing" }, shown(question.anchor)));
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
  const things = [question.anchor, ...question.options].filter((thing) => thing?.source);
  const ready = Promise.all(things.map((thing) => loaded.get(thing.source)));
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

// A region that stays in the page, so that screen readers notice when its text changes.
const region = make("p", { id: "region" });
region.setAttribute("aria-live", "polite");
function announce(text) {
  region.textContent = text;
}

function others(question) {
  const { texts } = study;
  const row = make("div", { className: "others" });
  if (study.tie)
    row.append(
      button(study.kind === "odd" ? texts.all_alike : texts.tie, (event) => choice("tie", event.currentTarget), "tie"),
    );
  if (study.skip) row.append(button(texts.skip, (event) => choice("skip", event.currentTarget), "skip"));
  if ([question.anchor, ...question.options].some((thing) => thing?.form === "video")) {
    const pause = button(playing ? texts.pause : texts.resume, () => {
      playing = !playing;
      pause.textContent = playing ? texts.pause : texts.resume;
      document.querySelectorAll("video").forEach((video) => (playing ? video.play().catch(() => {}) : video.pause()));
    });
    row.append(pause);
  }
  if (study.keys) {
    const keys = button(
      keysOn ? texts.keys_on : texts.keys_off,
      () => {
        keysOn = !keysOn;
        keys.textContent = keysOn ? texts.keys_on : texts.keys_off;
        document.querySelectorAll(".hint").forEach((hint) => {
          hint.hidden = !keysOn;
        });
      },
      "keys",
    );
    row.append(keys);
  }
  return row;
}

function choice(chosen, pressed) {
  if (current === null || current.since === null) return; // not seen yet, or answered a moment ago
  const { question, since } = current;
  current = { question, since: null };
  unsent.push({ question: question.id, choice: chosen, rt_ms: Math.round(performance.now() - since) });
  keepUnsent();
  pressed?.classList.add("chosen");
  setTimeout(() => {
    main.querySelector(".asking")?.classList.add("blank");
    document.querySelectorAll("audio").forEach((sound) => sound.pause());
    next();
    send();
  }, SHOWN_CHOICE);
}

const KEYS = {
  2: { ArrowLeft: 0, 1: 0, ArrowRight: 1, 2: 1 },
  3: { ArrowLeft: 0, 1: 0, ArrowUp: 1, ArrowDown: 1, 2: 1, ArrowRight: 2, 3: 2 },
};

document.addEventListener("keydown", (event) => {
  if (!study?.keys || !keysOn || !current?.since || event.repeat || event.ctrlKey || event.altKey || event.metaKey)
    return;
  const index = KEYS[current.question.options.length][event.key];
  if (index === undefined) return;
  event.preventDefault();
  choice(index, main.querySelectorAll(".option")[index]);
});

// ---- Start --------------------------------------------------------------------------------------------------------

async function start() {
  main.after(region);
  study = await askUntilHeard("study");
  study.sawPractice = false;
  document.title = study.title;
  document.documentElement.lang = study.language;
  keysOn = study.keys;
  const known = mine(remembered.read(tab, "key"));
  const unfinished = mine(remembered.read(browser, "key"));
  key = known ?? unfinished ?? newKey();
  if (known === null && unfinished === null) return consent();
  const kept = remembered.read(browser, "unsent");
  if (kept?.key === key) unsent = kept.unsent;
  let state;
  try {
    if (unsent.length) {
      main.replaceChildren();
      current = { question: null, since: null }; // nothing is drawn until the server has all
      await send();
      current = null;
    }
    state = await askUntilHeard("state");
  } catch {
    keepNothing(); // the reply to joining was lost, or the data were deleted
    key = newKey();
    return consent();
  }
  if (state.stage !== "questions") return end(state);
  if (known === null && Object.keys(address()).length === 0) return welcomeBack(state);
  remember();
  return state.answered === 0 ? instructions(state) : take(state);
}

start().then(() => {
  document.body.dataset.ready = "yes";
});
