// The report page: facts, the map with its controls, answers, curves and code.

/** A value or a category (as its code) per object.
 * @typedef {{name: string, values: Float32Array | Int32Array, categories: string[] | null}} Column */
/** @typedef {{objects: number[], near: number, far: number, times: number, people: string, lines: string}} Violation */
/** @typedef {"gradients" | "seconds" | "epoch"} Clock */
/** The content of the page; see content.py.
 * @typedef {{names: string[] | null, shortNames: string[] | null, leftOut: string, axes: Packed[], axisNames: string[],
 *   facts: {name: string, value: string, note: string}[], errors: Packed, counts: Packed,
 *   columns: {name: string, values: Packed, categories: string[] | null}[], pictures: Record<string, string>,
 *   violations: Violation[], violated: number, best: number,
 *   history: Record<Clock, number[]> &
 *     Record<"objective" | "train_error" | "validation_error" | "step", (number | null)[]>,
 *   race: {loss: string, penalty: number, held_out_error: number, train_error: number | null, rounds: number,
 *     standard_error: number | null}[],
 *   python: string | null, command: string | null, caution: string | null, methods: string, groups: Clusters | null,
 *   believe: Findings | null, colours: string[], grey: string}} ReportContent */

(() => {
  /** An element of page.html, whose type depends on the id.
   * @type {(id: string) => any} */
  const byId = (id) => document.getElementById(id);
  // Names are untrusted data: they enter the page only as text nodes and as text on a canvas.
  /** @type {ReportContent} */
  const data = JSON.parse(byId("data").textContent);
  const { unpacked, percent, range } = Numbers;
  const axes = data.axes.map(unpacked);
  const errors = unpacked(data.errors);
  const counts = unpacked(data.counts);
  const count = errors.length;
  const dims = axes.length;
  /** @type {Map<string, Column>} */
  const columns = new Map([["error", { name: "error of its answers", values: errors, categories: null }]]);
  data.columns.forEach((column, at) => {
    columns.set(`column${at}`, { ...column, values: unpacked(column.values) });
  });
  const replicates = data.believe?.replicates ?? null;
  if (replicates)
    columns.set("decided", {
      name: "fraction of its triplets that is decided",
      values: unpacked(replicates.decided),
      categories: null,
    });
  /** The column with one of the keys above.
   * @type {(key: string) => Column} */
  const columnOf = (key) => /** @type {Column} */ (columns.get(key));
  const NEIGHBOURS = 10;
  const PAPER = { width: 680, least: 300, most: 720 }; // pixels of a printed map; the page size is not known in advance
  const NARROW = 800; // pixels, the width of a narrow window

  let printing = false;
  /** @type {(tag: string, text?: string | null, options?: object) => any} */
  const make = (tag, text, options = {}) => {
    const element = Object.assign(document.createElement(tag), options);
    if (text !== undefined && text !== null) element.textContent = text;
    return element;
  };
  /** @param {number} object */
  const nameOf = (object) => (data.names ? data.names[object] : String(object));
  /** @type {(text: string, longest: number) => string} */
  const oneLine = (text, longest) => {
    const letters = Array.from(text.replace(/\s+/g, " ").trim());
    if (letters.length <= longest) return letters.join("");
    // The end of a name distinguishes it as often as the beginning does.
    const [first, last] = [letters.slice(0, Math.ceil(longest / 2)), letters.slice(-Math.floor(longest / 2) + 1)];
    return `${first.join("")}…${last.join("")}`;
  };
  /** @type {Record<string, string>} */
  const INK_ON_PAPER = {
    paper: "#ffffff",
    ink: "#000000",
    faint: "#444444",
    line: "#bbbbbb",
    panel: "#ffffff",
    accent: "#0067a3",
    warn: "#a34700",
  };
  /** @param {string} name */
  const theme = (name) =>
    printing ? INK_ON_PAPER[name] : getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  const isDark = () => parseInt(theme("paper").slice(1, 3), 16) < 128;
  /** @param {number} object */
  const shortName = (object) => (data.shortNames ? data.shortNames[object] : nameOf(object));
  /** @param {number} object */
  const nameButton = (object) => {
    const button = make("button", oneLine(data.leftOut ? shortName(object) : nameOf(object), 60) || "(no name)", {
      type: "button",
      className: "name",
      title: nameOf(object),
    });
    button.addEventListener("click", () => choose(object, button));
    return button;
  };

  // ---- State --------------------------------------------------------------------------------------------------------
  const state = {
    /** @type {2 | 3} */
    view: 2,
    axes: [0, Math.min(1, dims - 1), Math.min(2, dims - 1)],
    colour: data.columns.length ? "column0" : "error",
    /** @type {number | null} */
    object: null,
    /** Distance and object of the nearest neighbours.
     * @type {[number, number][]} */
    near: [],
    /** @type {number[] | null} */
    answer: null,
    /** @type {number | null} */
    category: null,
    /** @type {number | null} */
    hovered: null,
    ellipses: replicates?.ellipses.areShown ?? false,
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

  /** @type {(a: number, b: number) => number} */
  const distance = (a, b) => {
    let sum = 0;
    for (const axis of axes) sum += (axis[a] - axis[b]) ** 2;
    return Math.sqrt(sum);
  };
  /** @param {number} object */
  const neighbours = (object) => {
    /** @type {[number, number][]} */
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
  /** @param {number} object */
  const fitText = (object) => {
    const error = errors[object];
    if (Number.isNaN(error)) return "no answers about it, so its position is arbitrary";
    return `${percent(1 - error)} of its ${Numbers.whole(counts[object])} answers agree`;
  };

  // ---- Uncertainty --------------------------------------------------------------------------------------------------
  const pairs =
    replicates &&
    Object.fromEntries(Object.entries(replicates.pairs).map(([name, values]) => [name, unpacked(values)]));
  const unsettled = new Set(replicates?.unsettled);
  /** The most probable neighbours of each object.
   * @type {Map<number, {other: number, nearest: number, near: number}[]>} */
  const surest = new Map();
  /** @type {Scatter["graph"]} */
  const graph = [];
  if (pairs) {
    const strongest = new Map(); // each pair is drawn once, with the larger of its two probabilities
    pairs.from.forEach((from, at) => {
      const [to, near] = [pairs.to[at], pairs.near[at]];
      const others = surest.get(from) ?? [];
      others.push({ other: to, nearest: pairs.nearest[at], near });
      surest.set(from, others);
      const key = Math.min(from, to) * count + Math.max(from, to);
      if (near >= Uncertain.LEAST && near > (strongest.get(key)?.probability ?? 0))
        strongest.set(key, { from, to, probability: near });
    });
    graph.push(...strongest.values());
  }
  /** The covariance of an object's position along the visible axes; NaN where the page does not contain it.
   * @type {(moments: Float32Array | Int32Array, stored: number, object: number) => number[][]} */
  const momentsOf = (moments, stored, object) => {
    /** @type {(a: number, b: number) => number} */
    const at = (a, b) => {
      const [low, high] = a < b ? [a, b] : [b, a];
      return high < stored ? moments[(object * stored * (stored + 1)) / 2 + (high * (high + 1)) / 2 + low] : NaN;
    };
    if (dims === 1)
      return [
        [at(0, 0), 0],
        [0, 0],
      ];
    const visible = state.axes.slice(0, state.view);
    return visible.map((a) => visible.map((b) => at(a, b)));
  };
  /** @type {(ellipses: ReplicateFindings["ellipses"]) => Omit<Ellipses, "objects">} */
  const unpackedEllipses = ({ axes: stored, moments, radii }) => {
    const values = unpacked(moments);
    return { moments: (object) => momentsOf(values, stored, object), radius: radii[dims === 1 ? 0 : 1] };
  };
  const ellipses = replicates && unpackedEllipses(replicates.ellipses);
  const updateUncertainty = () => {
    scatter.doubtful = unsettled;
    if (!ellipses) return;
    scatter.graph = state.graph ? graph : [];
    const objects = state.ellipses
      ? Array.from({ length: count }, (_, object) => object)
      : Array.from(new Set([state.object, state.hovered].filter((object) => object !== null)));
    scatter.ellipses = { ...ellipses, objects };
  };
  /** @type {(probabilities: {nearest: number, near: number}, most: number) => string} */
  const sureText = ({ nearest, near }, most) =>
    `the nearest in ${percent(nearest)}, among the ${most} nearest in ${percent(near)}`;

  // ---- Colours ------------------------------------------------------------------------------------------------------
  const palette = () => data.colours.map((colour) => (colour === "#000000" && isDark() ? "#f2f2f2" : colour));
  /** @type {(column: Column, code: number) => Element} */
  const categoryMark = (column, code) => {
    const picture = Svg.element("svg", { viewBox: "-1 -1 2 2" });
    const d = Points.outline(categoryShape(code));
    picture.append(Svg.element("path", { d, fill: categoryColour(column, code) }));
    return picture;
  };
  /** @type {(column: Column, code: number) => string} */
  const categoryColour = (column, code) =>
    column.categories?.[code] === "(none)" ? data.grey : palette()[code % data.colours.length];
  /** @param {number} code */
  const categoryShape = (code) => Math.floor(code / data.colours.length) % Points.kinds;
  const ramp = () =>
    isDark()
      ? ["#3b6fb6", "#6f86a5", "#9c9b8f", "#cdbf73", "#fee838"]
      : ["#00224e", "#434e6c", "#7d7c78", "#bcae6c", "#fee838"];
  /** Red, green and blue of a hexadecimal colour.
   * @param {string} colour */
  const parts = (colour) => [1, 3, 5].map((place) => parseInt(colour.slice(place, place + 2), 16));
  /** @returns {Looks} */
  const looks = () => {
    const column = columnOf(state.colour);
    const colours = new Uint8Array(4 * count);
    const shapes = new Uint8Array(count);
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
    const column = columnOf(state.colour);
    const box = byId("legend");
    box.replaceChildren(make("h3", column.name));
    if (!column.categories) {
      const [low, high] = range(column.values);
      const bar = make("div", null, { className: "ramp" });
      bar.style.background = `linear-gradient(to right, ${ramp().join(", ")})`;
      const ends = make("div", null, { className: "ends" });
      const format = ["error", "decided"].includes(state.colour) ? percent : Numbers.short;
      ends.append(make("span", format(low)), make("span", format(high)));
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

  // ---- The map ------------------------------------------------------------------------------------------------------
  const map = byId("map");
  /** @param {string} text */
  const note = (text) => {
    byId("map-note").textContent = text;
    byId("map-note").hidden = !text;
  };
  /** @type {(object: number) => Element[]} */
  const portrait = (object) => {
    if (!(object in data.pictures)) return [];
    const image = make("img", null, { src: data.pictures[object], alt: "" });
    image.style.borderColor = `rgb(${scatter.looks.colours.subarray(4 * object, 4 * object + 3).join(",")})`;
    return [image];
  };
  /** @type {(object: number) => Element[]} */
  const labelLines = (object) =>
    Array.from(columns)
      .filter(([key]) => !["error", "decided"].includes(key))
      .map(([, column]) => {
        const value = column.values[object];
        const text = column.categories
          ? column.categories[value]
          : Number.isNaN(value)
            ? "(none)"
            : Numbers.short(value);
        return make("div", `${column.name}: ${text}`, { className: "faint" });
      });
  /** @type {Callbacks["hovered"]} */
  const showTip = (object, x = 0, y = 0) => {
    const tip = byId("tip");
    if (state.hovered !== object && replicates && !state.ellipses) {
      state.hovered = object;
      updateUncertainty();
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
    tip.style.left = `${Math.max(0, Math.min(x + 14, map.clientWidth - tip.offsetWidth - 4))}px`;
    const isLow = y + 18 + tip.offsetHeight > map.clientHeight;
    tip.style.top = `${isLow ? Math.max(0, y - tip.offsetHeight - 10) : y + 18}px`;
  };
  const scatter = new Scatter(map, {
    colour: theme,
    text: (object) => oneLine(shortName(object), 28),
    hovered: showTip,
    chosen: (object) => (object === null ? unchoose() : choose(object, map)),
  });
  map.scatter = scatter; // for use from the browser's console
  for (const [object, address] of Object.entries(data.pictures)) {
    const image = new Image();
    image.onload = () => {
      clearTimeout(scatter.resting);
      scatter.resting = setTimeout(() => scatter.draw(), 30);
    };
    image.src = address;
    scatter.pictures.set(Number(object), image);
  }

  /** @param {string} name */
  const shortTitle = (name) => name.replace("principal ", "").replace(" of the spread", "");
  // Make the box as high as the map needs at this width, but no higher than one screen; a tall map gets a narrow box.
  const fitBox = () => {
    if (printing) return;
    const below = innerHeight - (map.getBoundingClientRect().top + scrollY) - 16; // space left on the first screen
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
    const drawn = rank ? [axes[0], rank] : state.axes.slice(0, state.view).map((axis) => axes[axis]);
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
        far > 1 ? `${Numbers.whole(far)} objects lie far outside this frame; zoom out to see them.` : "",
        far === 1 ? "1 object lies far outside this frame; zoom out to see it." : "",
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
    updateUncertainty();
    /** @type {(object: number, colour: string) => Scatter["marks"][0]} */
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

  /** After a choice elsewhere on the page, scroll to the map and offer the way back.
   * @param {any} from */
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
  /** Choose an object; `from` is the element that was used to choose it.
   * @type {(object: number, from: any) => void} */
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
      const decided = percent(columnOf("decided").values[object]);
      const warning = unsettled.has(object) ? ", so do not rely on its position" : "";
      byId("object").append(make("p", `${decided} of the triplets about it are decided${warning}.`));
      const probable = make("ul", null, { className: "near" });
      for (const one of surest.get(object) ?? []) {
        const item = make("li");
        item.append(nameButton(one.other), make("span", sureText(one, replicates.near)));
        probable.append(item);
      }
      if (probable.children.length)
        byId("object").append(
          make("h3", `Probable neighbours, from ${replicates.number} maps fitted to resampled answers`),
          probable,
        );
    }
    mark();
    if (from === map) scatter.show([object], false);
    else scatter.show(count > 100 ? [object, ...state.near.map(([, other]) => other)] : [object], count > 100);
    scatter.draw();
    bringIntoView(from);
  };
  /** @type {(violation: Violation, from: Element) => void} */
  const chooseAnswer = ({ objects, near, far, times, people, lines }, from) => {
    Object.assign(state, { object: null, near: [], answer: objects });
    const answer = make("p");
    answer.append(...sentence(objects));
    byId("object").replaceChildren(
      make("h3", "A violated answer"),
      answer,
      make(
        "p",
        `On the map, the first distance (solid line) is ${Numbers.short(near)} ` +
          `and the second (dashed line) ${Numbers.short(far)}.`,
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

  // ---- Controls -----------------------------------------------------------------------------------------------------
  for (const [key, column] of columns) byId("colour").append(make("option", column.name, { value: key }));
  byId("colour").value = state.colour;
  byId("colour").addEventListener("change", () => {
    state.colour = byId("colour").value;
    state.category = null;
    colourMap();
  });
  byId("view-choice").hidden = dims < 3;
  byId("view").addEventListener("change", () => {
    state.view = byId("view").value === "3" ? 3 : 2;
    drawAxisChoices();
    placeMap();
  });
  const drawAxisChoices = () => {
    const box = byId("axis-choices");
    box.replaceChildren();
    if (dims < 3) return;
    ["x", "y", "z"].slice(0, state.view).forEach((letter, place) => {
      const label = make("label", `${letter} `);
      const select = make("select", null, { id: `axis-${letter}` });
      select.append(...data.axisNames.map((name, at) => make("option", shortTitle(name), { value: at })));
      select.value = state.axes[place];
      select.addEventListener("change", () => {
        const chosen = Number(select.value);
        const other = state.axes.indexOf(chosen);
        if (other >= 0) state.axes[other] = state.axes[place]; // swap: the same axis twice would draw a line
        state.axes[place] = chosen;
        drawAxisChoices();
        placeMap();
        byId(`axis-${letter}`).focus();
      });
      label.append(select);
      box.append(label, " ");
    });
  };
  for (const name of /** @type {const} */ (["ellipses", "graph"])) {
    byId(`${name}-choice`).hidden = !(name === "graph" ? graph.length : replicates);
    byId(name).checked = state[name];
    byId(name).addEventListener("change", () => {
      state[name] = byId(name).checked;
      updateUncertainty();
      scatter.draw();
    });
  }
  byId("whole").addEventListener("click", () => scatter.home());
  byId("zoom-in").addEventListener("click", () => scatter.zoom(1.5));
  byId("zoom-out").addEventListener("click", () => scatter.zoom(1 / 1.5));
  byId("save").addEventListener("click", () =>
    make("a", null, { href: scatter.picture().toDataURL("image/png"), download: "map.png" }).click(),
  );

  const search = byId("search");
  const matches = byId("found");
  /** Names in lower case.
   * @type {string[] | null} */
  let folded = null;
  const listMatches = () => {
    folded ??= Array.from({ length: count }, (_, object) => nameOf(object).toLowerCase());
    const query = search.value.trim().toLowerCase();
    matches.replaceChildren();
    matches.hidden = !query;
    search.setAttribute("aria-expanded", String(Boolean(query)));
    if (!query) return [];
    const hits = [];
    for (let object = 0; object < count; object += 1) {
      const at = folded[object].indexOf(query);
      if (at >= 0) hits.push([folded[object] === query ? -1 : at, object]);
    }
    hits.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    for (const [, object] of hits.slice(0, 12)) {
      const button = make("button", oneLine(nameOf(object), 80), { type: "button" });
      button.addEventListener("click", () => acceptMatch(object, nameOf(object)));
      const item = make("li");
      item.append(button);
      matches.append(item);
    }
    const more = hits.length - 12;
    if (!hits.length || more > 0)
      matches.append(
        make("li", hits.length ? `and ${Numbers.whole(more)} more` : "no object has a name like this", {
          className: "faint",
        }),
      );
    return hits.map(([, object]) => object);
  };
  const closeSearch = () => {
    matches.hidden = true;
    search.setAttribute("aria-expanded", "false");
  };
  /** @type {(object: number, name?: string) => void} */
  const acceptMatch = (object, name) => {
    closeSearch();
    if (name !== undefined) search.value = name;
    if (innerWidth < NARROW) search.blur(); // a phone's keyboard would cover the map
    choose(object, search);
  };
  search.addEventListener("input", listMatches);
  search.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    if (event.key === "Enter") {
      const hits = listMatches();
      if (hits.length) acceptMatch(hits[0]);
    }
    if (event.key === "Escape") closeSearch();
    if (event.key === "ArrowDown" && matches.querySelector("button")) {
      event.preventDefault();
      matches.querySelector("button").focus();
    }
  });
  matches.addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
    const buttons = Array.from(matches.querySelectorAll("button"));
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
  for (const type of ["click", "focusin"])
    document.addEventListener(type, (event) => {
      if (!(event.target instanceof Element && event.target.closest(".search"))) closeSearch();
    });

  // ---- Facts, answers, curves and code ------------------------------------------------------------------------------
  /** @param {string} text */
  const withUnits = (text) => text.replace(/(\d) %/g, "$1\u00a0%"); // no line break between a number and its unit
  for (const { name, value, note: remark } of data.facts) {
    const cell = make("dd", withUnits(value));
    if (remark) cell.append(make("small", withUnits(remark)));
    byId("facts").append(make("dt", name), cell);
  }

  /** @type {(objects: number[]) => (Element | string)[]} */
  const sentence = (objects) => {
    const [a, b, c, d] = objects.map(nameButton);
    return objects.length === 3
      ? [a, " is closer to ", b, " than to ", c]
      : [a, " and ", b, " are closer than ", c, " and ", d];
  };
  const hasPeople = data.violations.some(({ people }) => people);
  const hasLines = data.violations.some(({ lines }) => lines);
  byId("who").hidden = !hasPeople;
  byId("line").hidden = !hasLines;
  /** @param {Violation} violation */
  const answerRow = (violation) => {
    const { objects, near, far, times, people, lines } = violation;
    const cell = make("td");
    cell.append(...sentence(objects));
    const row = make("tr");
    row.append(cell);
    /** @type {(label: string, text: string, className: string) => void} */
    const add = (label, text, className) => {
      const part = make("td", text, { className });
      part.dataset.label = label;
      row.append(part);
    };
    if (hasPeople) add("Participant", people, "people");
    if (hasLines) add("Line", lines, "number");
    add("Should be smaller", Numbers.short(near), "number");
    add("Should be larger", Numbers.short(far), "number");
    add("Times", Numbers.whole(times), "number");
    const show = make("button", "Show", { type: "button" });
    show.setAttribute("aria-label", "Show this answer on the map");
    show.addEventListener("click", () => chooseAnswer(violation, show));
    const last = make("td");
    last.append(show);
    row.append(last);
    return row;
  };
  /** @param {number} most */
  const showAnswers = (most) => {
    byId("violated").tBodies[0].replaceChildren(...data.violations.slice(0, most).map(answerRow));
    byId("more").hidden = most >= data.violations.length;
    byId("more").textContent = `Show all ${data.violations.length}`;
  };
  byId("race-section").hidden = !data.race.length;
  byId("race").tBodies[0].replaceChildren(
    ...data.race.map((candidate) => {
      const row = make("tr");
      const behind = percent(candidate.held_out_error - data.race[0].held_out_error);
      const plusMinus = candidate.standard_error === null ? "" : ` ± ${percent(candidate.standard_error)}`;
      row.append(make("td", candidate.loss));
      for (const text of [
        String(candidate.penalty),
        percent(candidate.held_out_error),
        candidate === data.race[0] ? "" : behind + plusMinus,
        candidate.train_error === null ? "" : percent(candidate.train_error),
        String(candidate.rounds),
      ])
        row.append(make("td", text, { className: "number" }));
      return row;
    }),
  );
  byId("violated-note").textContent = data.violated
    ? `${Numbers.whole(data.violated)} comparisons contradict the map: the distance that they call smaller is the ` +
      "larger one there. These contradict it most."
    : "No answer contradicts the map.";
  byId("violated").hidden = !data.violated;
  byId("more").addEventListener("click", () => showAnswers(Infinity));
  showAnswers(15);

  const drawCurves = () => {
    const { history } = data;
    /** @type {Clock} */
    const key = byId("against").value;
    const inks = palette();
    /** @type {(id: string, options: Omit<Chart, "x" | "xTitle" | "chosen" | "colour" | "size">) => void} */
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
    const hasSteps = steps.some((value) => value !== null);
    const crosses = history.step.map((value) => value !== null && value < 0);
    const title = !hasSteps
      ? "Step size (the solver reports none)"
      : crosses.some(Boolean)
        ? "Step size (crosses: absolute value of negative steps)"
        : "Step size";
    draw("steps", {
      title,
      isLog: hasSteps,
      lines: hasSteps ? [{ name: "step size", values: steps, colour: inks[0], dash: "", crosses }] : [],
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
        inkOf: (object) => categoryColour(columnOf("column0"), columnOf("column0").values[object]),
        markOf: (object) => categoryMark(columnOf("column0"), columnOf("column0").values[object]),
      })
    : () => {};
  byId("believe").hidden = !data.believe;
  /** The colour at a fraction of the colour scale.
   * @param {number} fraction */
  const blended = (fraction) => {
    const stops = ramp().map(parts);
    const at = fraction * (stops.length - 1);
    const before = Math.min(Math.floor(at), stops.length - 2);
    const [low, high] = [stops[before], stops[before + 1]];
    return `rgb(${low.map((part, index) => Math.round(part + (at - before) * (high[index] - part))).join(",")})`;
  };
  const drawFindings = data.believe
    ? Believe.build(
        byId("believe"),
        { ...data.believe, hasPairs: graph.length > 0 },
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
  /** @type {[string, string | null, string | null][]} */
  const codes = [
    ["repeat", "On the command line", data.command],
    ["repeat", "In Python", data.python],
    ["methods", null, data.methods],
  ];
  for (const [section, title, code] of codes) {
    if (!code) continue;
    const box = make("div", null, { className: "code" });
    const copy = make("button", "Copy", { type: "button" });
    copy.addEventListener("click", () => {
      const selected = document.createRange();
      selected.selectNodeContents(box.querySelector("pre"));
      getSelection()?.removeAllRanges();
      getSelection()?.addRange(selected);
      copy.textContent = document.execCommand("copy") ? "Copied" : "Selected";
    });
    box.append(make("pre", code), copy);
    byId(section).append(...(title ? [make("h3", title)] : []), box);
  }
  if (!byId("repeat").children.length)
    byId("repeat").append(make("p", "The result does not contain its settings.", { className: "faint" }));

  // ---- Start --------------------------------------------------------------------------------------------------------
  const redraw = () => {
    colourMap();
    drawCurves();
    drawGroups();
    drawFindings();
  };
  /** @param {boolean} isPrinting */
  const setPrinting = (isPrinting) => {
    if (printing === isPrinting) return;
    printing = isPrinting;
    const sheet = isPrinting
      ? {
          width: PAPER.width,
          height: Math.round(Math.min(Math.max(scatter.fittingHeight(PAPER.width), PAPER.least), PAPER.most)),
        }
      : null;
    scatter.sheet = sheet;
    scatter.refit();
    redraw();
    map.querySelector(".printed")?.remove();
    if (!sheet) return;
    // Browsers may omit the lower ones of stacked canvases in print, so all layers are printed as one canvas.
    const printed = Object.assign(scatter.picture(), { className: "printed" });
    [printed.style.width, printed.style.height] = [`${sheet.width}px`, `${sheet.height}px`];
    map.append(printed);
    map.style.setProperty("--printed-height", `${sheet.height}px`);
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  matchMedia("print").addEventListener("change", (event) => setPrinting(event.matches));
  addEventListener("beforeprint", () => setPrinting(true));
  addEventListener("afterprint", () => setPrinting(false));
  let width = innerWidth;
  addEventListener("resize", () => {
    if (printing || innerWidth === width) return; // a phone's address bar often changes the height
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
