// The researcher's page: shows the state of the study as the server sends it. Text is inserted as text, never as HTML.
"use strict";

/** The latest map. `spread` has the half axes and the angle of each ellipse; `accuracy` has time, number of answers,
 * accuracy and its interval.
 * @typedef {{version: number, answers: number, names: string[], drawn: number[][], spread: number[][],
 *   accuracy: number[][], enough: string}} StudyMap */
/** Numbers of participants and answers.
 * @typedef {{started: number, finished: number, failed: number, running: number, dropped: number, declined: number,
 *   answers: number, skipped: number, ties: number, last_hour: number, kinds: Record<string, number>,
 *   median_ms: number | null, by_hour: number[]}} Progress */
/** @typedef {{name: string, state: string, answers: number, checks: number[], repeats: number[], shared: number[],
 *   left: number | null, median_ms: number | null, lapse: number | null, verdict: string,
 *   reasons: string}} Participant */

const main = /** @type {HTMLElement} */ (document.getElementById("main"));
const MOST_PEOPLE = 200; // rows of the table
const MAP = 720; // side length of the drawing of the map
let token = "";
/** The server sends the map only when it has changed.
 * @type {StudyMap | null} */
let latest = null;
/** Facts about the study that do not change; they come with the map.
 * @type {{objects: {name: string, form: string, source?: string}[], dimensions: number, kind: string}} */
let about = { objects: [], dimensions: 2, kind: "closer" };

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

/** @param {string} path */
function ask(path) {
  return fetch(path, { headers: { Authorization: `Bearer ${token}` }, cache: "no-store", credentials: "omit" });
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

/** Show the state; `map` and `objects` are missing if they have not changed.
 * @param {typeof about & {title: string, progress: Progress, people: Participant[], map?: StudyMap | null}} state */
function show(state) {
  if (!at("title")) build();
  if ("map" in state) [latest, about] = [state.map ?? null, state];
  const { progress } = state;
  document.title = `${progress.answers} · ${state.title}`;
  at("title").textContent = state.title;
  at("live").textContent = `live, ${new Date().toLocaleTimeString()}`;
  at("tiles").replaceChildren(
    ...[
      [progress.started, "people started"],
      [progress.finished, progress.failed ? `finished, ${progress.failed} of them failed checks` : "finished"],
      [progress.running, "active now"],
      [progress.dropped, "dropped out"],
      [progress.declined, "declined"],
      [
        count(progress.answers),
        progress.skipped + progress.ties ? `answers, ${progress.skipped} skipped, ${progress.ties} ties` : "answers",
      ],
      [count(progress.last_hour), "in the last hour"],
      [seconds(progress.median_ms), "median response time"],
    ].map(([number, label]) =>
      make("div", { className: "tile" }, make("b", { textContent: number }), make("span", { textContent: label })),
    ),
  );
  at("enough").textContent = latest
    ? latest.enough
    : "There is no map yet: the first one is fitted once there are about as many answers as objects.";
  if ("map" in state) {
    drawMap();
    drawAccuracy();
  }
  drawHours(progress.by_hour);
  at("kinds").replaceChildren(
    ...["chosen", "random", "shared", "repeat", "check", "practice"].flatMap((kind) => [
      make("dt", { textContent: kind }),
      make("dd", { textContent: count(progress.kinds[kind] ?? 0) }),
    ]),
  );
  showPeople(state.people);
  document.body.dataset.ready = "yes";
}

function build() {
  main.replaceChildren(at("page").content.cloneNode(true));
  for (const id of ["ellipses", "thumbnails"]) at(id).addEventListener("change", () => drawMap());
  for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (main.querySelectorAll("[data-file]")))
    button.addEventListener("click", () => download(button));
}

