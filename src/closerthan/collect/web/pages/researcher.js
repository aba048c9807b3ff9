// The researcher's page: shows what the server sends as it happens. All text is put in as text, never as HTML.
"use strict";

const main = document.getElementById("main");
const SHOWN_PEOPLE = 200;
const MAP = 720; // side of the map's drawing
let token = "";
let latest = null; // the latest map; it is sent only when it has changed
let about = { objects: [], dimensions: 2, kind: "closer" }; // what does not change, sent with the map

const store = {
  get() { try { return sessionStorage.getItem("closerthan researcher"); } catch { return null; } },
  set(value) { try { sessionStorage.setItem("closerthan researcher", value); } catch { /* asked again after a reload */ } },
};
const at = (id) => document.getElementById(id);
const percent = (share) => `${Math.round(100 * share)} %`;
const count = (number) => number.toLocaleString("en");
const seconds = (milliseconds) => (milliseconds === null ? "–" : `${(milliseconds / 1000).toFixed(1)} s`);

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  Object.assign(element, properties);
  element.append(...children);
  return element;
}

function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function ask(path) {
  return fetch(path, { headers: { Authorization: `Bearer ${token}` }, cache: "no-store", credentials: "omit" });
}

// ---- The token ----------------------------------------------------------------------------------------------------

function login(wrong) {
  main.replaceChildren(at("login").content.cloneNode(true));
  at("wrong").textContent = wrong;
  at("token").focus();
  main.querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault();
    token = at("token").value.trim();
    listen();
  });
}

// ---- The server's events ------------------------------------------------------------------------------------------

