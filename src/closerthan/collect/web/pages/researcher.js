// The researcher's page: shows the state of the study as the server sends it. Text is inserted as text, never as HTML.
"use strict";

/** The latest map. `made_at` is a time in seconds; `spread` has the semi-axes and the angle of each ellipse;
 * `accuracy` has time, number of answers, accuracy and its interval.
 * @typedef {{version: number, made_at: number, answers: number, names: string[], drawn: number[][], spread: number[][],
 *   accuracy: number[][], enough: string, condition: string, others?: StudyMap[]}} StudyMap */
/** @typedef {{name: string, started: number, finished: number, taken: number}} Condition */
/** Numbers of participants and answers.
 * @typedef {{started: number, finished: number, failed: number, running: number, dropped: number, declined: number,
 *   excluded: number, pilots: number, withdrawn: number,
 *   faults: number, faulty: Record<string, number>, answers: number, skipped: number, ties: number,
 *   last_hour: number, kinds: Record<string, number>,
 *   median_ms: number | null, by_hour: number[]}} Progress */
/** A page of the table of participants.
 * @typedef {{people: Participant[], from: number, only: string, per_page: number, total: number}} PeoplePage */
/** @typedef {{name: string, state: string, condition: string, answers: number, checks: number[], repeats: number[],
 *   shared: number[],
 *   left: number | null, median_ms: number | null, lapse: number | null, verdict: string,
 *   reasons: string, excluded: string | null}} Participant */

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const MAP = 720; // largest side length of the drawing of the map, in pixels
const LABEL_FONT = "12px system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif";
/** Loaded before the first page is shown.
 * @type {typeof import("./labels.mjs")} */
let labelling;
let token = "";
/** The server sends the map only when it has changed.
 * @type {StudyMap | null} */
let latest = null;
/** The latest map of each condition; a single one if there are no conditions.
 * @type {StudyMap[]} */
let maps = [];
/** Facts about the study that do not change; they come with the map.
 * @type {{objects: {name: string, form: string, source?: string}[], dimensions: number, kind: string}} */
let about = { objects: [], dimensions: 2, kind: "closer" };
/** The page of the table of participants that is shown: the number of people before it, and which people it lists. */
const view = { from: 0, only: "", isLoading: false, isOutdated: false };

const store = {
  get() {
    try {
      return sessionStorage.getItem("closerthan researcher");
    } catch {
      return null;
    }
  },
  /** @param {string} value */
  set(value) {
    try {
      sessionStorage.setItem("closerthan researcher", value);
    } catch {
      // Storage is disabled, so the token is requested again after a reload.
    }
  },
};
/** An element of researcher.html, whose type depends on the id.
 * @type {(id: string) => any} */
