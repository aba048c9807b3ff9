// The page: facts, the map with its tools, answers, curves and code.
(() => {
  // Names are data: they reach the page as text nodes and as text on a canvas only.
  const data = JSON.parse(document.getElementById("data").textContent);
  const { unpacked, percent, range } = Numbers;
  const axes = data.axes.map(unpacked);
  const errors = unpacked(data.errors);
  const counts = unpacked(data.counts);
  const count = errors.length;
  const dims = axes.length;
  const columns = new Map([["error", { name: "error of its answers", values: errors, categories: null }]]);
  data.columns.forEach((column, at) => columns.set("column" + at, { ...column, values: unpacked(column.values) }));
  const replicates = data.believe?.replicates ?? null;
  if (replicates)
    columns.set("decided", {
      name: "share of its triplets that is decided",
      values: unpacked(replicates.decided),
      categories: null,
    });
  const NEIGHBOURS = 10;
  const PAPER = { width: 680, least: 300, most: 720 }; // of a printed map: the size of a page is not known before it is printed
  const NARROW = 800;

  let printing = false;
  const byId = (id) => document.getElementById(id);
  const make = (tag, text, options = {}) => {
    const element = Object.assign(document.createElement(tag), options);
    if (text !== undefined && text !== null) element.textContent = text;
    return element;
  };
  const nameOf = (object) => (data.names ? data.names[object] : String(object));
  const oneLine = (text, longest) => {
    const letters = Array.from(text.replace(/\s+/g, " ").trim());
    if (letters.length <= longest) return letters.join("");
    // The end tells names apart as often as the beginning does.
    return (
      letters.slice(0, Math.ceil(longest / 2)).join("") + "…" + letters.slice(-Math.floor(longest / 2) + 1).join("")
    );
  };
  const INK_ON_PAPER = {
    paper: "#ffffff",
    ink: "#000000",
    faint: "#444444",
    line: "#bbbbbb",
    panel: "#ffffff",
    accent: "#0067a3",
    warn: "#a34700",
  };
  const theme = (name) =>
    printing
      ? INK_ON_PAPER[name]
      : getComputedStyle(document.documentElement)
          .getPropertyValue("--" + name)
          .trim();
  const isDark = () => parseInt(theme("paper").slice(1, 3), 16) < 128;
  const shortName = (object) => (data.shortNames ? data.shortNames[object] : nameOf(object));
  const nameButton = (object) => {
    const button = make("button", oneLine(data.leftOut ? shortName(object) : nameOf(object), 60) || "(no name)", {
      type: "button",
      className: "name",
      title: nameOf(object),
    });
    button.addEventListener("click", () => choose(object, button));
    return button;
  };

  // ---- what is shown ---------------------------------------------------------------------------------------------------
  const state = {
    view: 2,
    axes: [0, Math.min(1, dims - 1), Math.min(2, dims - 1)],
    colour: data.columns.length ? "column0" : "error",
    object: null,
    near: [],
    answer: null,
    category: null,
    hovered: null,
    ellipses: replicates !== null && replicates.ellipses.areShown,
    graph: false,
  };
  const rank = (() => {
    if (dims > 1) return null;
    const ranks = new Float32Array(count);
    Uint32Array.from(axes[0].keys())
      .sort((a, b) => axes[0][a] - axes[0][b])
      .forEach((object, at) => {
        ranks[object] = at + 1;
      });
    return ranks;
  })();

  const distance = (a, b) => {
    let sum = 0;
    for (const axis of axes) sum += (axis[a] - axis[b]) ** 2;
    return Math.sqrt(sum);
  };
  const neighbours = (object) => {
    const nearest = [];
    for (let other = 0; other < count; other += 1) {
      if (other === object) continue;
      const far = distance(object, other);
      if (nearest.length === NEIGHBOURS && far >= nearest[NEIGHBOURS - 1][0]) continue;
      let at = nearest.length;
      while (at > 0 && nearest[at - 1][0] > far) at -= 1;
      nearest.splice(at, 0, [far, other]);
      if (nearest.length > NEIGHBOURS) nearest.pop();
    }
    return nearest;
  };
  const fitText = (object) => {
    const error = errors[object];
    if (Number.isNaN(error)) return "no answers about it: its place means nothing";
    return `${percent(1 - error)} of its ${Numbers.whole(counts[object])} answers agree`;
  };

  // ---- how sure it is ------------------------------------------------------------------------------------------------------
  const moments = replicates && unpacked(replicates.ellipses.moments);
  const pairs =
    replicates &&
    Object.fromEntries(Object.entries(replicates.pairs).map(([name, values]) => [name, unpacked(values)]));
  const unsettled = new Set(replicates?.unsettled);
  const surest = new Map(); // of each object: {other, nearest, near}
  const graph = [];
  if (pairs) {
    const strongest = new Map(); // a pair is drawn once, as strong as the surer of its two ways
    pairs.from.forEach((from, at) => {
      const [to, near] = [pairs.to[at], pairs.near[at]];
      if (!surest.has(from)) surest.set(from, []);
      surest.get(from).push({ other: to, nearest: pairs.nearest[at], near });
      const key = Math.min(from, to) * count + Math.max(from, to);
      if (near >= Uncertain.LEAST && near > (strongest.get(key)?.share ?? 0))
        strongest.set(key, { from, to, share: near });
    });
    graph.push(...strongest.values());
  }
  // The moments of an object's place along the axes that are shown, as a table; NaN where they are not in the page.
  const momentsOf = (object) => {
    const stored = replicates.ellipses.axes;
    const at = (a, b) => {
      const [low, high] = a < b ? [a, b] : [b, a];
      return high < stored ? moments[(object * stored * (stored + 1)) / 2 + (high * (high + 1)) / 2 + low] : NaN;
    };
    if (dims === 1)
      return [
        [at(0, 0), 0],
        [0, 0],
      ];
    const shown = state.axes.slice(0, state.view);
    return shown.map((a) => shown.map((b) => at(a, b)));
  };
  const layUnder = () => {
    scatter.doubtful = unsettled;
    if (!replicates) return;
    scatter.graph = state.graph ? graph : [];
    const objects = state.ellipses
      ? Array.from({ length: count }, (_, object) => object)
      : Array.from(new Set([state.object, state.hovered].filter((object) => object !== null)));
    scatter.ellipses = { moments: momentsOf, radius: replicates.ellipses.radii[dims === 1 ? 0 : 1], objects };
  };
  const sureText = ({ nearest, near }) =>
    `the nearest in ${percent(nearest)}, among the ${replicates.near} nearest in ${percent(near)}`;

  // ---- colours -----------------------------------------------------------------------------------------------------------
  const palette = () => data.colours.map((colour) => (colour === "#000000" && isDark() ? "#f2f2f2" : colour));
  const categoryMark = (column, code) => {
    const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    picture.setAttribute("viewBox", "-1 -1 2 2");
    const shape = document.createElementNS("http://www.w3.org/2000/svg", "path");
    shape.setAttribute("d", Points.outline(categoryShape(code)));
    shape.setAttribute("fill", categoryColour(column, code));
    picture.append(shape);
    return picture;
  };
  const categoryColour = (column, code) =>
    column.categories[code] === "(none)" ? data.grey : palette()[code % data.colours.length];
  const categoryShape = (code) => Math.floor(code / data.colours.length) % Points.kinds;
  const ramp = () =>
    isDark()
      ? ["#3b6fb6", "#6f86a5", "#9c9b8f", "#cdbf73", "#fee838"]
      : ["#00224e", "#434e6c", "#7d7c78", "#bcae6c", "#fee838"];
  const parts = (colour) => [1, 3, 5].map((place) => parseInt(colour.slice(place, place + 2), 16));
  const looks = () => {
    const column = columns.get(state.colour);
    const colours = new Uint8Array(4 * count),
      shapes = new Uint8Array(count);
    const size =
      (count > 200000 ? 2.5 : count > 20000 ? 3 : count > Points.MANY ? 4 : count > 800 ? 6 : 9) *
      (state.view === 3 ? 0.9 : 1);
    const opaque = count > 20000 && state.view === 2 ? 170 : 255;
    const grey = parts(data.grey);
    if (column.categories) {
      const inks = column.categories.map((_, code) => parts(categoryColour(column, code)));
      const [kinds, faint] = [column.categories.map((_, code) => categoryShape(code)), parts(theme("line"))];
      for (let object = 0; object < count; object += 1) {
        const code = column.values[object];
        const isFaint = state.category !== null && code !== state.category;
        const ink = isFaint && state.view === 3 ? faint : inks[code];
        for (let part = 0; part < 3; part += 1) colours[4 * object + part] = ink[part];
        colours[4 * object + 3] = isFaint && state.view === 2 ? 20 : opaque;
        shapes[object] = kinds[code];
      }
    } else {
      const [low, high] = range(column.values);
      const stops = ramp().map(parts);
      for (let object = 0; object < count; object += 1) {
        const value = column.values[object];
        const at = Number.isNaN(value) ? 0 : (high > low ? (value - low) / (high - low) : 0.5) * (stops.length - 1);
        const before = Math.min(Math.floor(at), stops.length - 2);
        for (let part = 0; part < 3; part += 1)
          colours[4 * object + part] = Number.isNaN(value)
            ? grey[part]
            : stops[before][part] + (at - before) * (stops[before + 1][part] - stops[before][part]);
        colours[4 * object + 3] = opaque;
      }
    }
    return { colours, shapes, size };
  };
  const drawLegend = () => {
    const column = columns.get(state.colour);
    const box = byId("legend");
    box.replaceChildren(make("h3", column.name));
    if (!column.categories) {
      const [low, high] = range(column.values);
      const bar = make("div", null, { className: "ramp" });
      bar.style.background = `linear-gradient(to right, ${ramp().join(", ")})`;
      const ends = make("div", null, { className: "ends" });
      const shown = ["error", "decided"].includes(state.colour) ? percent : Numbers.short;
      ends.append(make("span", shown(low)), make("span", shown(high)));
      box.append(bar, ends);
      if (column.values.some(Number.isNaN)) box.append(make("p", "grey: no value", { className: "faint" }));
      return;
    }
    const totals = new Array(column.categories.length).fill(0);
    for (const code of column.values) totals[code] += 1;
    const list = make("ul");
    column.categories.forEach((category, code) => {
      const button = make("button", null, { type: "button" });
      button.setAttribute("aria-pressed", String(state.category === code));
      button.append(
        categoryMark(column, code),
        make("span", `${oneLine(category, 60)} (${Numbers.whole(totals[code])})`),
      );
      button.addEventListener("click", () => {
        state.category = state.category === code ? null : code;
        colourMap();
        byId("legend").querySelectorAll("button")[code].focus();
      });
      const item = make("li");
      item.append(button);
      list.append(item);
    });
    box.append(list);
  };

  // ---- the map -----------------------------------------------------------------------------------------------------------
  const map = byId("map");
  const note = (text) => {
    byId("map-note").textContent = text;
    byId("map-note").hidden = !text;
  };
  const portrait = (object) => {
    if (!(object in data.pictures)) return [];
    const image = make("img", null, { src: data.pictures[object], alt: "" });
    image.style.borderColor = `rgb(${scatter.looks.colours.subarray(4 * object, 4 * object + 3).join(",")})`;
    return [image];
  };
  const labelLines = (object) =>
    Array.from(columns)
      .filter(([key]) => !["error", "decided"].includes(key))
      .map(([, column]) => {
        const value = column.values[object];
        const shown = column.categories
          ? column.categories[value]
          : Number.isNaN(value)
            ? "(none)"
            : Numbers.short(value);
        return make("div", `${column.name}: ${shown}`, { className: "faint" });
      });
  const showTip = (object, x, y) => {
    const tip = byId("tip");
    if (state.hovered !== object && replicates && !state.ellipses) {
      state.hovered = object;
      layUnder();
      scatter.draw(false);
    }
    tip.hidden = object === null;
    if (object === null) return;
    tip.replaceChildren(
      make("strong", oneLine(nameOf(object), 120) || "(no name)"),
      ...portrait(object),
      make("div", fitText(object)),
      ...labelLines(object),
    );
    tip.style.left = Math.max(0, Math.min(x + 14, map.clientWidth - tip.offsetWidth - 4)) + "px";
    tip.style.top =
      (y + 18 + tip.offsetHeight > map.clientHeight ? Math.max(0, y - tip.offsetHeight - 10) : y + 18) + "px";
  };
  const scatter = new Scatter(map, {
    colour: theme,
    text: (object) => oneLine(shortName(object), 28),
    hovered: showTip,
    chosen: (object) => (object === null ? unchoose() : choose(object, map)),
  });
  map.scatter = scatter; // for whoever opens the console
  for (const [object, address] of Object.entries(data.pictures)) {
    const image = new Image();
    image.onload = () => {
      clearTimeout(scatter.resting);
      scatter.resting = setTimeout(() => scatter.draw(), 30);
    };
    image.src = address;
    scatter.pictures.set(Number(object), image);
  }

  const shortTitle = (name) => name.replace("principal ", "").replace(" of the spread", "");
  // The box is as high as the map needs at this width, within what a screen shows at once; a high map gets a narrow one.
  const fitBox = () => {
    if (printing) return;
    const below = innerHeight - (map.getBoundingClientRect().top + scrollY) - 16; // what the first screen has left for it
    const most = Math.min(Math.max(0.6 * innerHeight, below), 760);
    const stage = map.closest(".stage");
    const available = stage.clientWidth - (innerWidth > NARROW ? 290 : 0);
    let width = available;
    if (innerWidth > NARROW)
      width = Math.round(Math.min(Math.max(scatter.fittingWidth(most), 0.55 * available), available));
    stage.style.setProperty("--map-width", `${width}px`);
    const least = Math.min(0.75 * width, 0.45 * innerHeight);
    map.style.height = `${Math.round(Math.min(Math.max(scatter.fittingHeight(width), least), most))}px`;
  };
  const placeMap = () => {
    const drawn = dims === 1 ? [axes[0], rank] : state.axes.slice(0, state.view).map((axis) => axes[axis]);
    const titles =
      dims === 1
        ? ["position", "rank"]
        : dims === 2
          ? ["", ""]
          : state.axes
              .slice(0, state.view)
              .map((axis) => (map.clientWidth < 500 ? shortTitle : String)(data.axisNames[axis]));
    scatter.setPlaces(drawn, { view: state.view, titles, isEqual: dims > 1 });
    scatter.setLooks(looks());
    mark();
    drawLegend();
    fitBox();
    scatter.home();
    const far = state.view === 2 ? scatter.outside : 0;
    note(
      [
        far
          ? `${Numbers.whole(far)} object${far > 1 ? "s lie" : " lies"} far outside this frame; zoom out to see ${far > 1 ? "them" : "it"}.`
          : "",
        data.leftOut ? `Names on the map are shown without ${data.leftOut}.` : "",
      ]
        .filter(Boolean)
        .join(" "),
    );
  };
  const colourMap = () => {
    scatter.setLooks(looks());
    drawLegend();
    scatter.draw();
  };
  const mark = () => {
    layUnder();
    const ringed = (object, colour) => ({ object, colour });
    scatter.lines = [];
    if (state.answer) {
      const [a, b, c, d] = state.answer;
      const [near, far] =
        state.answer.length === 3
          ? [
              [a, b],
              [a, c],
            ]
          : [
              [a, b],
              [c, d],
            ];
      scatter.lines = [
        { from: near[0], to: near[1], dash: [] },
        { from: far[0], to: far[1], dash: [6, 5] },
      ];
      scatter.marks = Array.from(new Set(state.answer), (object, at) => ringed(object, at ? "accent" : "warn"));
    } else if (state.object !== null)
      scatter.marks = [ringed(state.object, "warn"), ...state.near.map(([, other]) => ringed(other, "accent"))];
    else scatter.marks = [];
  };

  // Whoever chose something elsewhere on the page is taken to the map, and can go back.
  const bringIntoView = (from) => {
    byId("back").hidden = !from?.closest?.("#violated");
    byId("back").onclick = () => {
      from.scrollIntoView({ block: "center" });
      from.focus();
    };
    const area = map.getBoundingClientRect();
    if (from === map || (area.top >= 0 && area.bottom <= innerHeight)) return;
    map.scrollIntoView({ block: innerWidth < NARROW ? "start" : "center" });
  };
  const intro = byId("object").firstElementChild;
  const unchoose = () => {
    Object.assign(state, { object: null, near: [], answer: null });
    byId("object").replaceChildren(intro);
    byId("back").hidden = true;
    mark();
    scatter.draw();
  };
  const choose = (object, from) => {
    Object.assign(state, { object, near: neighbours(object), answer: null });
    const list = make("ol", null, { className: "near" });
    for (const [far, other] of state.near) {
      const item = make("li");
      item.append(nameButton(other), make("span", Numbers.short(far)));
      list.append(item);
    }
    byId("object").replaceChildren(
      make("h3", nameOf(object) || "(no name)"),
      ...portrait(object),
      make("p", fitText(object)),
      ...labelLines(object),
    );
    if (state.near.length)
      byId("object").append(
        make("h3", "Nearest on the map"),
        list,
        make("p", "with their distances, in all dimensions of the map", { className: "faint" }),
      );
    if (replicates) {
      byId("object").append(
        make(
          "p",
          `${percent(columns.get("decided").values[object])} of the triplets about it are decided${unsettled.has(object) ? ": it is not settled, so do not rely on its place" : ""}.`,
        ),
      );
      const sure = make("ul", null, { className: "near" });
      for (const one of surest.get(object) ?? []) {
        const item = make("li");
        item.append(nameButton(one.other), make("span", sureText(one)));
        sure.append(item);
      }
      if (sure.children.length)
        byId("object").append(make("h3", `Near it, by ${replicates.number} maps of resampled answers`), sure);
    }
    mark();
    if (from === map) scatter.show([object], false);
    else scatter.show(count > 100 ? [object, ...state.near.map(([, other]) => other)] : [object], count > 100);
    scatter.draw();
    bringIntoView(from);
  };
  const chooseAnswer = ({ objects, near, far, times, people, lines }, from) => {
    Object.assign(state, { object: null, near: [], answer: objects });
    const said = make("p");
    said.append(...sentence(objects));
    byId("object").replaceChildren(
      make("h3", "A violated answer"),
      said,
      make(
        "p",
        `On the map the first distance (full line) is ${Numbers.short(near)}, the second (dashed) ${Numbers.short(far)}.`,
      ),
    );
    if (times > 1) byId("object").append(make("p", `Given ${Numbers.whole(times)} times.`));
    if (people) byId("object").append(make("p", `By ${people}.`));
    if (lines) byId("object").append(make("p", `In the file: line ${lines}.`));
    mark();
    scatter.show(objects, count > 100);
    scatter.draw();
    bringIntoView(from);
  };

  // ---- tools ---------------------------------------------------------------------------------------------------------------
  for (const [key, column] of columns) byId("colour").append(make("option", column.name, { value: key }));
  byId("colour").value = state.colour;
  byId("colour").addEventListener("change", (event) => {
    state.colour = event.target.value;
    state.category = null;
    colourMap();
  });
  byId("view-choice").hidden = dims < 3;
  byId("view").addEventListener("change", (event) => {
    state.view = Number(event.target.value);
    drawAxisChoices();
    placeMap();
  });
  const drawAxisChoices = () => {
    const box = byId("axis-choices");
    box.replaceChildren();
    if (dims < 3) return;
    ["x", "y", "z"].slice(0, state.view).forEach((letter, place) => {
      const label = make("label", letter + " ");
      const select = make("select", null, { id: "axis-" + letter });
      data.axisNames.forEach((name, at) => select.append(make("option", shortTitle(name), { value: at })));
      select.value = state.axes[place];
      select.addEventListener("change", () => {
        const chosen = Number(select.value);
        const other = state.axes.indexOf(chosen);
        if (other >= 0) state.axes[other] = state.axes[place]; // the same axis twice would draw a line: they change places
        state.axes[place] = chosen;
        drawAxisChoices();
        placeMap();
        byId("axis-" + letter).focus();
      });
      label.append(select);
      box.append(label, " ");
    });
  };
  for (const name of ["ellipses", "graph"]) {
    byId(name + "-choice").hidden = !(name === "graph" ? graph.length : replicates);
    byId(name).checked = state[name];
    byId(name).addEventListener("change", (event) => {
      state[name] = event.target.checked;
      layUnder();
      scatter.draw();
    });
  }
  byId("whole").addEventListener("click", () => scatter.home());
  byId("zoom-in").addEventListener("click", () => scatter.zoom(1.5));
  byId("zoom-out").addEventListener("click", () => scatter.zoom(1 / 1.5));
  byId("save").addEventListener("click", () =>
    make("a", null, { href: scatter.picture().toDataURL("image/png"), download: "map.png" }).click(),
  );

  const search = byId("search"),
    found = byId("found");
  let folded = null;
  const look = () => {
    folded ??= Array.from({ length: count }, (_, object) => nameOf(object).toLowerCase());
    const wanted = search.value.trim().toLowerCase();
    found.replaceChildren();
    found.hidden = !wanted;
    search.setAttribute("aria-expanded", String(Boolean(wanted)));
    if (!wanted) return [];
    const hits = [];
    for (let object = 0; object < count; object += 1) {
      const at = folded[object].indexOf(wanted);
      if (at >= 0) hits.push([folded[object] === wanted ? -1 : at, object]);
    }
    hits.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    for (const [, object] of hits.slice(0, 12)) {
      const button = make("button", oneLine(nameOf(object), 80), { type: "button" });
      button.addEventListener("click", () => settle(object, nameOf(object)));
      const item = make("li");
      item.append(button);
      found.append(item);
    }
    const more = hits.length - 12;
    if (!hits.length || more > 0)
      found.append(
        make("li", hits.length ? `and ${Numbers.whole(more)} more` : "no object has such a name", {
          className: "faint",
        }),
      );
    return hits.map(([, object]) => object);
  };
  const closeSearch = () => {
    found.hidden = true;
    search.setAttribute("aria-expanded", "false");
  };
  const settle = (object, shown) => {
    closeSearch();
    if (shown !== undefined) search.value = shown;
    if (innerWidth < NARROW) search.blur(); // the keyboard of a phone would cover the map
    choose(object, search);
  };
  search.addEventListener("input", look);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") {
      const hits = look();
      if (hits.length) settle(hits[0]);
    }
    if (event.key === "Escape") closeSearch();
    if (event.key === "ArrowDown" && found.querySelector("button")) {
      event.preventDefault();
      found.querySelector("button").focus();
    }
  });
  found.addEventListener("keydown", (event) => {
    const buttons = Array.from(found.querySelectorAll("button"));
    const at = buttons.indexOf(document.activeElement);
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      (buttons[at + (event.key === "ArrowDown" ? 1 : -1)] || search).focus();
    }
    if (event.key === "Escape") {
      closeSearch();
      search.focus();
    }
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest(".search")) closeSearch();
  });
  document.addEventListener("focusin", (event) => {
    if (!event.target.closest(".search")) closeSearch();
  });

  // ---- facts, answers, curves, code ----------------------------------------------------------------------------------------
  const withUnits = (text) => text.replace(/(\d) %/g, "$1\u00a0%"); // a line does not end between a number and its unit
  for (const { name, value, note: remark } of data.facts) {
    const cell = make("dd", withUnits(value));
    if (remark) cell.append(make("small", withUnits(remark)));
    byId("facts").append(make("dt", name), cell);
  }

  const sentence = (objects) => {
    const [a, b, c, d] = objects.map(nameButton);
    return objects.length === 3
      ? [a, " is closer to ", b, " than to ", c]
      : [a, " and ", b, " are closer than ", c, " and ", d];
  };
  const hasPeople = data.violations.some(({ people }) => people),
    hasLines = data.violations.some(({ lines }) => lines);
  byId("who").hidden = !hasPeople;
  byId("line").hidden = !hasLines;
  const answerRow = (violation) => {
    const { objects, near, far, times, people, lines } = violation;
    const cell = make("td");
    cell.append(...sentence(objects));
    const row = make("tr");
    row.append(cell);
    const add = (label, text, className) => {
      const part = make("td", text, { className });
      part.dataset.label = label;
      row.append(part);
    };
    if (hasPeople) add("Participant", people, "people");
    if (hasLines) add("Line", lines, "number");
    add("Said to be smaller", Numbers.short(near), "number");
    add("Said to be larger", Numbers.short(far), "number");
    add("Times", Numbers.whole(times), "number");
    const show = make("button", "Show", { type: "button" });
    show.setAttribute("aria-label", "Show this answer on the map");
    show.addEventListener("click", () => chooseAnswer(violation, show));
    const last = make("td");
    last.append(show);
    row.append(last);
    return row;
  };
  const showAnswers = (most) => {
    byId("violated").tBodies[0].replaceChildren(...data.violations.slice(0, most).map(answerRow));
    byId("more").hidden = most >= data.violations.length;
    byId("more").textContent = `Show all ${data.violations.length}`;
  };
  byId("race-section").hidden = !data.race.length;
  byId("race").tBodies[0].replaceChildren(
    ...data.race.map((candidate) => {
      const row = make("tr");
      const behind = candidate.held_out_error - data.race[0].held_out_error;
      row.append(make("td", candidate.loss));
      for (const text of [
        percent(candidate.held_out_error),
        candidate === data.race[0] ? "" : percent(behind),
        candidate.train_error === null ? "" : percent(candidate.train_error),
        String(candidate.rounds),
      ])
        row.append(make("td", text, { className: "number" }));
      return row;
    }),
  );
  byId("violated-note").textContent = data.violated
    ? `${Numbers.whole(data.violated)} comparisons contradict the map. These contradict it most: on the map, the distance that they say is smaller is the larger one.`
    : "No answer contradicts the map.";
  byId("violated").hidden = !data.violated;
  byId("more").addEventListener("click", () => showAnswers(Infinity));
  showAnswers(15);

  const drawCurves = () => {
    const { history } = data;
    const key = byId("against").value;
    const inks = palette();
    const draw = (id, options) => {
      const size = printing ? [330, 240] : [Math.max(byId(id).clientWidth, 240), Math.max(byId(id).clientHeight, 160)];
      Curves.draw(byId(id), {
        x: history[key],
        xTitle: { gradients: "component gradients", seconds: "seconds in the solver", epoch: "epoch" }[key],
        chosen: history[key][data.best],
        colour: theme,
        size,
        ...options,
      });
    };
    const objective = history.objective.filter((value) => value !== null);
    const isLog =
      objective.length > 0 && Math.min(...objective) > 0 && Math.max(...objective) > 20 * Math.min(...objective);
    draw("objective", {
      title: "Objective (mean loss)",
      isLog,
      lines: [{ name: "objective", values: history.objective, colour: inks[0], dash: "" }],
    });
    const lines = [{ name: "training", values: history.train_error, colour: inks[0], dash: "" }];
    if (history.validation_error.some((value) => value !== null))
      lines.push({ name: "held out", values: history.validation_error, colour: inks[1], dash: "5 3" });
    draw("errors", {
      title: "Error (dashed line: chance)",
      fromZero: true,
      lines,
      levels: [{ value: 0.5, dash: "4 4" }],
      tickText: (value) => `${Math.round(100 * value)} %`,
    });
    const steps = history.step.map((value) => (value === null || value === 0 ? null : Math.abs(value)));
    const some = steps.some((value) => value !== null);
    const crosses = history.step.map((value) => value !== null && value < 0);
    const title = !some
      ? "Step size (the solver reports none)"
      : crosses.some(Boolean)
        ? "Step size (crosses: negative, by size)"
        : "Step size";
    draw("steps", {
      title,
      isLog: some,
      lines: some ? [{ name: "step size", values: steps, colour: inks[0], dash: "", crosses }] : [],
    });
  };
  byId("against").addEventListener("change", drawCurves);

  byId("groups").hidden = !data.groups;
  const drawGroups = data.groups
    ? Groups.build(byId("groups"), data.groups, {
        make,
        nameButton,
        colour: theme,
        nameOf,
        choose,
        text: (object) => oneLine(shortName(object), 28),
        inkOf: (object) => categoryColour(columns.get("column0"), columns.get("column0").values[object]),
        markOf: (object) => categoryMark(columns.get("column0"), columns.get("column0").values[object]),
      })
    : () => {};
  byId("believe").hidden = !data.believe;
  const blended = (share) => {
    const stops = ramp().map(parts),
      at = share * (stops.length - 1);
    const before = Math.min(Math.floor(at), stops.length - 2);
    return `rgb(${[0, 1, 2].map((part) => Math.round(stops[before][part] + (at - before) * (stops[before + 1][part] - stops[before][part]))).join(",")})`;
  };
  const drawFindings = data.believe
    ? Believe.build(
        byId("believe"),
        { ...data.believe, count, hasPairs: graph.length > 0 },
        {
          make,
          nameButton,
          colour: theme,
          palette,
          inkOf: blended,
          size: (box) => (printing ? [480, 240] : [Math.max(box.clientWidth, 240), Math.max(box.clientHeight, 160)]),
        },
      )
    : () => {};

  if (data.caution) {
    byId("caution").textContent = data.caution;
    byId("caution").hidden = false;
  }
  for (const [section, title, code] of [
    ["repeat", "On the command line", data.command],
    ["repeat", "In Python", data.python],
    ["methods", null, data.methods],
  ]) {
    if (!code) continue;
    const box = make("div", null, { className: "code" });
    const copy = make("button", "Copy", { type: "button" });
    copy.addEventListener("click", () => {
      const selected = document.createRange();
      selected.selectNodeContents(box.querySelector("pre"));
      getSelection().removeAllRanges();
      getSelection().addRange(selected);
      copy.textContent = document.execCommand("copy") ? "Copied" : "Selected";
    });
    box.append(make("pre", code), copy);
    byId(section).append(...(title ? [make("h3", title)] : []), box);
  }
  if (!byId("repeat").children.length)
    byId("repeat").append(make("p", "The result holds no settings.", { className: "faint" }));

  // ---- begin ---------------------------------------------------------------------------------------------------------------
  const redraw = () => {
    colourMap();
    drawCurves();
    drawGroups();
    drawFindings();
  };
  const print = (now) => {
    if (printing === now) return;
    printing = now;
    scatter.sheet = now
      ? {
          width: PAPER.width,
          height: Math.round(Math.min(Math.max(scatter.fittingHeight(PAPER.width), PAPER.least), PAPER.most)),
        }
      : null;
    scatter.refit();
    redraw();
    map.querySelector(".printed")?.remove();
    if (!now) return;
    // Browsers may print stacked canvases without what was drawn on the lower ones, so all layers are printed as one.
    const printed = Object.assign(scatter.picture(), { className: "printed" });
    [printed.style.width, printed.style.height] = [`${scatter.sheet.width}px`, `${scatter.sheet.height}px`];
    map.append(printed);
    map.style.setProperty("--printed-height", `${scatter.sheet.height}px`);
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  matchMedia("print").addEventListener("change", (event) => print(event.matches));
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  let width = innerWidth;
  addEventListener("resize", () => {
    if (printing || innerWidth === width) return; // a phone's address bar changes the height all the time
    width = innerWidth;
    fitBox();
    drawCurves();
    drawGroups();
    drawFindings();
  });
  drawAxisChoices();
  placeMap();
  drawCurves();
  drawGroups();
  drawFindings();
  document.body.dataset.ready = "yes";
})();