// EventSource cannot send the token in a header, where it stays out of addresses and logs.
async function listen() {
  for (let pause = 1000; ; pause = Math.min(2 * pause, 15000)) {
    try {
      const reply = await ask("events");
      if (reply.status === 401) return login(token ? "This token is not right." : "");
      if (reply.ok) {
        store.set(token);
        pause = 1000;
        await read(reply.body.getReader());
      }
    } catch { /* the server is away: try again */ }
    if (at("live")) at("live").textContent = "no connection to the server; trying again …";
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

async function read(reader) {
  const decoder = new TextDecoder();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += decoder.decode(value, { stream: true });
    const events = rest.split("\n\n");
    rest = events.pop();
    for (const event of events) {
      const data = event.split("\n").filter((line) => line.startsWith("data: ")).map((line) => line.slice(6)).join("\n");
      if (data) show(JSON.parse(data));
    }
  }
}

// ---- The page -----------------------------------------------------------------------------------------------------

function show(state) {
  if (!at("title")) build();
  if ("map" in state) [latest, about] = [state.map, state];
  const { progress } = state;
  document.title = `${progress.answers} · ${state.title}`;
  at("title").textContent = state.title;
  at("live").textContent = `live, ${new Date().toLocaleTimeString()}`;
  at("tiles").replaceChildren(...[
    [progress.started, "people started"],
    [progress.finished, progress.failed ? `finished, ${progress.failed} of them failed checks` : "finished"],
    [progress.running, "at it now"],
    [progress.dropped, "dropped out"],
    [progress.declined, "did not agree"],
    [count(progress.answers), progress.skipped + progress.ties ? `answers, ${progress.skipped} skipped, ${progress.ties} ties` : "answers"],
    [count(progress.last_hour), "in the last hour"],
    [seconds(progress.median_ms), "median time of an answer"],
  ].map(([number, words]) => make("div", { className: "tile" }, make("b", { textContent: number }), make("span", { textContent: words }))));
  at("enough").textContent = latest ? latest.enough : "There is no map yet: the first one is made after about as many answers as there are objects.";
  if ("map" in state) { drawMap(); drawAccuracy(); }
  drawHours(progress.by_hour);
  at("kinds").replaceChildren(...["chosen", "random", "shared", "repeat", "check", "practice"].flatMap((kind) => [
    make("dt", { textContent: kind }), make("dd", { textContent: count(progress.kinds[kind] ?? 0) })]));
  showPeople(state.people);
  document.body.dataset.ready = "yes";
}

function build() {
  main.replaceChildren(at("page").content.cloneNode(true));
  for (const id of ["ellipses", "thumbnails"]) at(id).addEventListener("change", () => drawMap());
  main.querySelectorAll("[data-file]").forEach((button) => button.addEventListener("click", () => download(button)));
}

async function download(button) {
  button.disabled = true;
  try {
    const reply = await ask(button.dataset.file);
    if (!reply.ok) return;
    const address = URL.createObjectURL(await reply.blob());
    make("a", { href: address, download: button.dataset.name ?? button.dataset.file }).click();
    setTimeout(() => URL.revokeObjectURL(address), 60000);
  } finally {
    button.disabled = false;
  }
}

function ratio([right, asked]) {
  return asked ? `${right} of ${asked}` : "–";
}

function showPeople(people) {
  const kinds = { fine: "fine", careless: "leave", reversed: "leave", unlike: "look", unclear: "look", "own view": "look" };
  at("people").replaceChildren(...people.slice(0, SHOWN_PEOPLE).map((one) => {
    const cell = (text, className = "number") => make("td", { textContent: text, className });
    const advice = make("td", { className: "advice" }, make("span", { className: kinds[one.verdict] ?? "", textContent: one.verdict }),
      one.reasons ? `: ${one.reasons}` : "");
    return make("tr", {}, make("td", {}, make("code", { textContent: one.name })), cell(one.state, ""), cell(one.answers), cell(ratio(one.checks)),
      cell(ratio(one.repeats)), cell(ratio(one.shared)), cell(one.left === null ? "–" : percent(one.left)), cell(seconds(one.median_ms)),
      cell(one.lapse === null ? "–" : percent(one.lapse)), advice);
  }));
  at("more").textContent = people.length > SHOWN_PEOPLE ? `and ${count(people.length - SHOWN_PEOPLE)} more: see the export` : people.length ? "" : "Nobody has agreed yet.";
}

function drawMap() {
  if (!latest) { at("map-note").textContent = "The map appears here."; return; }
  const things = new Map(about.objects.map((one) => [one.name, one]));
  const places = latest.drawn;
  // Ellipses fit into the drawing, unless they are so large that nothing else could be seen.
  const reach = Math.max(...places.flat().map(Math.abs), 1e-9);
  const size = Math.min(1.6 * reach, Math.max(1.15 * reach, ...places.map(([across, up], index) =>
    Math.max(Math.abs(across), Math.abs(up)) + (at("ellipses").checked ? latest.spread[index]?.[0] ?? 0 : 0))));
  const [middle, scale] = [MAP / 2, MAP / 2 / size];
  const x = (place) => middle + scale * place[0], y = (place) => middle - scale * place[1];
  const svg = draw("svg", { viewBox: `0 0 ${MAP} ${MAP}`, role: "img", "aria-label": `Map of ${places.length} objects` });
  const side = Math.max(22, Math.min(64, MAP / Math.sqrt(places.length) / 2.2));
  places.forEach((place, index) => {
    const name = latest.names[index] ?? "";
    const thing = things.get(name);
    const drawn = draw("g", { transform: `translate(${x(place)} ${y(place)})` }, draw("title", {}, name));
    if (at("thumbnails").checked && thing?.form === "image") {
      drawn.append(draw("image", { href: `../${thing.source}`, x: -side / 2, y: -side / 2, width: side, height: side }));
    } else {
      drawn.append(draw("circle", { r: 4, class: "dot" }));
      const label = draw("text", { x: 7, y: 4 });
      label.textContent = name.length > 22 ? `${name.slice(0, 21)}…` : name;
      drawn.append(label);
    }
    svg.append(drawn);
  });
  if (at("ellipses").checked) {
    latest.spread.forEach(([long, short, angle], index) => svg.append(draw("ellipse", {
      class: "ellipse", rx: Math.max(1, long * scale), ry: Math.max(1, short * scale),
      transform: `translate(${x(places[index])} ${y(places[index])}) rotate(${-angle})` })));
  }
  at("map").replaceChildren(svg);
  at("map-note").textContent = `Version ${latest.version}, of ${count(latest.answers)} answers. An ellipse is where an object lies in 95 % of reweighted answers` +
    (about.dimensions > 2 ? "; the first two principal axes are drawn." : ".");
}

function frame(width, height) {
  return draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img" });
}

function words(svg, x, y, text, anchor = "start") {
  const element = draw("text", { x, y, class: "faint", "text-anchor": anchor });
  element.textContent = text;
  svg.append(element);
}

function drawAccuracy() {
  const points = latest?.accuracy ?? [];
  if (points.length < 2) { at("accuracy-note").textContent = "It is measured once some random questions were asked with a map."; return; }
  const [width, height, left, bottom] = [520, 210, 44, 24];
  const svg = frame(width, height);
  const most = points.at(-1)[1], least = points[0][1];
  const low = Math.min(0.5, ...points.map((one) => one[3]));
  const x = (one) => left + ((width - left - 10) * (one[1] - least)) / Math.max(1, most - least);
  const y = (share) => 8 + (height - bottom - 8) * (1 - (share - low) / (1 - low));
  for (const share of [0.5, 0.6, 0.7, 0.8, 0.9, 1]) {
    svg.append(draw("line", { x1: left, x2: width - 10, y1: y(share), y2: y(share), class: "axis" }));
    words(svg, left - 6, y(share) + 4, percent(share), "end");
  }
  const up = points.map((one) => `${x(one)},${y(one[4])}`), down = points.map((one) => `${x(one)},${y(one[3])}`).reverse();
  svg.append(draw("polygon", { points: [...up, ...down].join(" "), class: "band" }));
  svg.append(draw("polyline", { points: points.map((one) => `${x(one)},${y(one[2])}`).join(" "), class: "line" }));
  words(svg, left, height - 4, `${count(least)} answers`);
  words(svg, width - 10, height - 4, count(most), "end");
  const [, , share, under, over] = points.at(-1);
  svg.setAttribute("aria-label", `Accuracy over time, now ${percent(share)}`);
  at("accuracy").replaceChildren(svg);
  at("accuracy-note").textContent = `Now ${percent(share)} (95 % interval ${percent(under)} to ${percent(over)}) of random questions are as the map of their time predicted; chance is ${about.kind === "odd" ? "33 %" : "50 %"}.`;
}

function drawHours(numbers) {
  const [width, height, bottom] = [520, 110, 22];
  const svg = frame(width, height);
  const most = Math.max(1, ...numbers);
  const step = width / numbers.length;
  numbers.forEach((number, index) => {
    const tall = ((height - bottom - 14) * number) / most;
    svg.append(draw("rect", { x: index * step + 1, y: height - bottom - tall, width: step - 2, height: tall, class: "bar" }));
  });
  svg.append(draw("line", { x1: 0, x2: width, y1: height - bottom, y2: height - bottom, class: "axis" }));
  words(svg, 0, 10, `at most ${count(most)}`);
  words(svg, 0, height - 4, `${numbers.length} hours ago`);
  words(svg, width, height - 4, "now", "end");
  svg.setAttribute("aria-label", `Answers per hour; ${numbers.at(-1)} in this hour`);
  at("hours").replaceChildren(svg);
}

// ---- Start --------------------------------------------------------------------------------------------------------

// The token comes after the #, which browsers send to nobody; it does not stay in the address.
token = location.hash.slice(1) || store.get() || "";
if (location.hash) history.replaceState(null, "", location.pathname + location.search);
token ? listen() : login("");