/** @param {HTMLButtonElement} button */
async function download(button) {
  button.disabled = true;
  const { file = "", name = file } = button.dataset;
  try {
    const reply = await ask(file);
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

/** @param {Participant[]} people */
function showPeople(people) {
  /** @type {Record<string, string>} */
  const kinds = {
    fine: "fine",
    careless: "leave",
    reversed: "leave",
    unlike: "look",
    unclear: "look",
    "own view": "look",
  };
  at("people").replaceChildren(
    ...people.slice(0, MOST_PEOPLE).map((person) => {
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
        {},
        make("td", {}, make("code", { textContent: person.name })),
        cell(person.state, ""),
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
  at("more").textContent =
    people.length > MOST_PEOPLE
      ? `and ${count(people.length - MOST_PEOPLE)} more participants: see the export`
      : people.length
        ? ""
        : "No participant has given consent yet.";
}

function drawMap() {
  if (!latest) {
    at("map-note").textContent = "The map will appear here.";
    return;
  }
  const things = new Map(about.objects.map((thing) => [thing.name, thing]));
  const { drawn: places, spread, names } = latest;
  // Make room for the ellipses, unless they are so large that nothing else would be visible.
  const reach = Math.max(...places.flat().map(Math.abs), 1e-9);
  const size = Math.min(
    1.6 * reach,
    Math.max(
      1.15 * reach,
      ...places.map(
        ([across, up], index) =>
          Math.max(Math.abs(across), Math.abs(up)) + (at("ellipses").checked ? (spread[index]?.[0] ?? 0) : 0),
      ),
    ),
  );
  const [middle, scale] = [MAP / 2, MAP / 2 / size];
  /** @param {number[]} place */
  const x = (place) => middle + scale * place[0];
  /** @param {number[]} place */
  const y = (place) => middle - scale * place[1];
  const svg = draw("svg", {
    viewBox: `0 0 ${MAP} ${MAP}`,
    role: "img",
    "aria-label": `Map of ${places.length} objects`,
  });
  const side = Math.max(22, Math.min(64, MAP / Math.sqrt(places.length) / 2.2));
  places.forEach((place, index) => {
    const name = names[index] ?? "";
    const thing = things.get(name);
    const drawn = draw("g", { transform: `translate(${x(place)} ${y(place)})` }, draw("title", {}, name));
    if (at("thumbnails").checked && thing?.form === "image") {
      drawn.append(
        draw("image", { href: `../${thing.source}`, x: -side / 2, y: -side / 2, width: side, height: side }),
      );
    } else {
      drawn.append(draw("circle", { r: 4, class: "dot" }));
      const label = draw("text", { x: 7, y: 4 });
      label.textContent = name.length > 22 ? `${name.slice(0, 21)}…` : name;
      drawn.append(label);
    }
    svg.append(drawn);
  });
  if (at("ellipses").checked) {
    spread.forEach(([long, short, angle], index) => {
      svg.append(
        draw("ellipse", {
          class: "ellipse",
          rx: Math.max(1, long * scale),
          ry: Math.max(1, short * scale),
          transform: `translate(${x(places[index])} ${y(places[index])}) rotate(${-angle})`,
        }),
      );
    });
  }
  at("map").replaceChildren(svg);
  at("map-note").textContent =
    `Version ${latest.version}, from ${count(latest.answers)} answers. Each ellipse contains 95 % of the positions ` +
    "that its object takes on maps fitted to resampled answers." +
    (about.dimensions > 2 ? " The drawing shows the first two principal axes." : "");
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
  write(svg, 0, 10, `maximum ${count(most)}`);
  write(svg, 0, height - 4, `${numbers.length} hours ago`);
  write(svg, width, height - 4, "now", "end");
  svg.setAttribute("aria-label", `Answers per hour; ${numbers.at(-1)} in the current hour`);
  at("hours").replaceChildren(svg);
}

// ---- Start --------------------------------------------------------------------------------------------------------

// The token comes in the fragment of the address, which browsers do not send to servers, and is removed from there.
token = location.hash.slice(1) || store.get() || "";
if (location.hash) history.replaceState(null, "", location.pathname + location.search);
if (token) listen();
else login("");