const at = (id) => document.getElementById(id);
/** @param {number} fraction */
const percent = (fraction) => `${Math.round(100 * fraction)} %`;
/** @param {number} number */
const count = (number) => number.toLocaleString("en");
/** @type {(number: number, noun: string) => string} */
const counted = (number, noun) => `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
/** @param {number | null} milliseconds */
const seconds = (milliseconds) => (milliseconds === null ? "–" : `${(milliseconds / 1000).toFixed(1)} s`);

/** @type {(tag: string, properties?: object, ...children: (Node | string)[]) => any} */
function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  Object.assign(element, properties);
  element.append(...children);
  return element;
}

/** Create an SVG element.
 * @type {(tag: string, attributes?: Record<string, any>, ...children: (Node | string)[]) => Element} */
function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/** @type {(path: string, body?: object) => Promise<Response>} */
function ask(path, body) {
  return fetch(path, {
    method: body === undefined ? "GET" : "POST",
    headers: { Authorization: `Bearer ${token}` },
    body: body === undefined ? undefined : JSON.stringify(body),
    cache: "no-store",
    credentials: "omit",
  });
}

/** Why a request was refused; a proxy may reply without a reason.
 * @type {(reply: Response) => Promise<string>} */
async function reasonOf(reply) {
  return (await reply.json().catch(() => ({}))).error ?? `The server replied with status ${reply.status}.`;
}

// ---- The token ----------------------------------------------------------------------------------------------------

/** @param {string} problem */
function login(problem) {
  main.replaceChildren(at("login").content.cloneNode(true));
  at("wrong").textContent = problem;
  at("token").focus();
  main.querySelector("form")?.addEventListener("submit", (event) => {
    event.preventDefault();
    token = at("token").value.trim();
    listen();
  });
}

// ---- The server's events ------------------------------------------------------------------------------------------

// Server-sent events, without EventSource: it cannot send the token in a header, which keeps it out of URLs and logs.
async function listen() {
  for (let pause = 1000; ; pause = Math.min(2 * pause, 15000)) {
    try {
      const reply = await ask("events");
      if (reply.status === 401) return login(token ? "This token is wrong." : "");
      if (reply.ok && reply.body) {
        store.set(token);
        pause = 1000;
        await read(reply.body.getReader());
      }
    } catch {
      // The server cannot be reached: try again after a pause.
    }
    if (at("live")) at("live").textContent = "no connection to the server; trying again …";
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

/** @param {ReadableStreamDefaultReader<Uint8Array>} reader */
async function read(reader) {
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += decoder.decode(value, { stream: true });
    const events = rest.split("\n\n");
    rest = events.pop() ?? "";
    for (const event of events) {
      const data = event
        .split("\n")
        .filter((line) => line.startsWith("data: "))
        .map((line) => line.slice(6))
        .join("\n");
      if (data) show(JSON.parse(data));
    }
  }
}

// ---- The page -----------------------------------------------------------------------------------------------------

/** Who may take part now. `state` is what the researcher chose, `admission` what follows from it and from the limits.
 * @typedef {{state: string, admission: string, places: number, taken: number, until: number | null}} Admission */

/** @param {Admission} study */
function showState(study) {
  const over = study.until !== null && Date.now() / 1000 > study.until;
  const full = study.admission === "full" && !over;
  /** @type {Record<string, string>} */
  const sentences = {
    open: over
      ? "Over: the last day has passed, so nobody new can join. Those who have begun can finish."
      : full
        ? "Full: all places are taken, so nobody new can join. Those who have begun can finish."
        : "Open: people can join and answer.",
    paused: "Paused: participants wait, and nobody new can join.",
    closed: "Closed: nobody new can join. Those who have begun can finish.",
  };
  const limits = [];
  if (study.places)
    limits.push(
      `Places taken by people who have finished or are answering: ${count(study.taken)} of ${count(study.places)}.`,
    );
  if (study.until !== null && !over)
    limits.push(`People are admitted until ${new Date(1000 * study.until).toLocaleString()}.`);
  const text = [sentences[study.state], ...limits].join(" ");
  if (at("state").textContent !== text) at("state").textContent = text;
  for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (main.querySelectorAll("[data-state]")))
    button.hidden = button.dataset.state === study.state;
}

/** Open the participant's page in a new tab, as a pilot whose answers do not count. */
async function openPilot() {
  const tab = window.open("about:blank"); // before the request, or else browsers would block it
  const reply = await ask("pilot", {});
  if (reply.ok && tab) tab.location.href = new URL((await reply.json()).address, location.href).href;
  else tab?.close();
}

/** Show the state; `map` and `objects` are missing if they have not changed.
 * @param {typeof about & {title: string, problem: string, storage: string, progress: Progress,
 *   conditions?: Condition[], map?: StudyMap | null} & Admission} state */
function show(state) {
  if (!at("title")) build();
  if ("map" in state) {
    about = state;
    maps = state.map ? [state.map, ...(state.map.others ?? [])] : [];
    chooseMap();
  }
  showConditions(state.conditions ?? []);
  const { progress } = state;
  document.title = `${progress.answers} · ${state.title}`;
  at("title").textContent = state.title;
  at("live").textContent = `live, ${new Date().toLocaleTimeString()}`;
  at("problem").hidden = !state.problem && !state.storage;
  const problem = problemInWords(state.problem, state.storage);
  if (at("problem").textContent !== problem) at("problem").textContent = problem; // or it would be announced again
  at("faults").hidden = !progress.faults;
  const faults = faultsInWords(progress);
  if (at("faults").textContent !== faults) at("faults").textContent = faults;
  at("tiles").replaceChildren(
    ...[
      [count(progress.started), "people started"],
      [count(progress.finished), progress.failed ? `finished, ${progress.failed} of them failed checks` : "finished"],
      [count(progress.running), "active now"],
      [count(progress.dropped), "dropped out"],
      [count(progress.declined), "declined"],
      ...(progress.excluded ? [[count(progress.excluded), "excluded by you"]] : []),
      ...(progress.withdrawn ? [[count(progress.withdrawn), "withdrew"]] : []),
      ...(progress.pilots ? [[count(progress.pilots), "pilots, not counted"]] : []),
      [
        count(progress.answers),
        progress.skipped + progress.ties ? `answers, ${progress.skipped} skipped, ${progress.ties} ties` : "answers",
      ],
      [count(progress.last_hour), "answers in the last hour"],
      [seconds(progress.median_ms), "median response time"],
    ].map(([number, label]) =>
      make("div", { className: "tile" }, make("b", { textContent: number }), make("span", { textContent: label })),
    ),
  );
  showState(state);
  advise();
  if ("map" in state) {
    drawMap();
    drawAccuracy();
  }
  drawHours(progress.by_hour);
  at("kinds").replaceChildren(
    ...["chosen", "random", "shared", "repeat", "check", "own", "practice"].flatMap((kind) => [
      make("dt", { textContent: kind }),
      make("dd", { textContent: count(progress.kinds[kind] ?? 0) }),
    ]),
  );
  loadPeople();
  document.body.dataset.ready = "yes";
}

/** Show the map of the condition that is selected. */
function chooseMap() {
  const select = at("condition");
  const chosen = select.value;
  select.replaceChildren(...maps.map(({ condition }) => make("option", { value: condition, textContent: condition })));
  select.value = maps.some(({ condition }) => condition === chosen) ? chosen : (maps[0]?.condition ?? "");
  at("conditions-label").hidden = maps.length < 2;
  latest = maps.find(({ condition }) => condition === select.value) ?? maps[0] ?? null;
  const name = latest?.condition;
  at("map-file").dataset.file = name ? `map.csv?condition=${name}` : "map.csv";
  at("map-file").dataset.name = name ? `map-${name}.csv` : "map.csv";
}

/** @param {Condition[]} conditions */
function showConditions(conditions) {
  at("conditions").hidden = !conditions.length;
  at("people").closest("table").classList.toggle("without-conditions", !conditions.length);
  at("conditions")
    .querySelector("tbody")
    .replaceChildren(
      ...conditions.map(({ name, started, finished, taken }) =>
        make(
          "tr",
          {},
          make("td", { textContent: name }),
          ...[started, finished, taken].map((number) =>
            make("td", { className: "number", textContent: count(number) }),
          ),
        ),
      ),
    );
}

/** The advice for the map that is shown. */
function advise() {
  const condition = latest?.condition ? `${latest.condition}: ` : "";
  at("enough").textContent = latest
    ? condition + latest.enough
    : "There is no map: the first one is fitted once there are about as many answers as objects.";
}

/** What is wrong with the refits or, which is worse, with the disk.
 * @type {(problem: string, storage: string) => string} */
function problemInWords(problem, storage) {
  if (storage) return `Answers cannot be saved: ${storage}. Participants are told to wait, and their pages try again.`;
  if (!problem) return "";
  const minutes = latest ? Math.round((Date.now() / 1000 - latest.made_at) / 60) : 0;
  const age = minutes < 120 ? counted(minutes, "minute") : counted(Math.round(minutes / 60), "hour");
  const map = latest ? ` The map below is ${age} old.` : "";
  return `The map cannot be updated: ${problem}. Answers are saved, and participants get random questions.${map}`;
}

const MOST_FAULTY = 10; // objects that are listed

/** @param {Progress} progress */
function faultsInWords({ faults, faulty }) {
  const objects = Object.entries(faulty).map(([name, number]) => `${name} (${count(number)})`);
  const more = objects.length > MOST_FAULTY ? ` and ${objects.length - MOST_FAULTY} others` : "";
  return (
    `${counted(faults, "question")} could not be shown and ${faults === 1 ? "does" : "do"} not count, because files ` +
    `are missing or broken: ${objects.slice(0, MOST_FAULTY).join(", ")}${more}. ` +
    "Restore these files in the folder of the study."
  );
}

function build() {
  main.replaceChildren(at("page").content.cloneNode(true));
  for (const id of ["ellipses", "thumbnails"]) at(id).addEventListener("change", () => drawMap());
  let width = 0;
  new ResizeObserver(() => {
    if (at("map").clientWidth !== width) drawMap();
    width = at("map").clientWidth;
  }).observe(at("map"));
  at("condition").addEventListener("change", () => {
    chooseMap();
    drawMap();
    drawAccuracy();
    advise();
  });
  for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (main.querySelectorAll("[data-file]")))
    button.addEventListener("click", () => download(button));
  for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (main.querySelectorAll("[data-state]")))
    button.addEventListener("click", () => ask("admission", { state: button.dataset.state }));
  at("pilot").addEventListener("click", openPilot);
  at("only").addEventListener("change", () => turnTo(0));
  at("newer").addEventListener("click", () => turnTo(view.from - Number(at("people").dataset.perPage)));
  at("older").addEventListener("click", () => turnTo(view.from + Number(at("people").dataset.perPage)));
}

/** @param {HTMLButtonElement} button */
async function download(button) {
  button.disabled = true;
  const { file = "", name = file } = button.dataset;
  try {
    const reply = await ask(file);
    at("download-problem").textContent = reply.ok ? "" : await reasonOf(reply);
    if (!reply.ok) return;
    const address = URL.createObjectURL(await reply.blob());
    make("a", { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60000);
  } finally {
    button.disabled = false;
  }
}

/** @param {number[]} counts */
function ratio([right, total]) {
  return total ? `${right} of ${total}` : "–";
}

/** Show another page of the table of participants.
 * @param {number} from */
function turnTo(from) {
  view.from = Math.max(0, from);
  view.only = at("only").value;
  loadPeople();
}

/** Load the page of the table that is shown, one request at a time. */
async function loadPeople() {
  view.isOutdated = true;
  if (view.isLoading) return;
  view.isLoading = true;
  try {
    while (view.isOutdated) {
      view.isOutdated = false;
      const reply = await ask(`people?from=${view.from}&only=${view.only}`);
      if (!reply.ok) return;
      /** @type {PeoplePage} */
      const page = await reply.json();
      if (page.from && page.from >= page.total) turnTo(page.total - page.per_page);
      else if (page.from === view.from && page.only === view.only) showPeople(page);
    }
  } catch {
    // The server cannot be reached: the next event loads the page again.
  } finally {
    view.isLoading = false;
  }
}

/** @param {PeoplePage} page */
function showPeople({ people, from, only, per_page, total }) {
  /** @type {Record<string, string>} */
  const kinds = {
    fine: "fine",
    careless: "leave",
    reversed: "leave",
    unlike: "look",
    unclear: "look",
    "own view": "look",
  };
  // The table is built anew, so the focus returns to the button of the same participant.
  const focused = document.activeElement instanceof HTMLElement ? document.activeElement.dataset.person : undefined;
  at("people").replaceChildren(
    ...people.map((person) => {
      /** @type {(text: string | number, className?: string) => Node} */
      const cell = (text, className = "number") => make("td", { textContent: text, className });
      const advice = make(
        "td",
        { className: "advice" },
        make("span", { className: kinds[person.verdict] ?? "", textContent: person.verdict }),
        person.reasons ? `: ${person.reasons}` : "",
      );
      return make(
        "tr",
        { className: person.excluded === null ? "" : "excluded" },
        make("td", {}, make("code", { textContent: person.name })),
        decision(person),
        cell(person.state, ""),
        cell(person.condition, "condition"),
        cell(person.answers),
        cell(ratio(person.checks)),
        cell(ratio(person.repeats)),
        cell(ratio(person.shared)),
        cell(person.left === null ? "–" : percent(person.left)),
        cell(seconds(person.median_ms)),
        cell(person.lapse === null ? "–" : percent(person.lapse)),
        advice,
      );
    }),
  );
  if (focused !== undefined)
    /** @type {HTMLElement | null} */ (at("people").querySelector(`[data-person="${CSS.escape(focused)}"]`))?.focus();
  at("people").dataset.perPage = String(per_page);
  at("newer").disabled = from === 0;
  at("older").disabled = from + per_page >= total;
  at("newer").hidden = at("older").hidden = total <= per_page;
  /** @type {Record<string, string>} */
  const nobody = {
    "": "No participant has given consent yet.",
    check: "Nobody needs to be checked, as far as the answers have been assessed.",
    excluded: "Nobody is excluded.",
  };
  at("more").textContent = total
    ? `${count(from + 1)} to ${count(Math.min(from + per_page, total))} of ${count(total)}, the latest first`
    : nobody[only];
}

/** The cell that says whether the answers of a participant count, with a button that changes it.
 * @param {Participant} person */
function decision(person) {
  const isExcluded = person.excluded !== null;
  const button = make("button", { type: "button", textContent: isExcluded ? "Include" : "Exclude" });
  button.dataset.person = person.name;
  button.setAttribute("aria-label", `${button.textContent} ${person.name}`);
  button.addEventListener("click", async () => {
    if (!isExcluded) return openExclusion(person.name);
    button.disabled = true;
    await ask("include", { participant: person.name });
  });
  return make("td", { className: "decision" }, isExcluded ? `no: ${person.excluded} ` : "yes ", button);
}

/** Ask for the reason of an exclusion.
 * @param {string} name */
function openExclusion(name) {
  const dialog = at("exclusion");
  at("exclusion-title").textContent = `Exclude ${name}`;
  at("exclusion-problem").textContent = "";
  at("reason").value = "";
  dialog.onsubmit = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    if (/** @type {HTMLButtonElement} */ (event.submitter).value !== "exclude") return dialog.close();
    const reply = await ask("exclude", { participant: name, reason: at("reason").value });
    if (reply.ok) dialog.close();
    else at("exclusion-problem").textContent = await reasonOf(reply);
  };
  dialog.showModal();
}

function drawMap() {
  if (!latest) {
    at("map").replaceChildren();
    at("map-note").textContent = "The map will appear here.";
    return;
  }
  const things = new Map(about.objects.map((thing) => [thing.name, thing]));
  const { drawn, spread, names } = latest;
  // The middle of the range, because the mean may be far from it.
  const [x0, y0] = [0, 1].map((axis) => {
    const along = drawn.map((place) => place[axis]);
    return (Math.min(...along) + Math.max(...along)) / 2;
  });
  const places = drawn.map(([x, y]) => [x - x0, y - y0]);
  // On a narrow screen the map has fewer pixels, so that the names stay readable.
  const pixels = Math.max(280, Math.min(MAP, at("map").clientWidth || MAP));
  // Make room for the ellipses, unless they are so large that the map would become small.
  const reach = Math.max(...places.flat().map(Math.abs), 1e-9);
  const size = Math.min(
    1.3 * reach,
    Math.max(
      1.15 * reach,
      ...places.map(
        ([across, up], index) =>
          Math.max(Math.abs(across), Math.abs(up)) + (at("ellipses").checked ? (spread[index]?.[0] ?? 0) : 0),
      ),
    ),
  );
  const [middle, scale] = [pixels / 2, pixels / 2 / size];
  const points = places.map((place) => [middle + scale * place[0], middle - scale * place[1]]);
  const svg = draw("svg", {
    viewBox: `0 0 ${pixels} ${pixels}`,
    role: "img",
    "aria-label": `Map of ${places.length} objects`,
  });
  const ellipses = at("ellipses").checked ? drawEllipses(points, spread, scale, pixels) : [];
  const side = Math.max(22, Math.min(64, pixels / Math.sqrt(places.length) / 2.2));
  const areImages = names.map((name) => things.get(name)?.form === "image");
  at("thumbnails-label").hidden = !areImages.some(Boolean);
  const isPicture = areImages.map((isImage) => isImage && at("thumbnails").checked);
  const hasPictures = isPicture.some(Boolean); // they would cover the ellipses, and ellipses would cover dots
  if (!hasPictures) svg.append(...ellipses);
  const labels = names.map((name) => (name.length > 22 ? `${name.slice(0, 21)}…` : name));
  const widths = labels.map((label, index) => (isPicture[index] ? 0 : labelling.widthOf(label, LABEL_FONT)));
  const boxes = labelling.placeLabels(points, widths, pixels);
  let omitted = 0;
  points.forEach(([x, y], index) => {
    const name = names[index] ?? "";
    const drawn = draw("g", { transform: `translate(${x} ${y})` }, draw("title", {}, name));
    if (isPicture[index]) {
      const href = `../${things.get(name)?.source}`;
      drawn.append(draw("image", { href, x: -side / 2, y: -side / 2, width: side, height: side }));
    } else {
      const box = boxes[index];
      const label = box
        ? draw("text", { x: box.x - x, y: box.y - y + 11 })
        : draw("text", { x: 7, y: 4, class: "omitted" });
      label.textContent = labels[index];
      omitted += Number(!box);
      drawn.append(draw("circle", { r: 4, class: "dot" }), label);
    }
    for (const [event, isPointed] of /** @type {[string, boolean][]} */ ([
      ["pointerenter", true],
      ["pointerleave", false],
    ]))
      drawn.addEventListener(event, () => {
        ellipses[index]?.classList.toggle("pointed", isPointed);
        if (isPointed) svg.append(drawn); // above the others
      });
    svg.append(drawn);
  });
  if (hasPictures) svg.append(...ellipses);
  at("map").replaceChildren(svg);
  at("map-note").textContent =
    `Version ${latest.version}, from ${count(latest.answers)} answers. Each ellipse contains 95 % of the positions ` +
    "that its object takes on maps fitted to resampled answers." +
    (about.dimensions > 2 ? " The drawing shows the first two principal axes." : "") +
    (omitted ? ` ${counted(omitted, "name")} would overlap others: point at a dot to see its name.` : "");
}

/** The ellipses around the points; if they cover most of the map, only their outlines.
 * @type {(points: number[][], spread: number[][], scale: number, pixels: number) => Element[]} */
function drawEllipses(points, spread, scale, pixels) {
  const area = spread.reduce((sum, [long, short]) => sum + Math.PI * long * short * scale ** 2, 0);
  const look = area > pixels ** 2 / 2 ? "ellipse wide" : "ellipse";
  return spread.map(([long, short, angle], index) => {
    const [x, y] = points[index];
    const radii = { rx: Math.max(1, long * scale), ry: Math.max(1, short * scale) };
    return draw("ellipse", { class: look, ...radii, transform: `translate(${x} ${y}) rotate(${-angle})` });
  });
}

/** @type {(width: number, height: number) => Element} */
function frame(width, height) {
  return draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
}

/** @type {(svg: Element, x: number, y: number, text: string, anchor?: string) => void} */
function write(svg, x, y, text, anchor = "start") {
  const element = draw("text", { x, y, class: "faint", "text-anchor": anchor });
  element.textContent = text;
  svg.append(element);
}

function drawAccuracy() {
  const points = latest?.accuracy ?? [];
  if (points.length < 2) {
    at("accuracy").replaceChildren();
    at("accuracy-note").textContent =
      "Accuracy is measured on random questions that are answered after the first map was fitted.";
    return;
  }
  const [width, height, left, bottom] = [520, 210, 44, 24];
  const svg = frame(width, height);
  const last = points[points.length - 1];
  const [least, most] = [points[0][1], last[1]];
  const low = Math.min(0.5, ...points.map((point) => point[3]));
  /** @param {number[]} point */
  const x = (point) => left + ((width - left - 10) * (point[1] - least)) / Math.max(1, most - least);
  /** @param {number} accuracy */
  const y = (accuracy) => 8 + (height - bottom - 8) * (1 - (accuracy - low) / (1 - low));
  for (const tick of [0.5, 0.6, 0.7, 0.8, 0.9, 1]) {
    svg.append(draw("line", { x1: left, x2: width - 10, y1: y(tick), y2: y(tick), class: "axis" }));
    write(svg, left - 6, y(tick) + 4, percent(tick), "end");
  }
  const upper = points.map((point) => `${x(point)},${y(point[4])}`);
  const lower = points.map((point) => `${x(point)},${y(point[3])}`).reverse();
  const line = points.map((point) => `${x(point)},${y(point[2])}`);
  svg.append(draw("polygon", { points: [...upper, ...lower].join(" "), class: "band" }));
  svg.append(draw("polyline", { points: line.join(" "), class: "line" }));
  write(svg, left, height - 4, `${count(least)} answers`);
  write(svg, width - 10, height - 4, count(most), "end");
  const [, , accuracy, from, to] = last;
  svg.setAttribute("aria-label", `Accuracy over time, now ${percent(accuracy)}`);
  at("accuracy").replaceChildren(svg);
  at("accuracy-note").textContent =
    `The map in use at the time predicted ${percent(accuracy)} of the latest random answers (95 % interval ` +
    `${percent(from)} to ${percent(to)}); chance is ${about.kind === "odd" ? "33 %" : "50 %"}.`;
}

/** @param {number[]} numbers */
function drawHours(numbers) {
  const [width, height, bottom] = [520, 110, 22];
  const svg = frame(width, height);
  const most = Math.max(1, ...numbers);
  const step = width / numbers.length;
  numbers.forEach((number, index) => {
    const tall = ((height - bottom - 14) * number) / most;
    svg.append(
      draw("rect", { x: index * step + 1, y: height - bottom - tall, width: step - 2, height: tall, class: "bar" }),
    );
  });
  svg.append(draw("line", { x1: 0, x2: width, y1: height - bottom, y2: height - bottom, class: "axis" }));
  write(svg, 0, 10, numbers.some(Boolean) ? `maximum ${count(most)}` : "no answers");
  write(svg, 0, height - 4, `${numbers.length} hours ago`);
  write(svg, width, height - 4, "now", "end");
  svg.setAttribute("aria-label", `Answers per hour; ${numbers.at(-1)} in the current hour`);
  at("hours").replaceChildren(svg);
}

// ---- Start --------------------------------------------------------------------------------------------------------

// The token comes in the fragment of the address, which browsers do not send to servers, and is removed from there.
token = location.hash.slice(1) || store.get() || "";
if (location.hash) history.replaceState(null, "", location.pathname + location.search);
import("./labels.mjs").then((module) => {
  labelling = module;
  if (token) listen();
  else login("");
});
