"use strict";
(() => {
  // Names are data. They reach the page as text nodes only; where the plotting library takes text with tags, as entities.
  const data = JSON.parse(document.getElementById("data").textContent);
  const count = data.names.length;
  const dims = data.axes.length;
  const MANY = 800;            // from here on points are drawn by WebGL, if there is any
  const MOST_LABELS = 120;
  const NEIGHBOURS = 10;
  const FAR = 8;               // see map_figure: farther out than this, an object would squeeze all others into a dot
  const SYMBOLS = ["circle", "square", "triangle-up", "diamond", "triangle-down"];
  const SYMBOLS_3D = ["circle", "square", "cross", "diamond", "x"];
  const PAPER = {width: 680, height: 560}; // a printed map: the width of a page is not known before it is printed
  const MARGIN = {l: 46, r: 12, t: 12, b: 40};
  const hasWebGL = (() => {
    try { return Boolean(document.createElement("canvas").getContext("webgl")); } catch { return false; }
  })();

  let printing = false;
  const byId = (id) => document.getElementById(id);
  const make = (tag, text, options = {}) => {
    const element = Object.assign(document.createElement(tag), options);
    if (text !== undefined && text !== null) element.textContent = text;
    return element;
  };
  const short = (text, longest) => {
    const line = text.replace(/\s+/g, " ").trim();
    const letters = Array.from(line);
    return letters.length <= longest ? line : letters.slice(0, longest - 1).join("") + "…";
  };
  const literal = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const percent = (share) => (100 * share).toFixed(1) + " %";
  const number = (value) => value.toLocaleString("en", {maximumSignificantDigits: 4});
  const INK_ON_PAPER = {paper: "#ffffff", ink: "#000000", faint: "#444444", line: "#bbbbbb", panel: "#ffffff", accent: "#0067a3", warn: "#a34700"};
  const theme = (name) => printing ? INK_ON_PAPER[name] : getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
  const isDark = () => {
    if (printing) return false;
    const paper = theme("paper");
    return parseInt(paper.slice(1, 3), 16) < 128;
  };
  const nameButton = (object) => {
    const button = make("button", short(data.names[object], 60) || "(no name)", {type: "button", className: "name", title: data.names[object]});
    button.addEventListener("click", () => choose(object, true));
    return button;
  };

  // ---- what is shown ---------------------------------------------------------------------------------------------------
  const state = {view: 2, axes: [0, Math.min(1, dims - 1), Math.min(2, dims - 1)], colour: "error", object: null, near: [], category: null};
  const columns = new Map([["error", {name: "error of its answers", values: data.errors, categories: null}]]);
  data.columns.forEach((column, at) => columns.set("column" + at, column));
  if (data.columns.length) state.colour = "column0";

  const rank = (() => {
    if (dims > 1) return null;
    const order = Array.from(data.axes[0].keys()).sort((a, b) => data.axes[0][a] - data.axes[0][b]);
    const ranks = new Array(count);
    order.forEach((object, at) => { ranks[object] = at + 1; });
    return ranks;
  })();
  const along = (place) => (dims === 1 && place === 1 ? rank : data.axes[state.axes[place]]);
  const axisName = (place) => (dims === 1 && place === 1 ? "rank" : dims === 2 ? "" : data.axisNames[state.axes[place]]);

  const distance = (a, b) => {
    let sum = 0;
    for (const axis of data.axes) sum += (axis[a] - axis[b]) ** 2;
    return Math.sqrt(sum);
  };
  const neighbours = (object) => {
    const others = [];
    for (let other = 0; other < count; other += 1) if (other !== object) others.push([distance(object, other), other]);
    others.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    return others.slice(0, NEIGHBOURS);
  };
  const fitText = (object) => {
    const error = data.errors[object];
    if (error === null) return "no answers about it: its place means nothing";
    return `${percent(1 - error)} of its ${data.counts[object].toLocaleString("en")} answers agree`;
  };

  // ---- colours -----------------------------------------------------------------------------------------------------------
  const palette = () => data.colours.map((colour) => (colour === "#000000" && isDark() ? "#f2f2f2" : colour));
  const categoryColour = (column, code) => (column.categories[code] === "(none)" ? data.grey : palette()[code % palette().length]);
  const categoryShape = (code) => Math.floor(code / data.colours.length) % SYMBOLS.length;
  const RAMP = [[0, "#00224e"], [0.25, "#434e6c"], [0.5, "#7d7c78"], [0.75, "#bcae6c"], [1, "#fee838"]];
  const ramp = () => (isDark() ? [[0, "#3b6fb6"], [0.25, "#6f86a5"], [0.5, "#9c9b8f"], [0.75, "#cdbf73"], [1, "#fee838"]] : RAMP);
  const range = (values) => {
    let low = Infinity, high = -Infinity;
    for (const value of values) if (value !== null) { if (value < low) low = value; if (value > high) high = value; }
    return low > high ? [0, 1] : [low, high];
  };
  const markers = (threeD) => {
    const column = columns.get(state.colour);
    const size = threeD ? (count > 2000 ? 3 : 5) : count > 5000 ? 4 : count > MANY ? 5 : 9;
    const marker = {size, line: {width: count > MANY ? 0 : 0.6, color: theme("paper")}};
    if (column.categories) {
      marker.color = column.values.map((code) => categoryColour(column, code));
      marker.symbol = column.values.map((code) => (threeD ? SYMBOLS_3D : SYMBOLS)[categoryShape(code)]);
      if (state.category !== null && !threeD) marker.opacity = column.values.map((code) => (code === state.category ? 1 : 0.08));
      if (state.category !== null && threeD) marker.color = column.values.map((code) => (code === state.category ? categoryColour(column, code) : theme("line")));
    } else {
      const [low, high] = range(column.values);
      const stops = ramp().map(([at, colour]) => [at, [1, 3, 5].map((place) => parseInt(colour.slice(place, place + 2), 16))]);
      // Mixed here rather than by the library, so that an object without a number can be grey.
      marker.color = column.values.map((value) => {
        if (value === null) return data.grey;
        const at = high > low ? (value - low) / (high - low) : 0.5;
        const next = Math.max(1, stops.findIndex(([stop]) => stop >= at));
        const share = (at - stops[next - 1][0]) / (stops[next][0] - stops[next - 1][0]);
        return `rgb(${stops[next][1].map((top, part) => Math.round(stops[next - 1][1][part] + share * (top - stops[next - 1][1][part]))).join(",")})`;
      });
    }
    return marker;
  };
  const drawLegend = () => {
    const column = columns.get(state.colour);
    const box = byId("legend");
    box.replaceChildren(make("h3", column.name));
    if (!column.categories) {
      const [low, high] = range(column.values);
      const bar = make("div", null, {className: "ramp"});
      bar.style.background = `linear-gradient(to right, ${ramp().map(([, colour]) => colour).join(", ")})`;
      const ends = make("div", null, {className: "ends"});
      const shown = state.colour === "error" ? percent : number;
      ends.append(make("span", shown(low)), make("span", shown(high)));
      box.append(bar, ends);
      if (column.values.includes(null)) box.append(make("p", "grey: no value", {className: "faint"}));
      return;
    }
    const list = make("ul");
    column.categories.forEach((category, code) => {
      const button = make("button", null, {type: "button"});
      button.setAttribute("aria-pressed", String(state.category === code));
      const picture = document.createElementNS("http://www.w3.org/2000/svg", "svg");
      picture.setAttribute("viewBox", "-1 -1 2 2");
      const shape = document.createElementNS("http://www.w3.org/2000/svg", "path");
      shape.setAttribute("d", ["M1 0A1 1 0 1 1-1 0A1 1 0 1 1 1 0", "M-.85-.85H.85V.85H-.85Z", "M0-1L1 .8H-1Z", "M0-1L1 0L0 1L-1 0Z", "M0 1L1-.8H-1Z"][categoryShape(code)]);
      shape.setAttribute("fill", categoryColour(column, code));
      picture.append(shape);
      const total = column.values.reduce((sum, value) => sum + (value === code), 0);
      button.append(picture, make("span", `${short(category, 60)} (${total.toLocaleString("en")})`));
      button.addEventListener("click", () => { state.category = state.category === code ? null : code; drawMap(true); });
      const item = make("li");
      item.append(button);
      list.append(item);
    });
    box.append(list);
  };

  // ---- the map -----------------------------------------------------------------------------------------------------------
  const map = byId("map");
  const axis = (title) => ({title: {text: title, font: {size: 12}}, gridcolor: theme("line"), zeroline: false, linecolor: theme("line"), tickfont: {size: 11}, color: theme("faint")});
  const common = () => ({paper_bgcolor: theme("paper"), plot_bgcolor: theme("paper"), font: {color: theme("ink"), family: "system-ui, sans-serif"}, showlegend: false, hovermode: "closest"});
  // Buttons are named one by one: the library's own set has one that uploads the data.
  const BUTTONS = {2: [["toImage"], ["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d"]], 3: [["toImage"], ["zoom3d", "pan3d", "orbitRotation"], ["resetCameraDefault3d"]]};
  const settings = () => ({responsive: true, displaylogo: false, scrollZoom: true, modeBarButtons: BUTTONS[state.view]});
  let frame = null;            // ranges of x and y now
  const sheet = () => (printing ? PAPER : {width: map.clientWidth, height: map.clientHeight});
  const room = () => ({width: Math.max(sheet().width - MARGIN.l - MARGIN.r, 50), height: Math.max(sheet().height - MARGIN.t - MARGIN.b, 50)});
  const extent = () => (printing ? PAPER : {autosize: true});
  let labelled = [];

  const wholeFrame = () => {
    const [x, y] = [along(0), along(1)];
    const median = (values) => { const sorted = Float64Array.from(values).sort(); return sorted[Math.floor(sorted.length / 2)]; };
    const [middleX, middleY] = [median(x), median(y)];
    const radius = x.map((value, at) => Math.hypot(value - middleX, y[at] - middleY));
    const usual = Float64Array.from(radius).sort()[Math.floor(0.9 * (count - 1))];
    const within = dims > 1 && usual > 0 ? radius.map((value) => value <= FAR * usual) : radius.map(() => true);
    const [left, right] = range(x.map((value, at) => (within[at] ? value : null)));
    const [low, high] = range(y.map((value, at) => (within[at] ? value : null)));
    const padX = (right - left || high - low || 1) * 0.07, padY = (high - low || right - left || 1) * 0.07;
    const outside = within.reduce((sum, value) => sum + !value, 0);
    return {x: [left - padX, right + padX], y: [low - padY, high + padY], outside};
  };
  // The same scale on both axes: widen the one that has room.
  const square = ({x, y}) => {
    if (dims === 1) return {x, y};
    const {width, height} = room();
    const scale = Math.max((x[1] - x[0]) / width, (y[1] - y[0]) / height);
    const widened = ([low, high], length) => [(low + high) / 2 - scale * length / 2, (low + high) / 2 + scale * length / 2];
    return {x: widened(x, width), y: widened(y, height)};
  };
  const highlighted = () => (state.object === null ? [] : [state.object, ...state.near.map(([, other]) => other)]);

  // Labels: the chosen object and its neighbours first, then whoever is in sight, as long as there is room.
  const pen = document.createElement("canvas").getContext("2d");
  const labels = () => {
    const [x, y] = [along(0), along(1)];
    const {width, height} = room();
    const toX = (value) => (value - frame.x[0]) / (frame.x[1] - frame.x[0]) * width;
    const toY = (value) => height - (value - frame.y[0]) / (frame.y[1] - frame.y[0]) * height;
    const points = [];
    for (let object = 0; object < count; object += 1) {
      const [left, top] = [toX(x[object]), toY(y[object])];
      if (left >= 0 && left <= width && top >= 0 && top <= height) points.push([object, left, top]);
    }
    const cell = 24;
    const grid = new Map();
    const cells = (left, top, right, bottom) => {
      const found = [];
      for (let column = Math.floor(left / cell); column <= Math.floor(right / cell); column += 1)
        for (let line = Math.floor(top / cell); line <= Math.floor(bottom / cell); line += 1) found.push(column * 100000 + line);
      return found;
    };
    const put = (kind, box) => { for (const key of cells(...box)) { if (!grid.has(key)) grid.set(key, {points: [], boxes: []}); grid.get(key)[kind].push(box); } };
    for (const [, left, top] of points) put("points", [left, top, left, top]);
    const free = (box, hidden) => {
      let hides = 0;
      const inside = (other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1];
      for (const key of cells(...box)) {
        const here = grid.get(key);
        if (!here) continue;
        if (here.boxes.some(inside)) return false;
        hides += here.points.filter((other) => inside([other[0] - 1, other[1] - 1, other[2] + 1, other[3] + 1])).length;
        if (hides > hidden) return false;
      }
      return true;
    };
    pen.font = "12px system-ui, sans-serif";
    const first = new Set(highlighted());
    const queue = [...points.filter(([object]) => object === state.object), ...points.filter(([object]) => first.has(object) && object !== state.object), ...(points.length <= 3000 ? points.filter(([object]) => !first.has(object)) : [])];
    const placed = [];
    for (const [object, left, top] of queue) {
      if (placed.length >= MOST_LABELS) break;
      const text = short(data.names[object], 28);
      if (!text) continue;
      const wide = pen.measureText(text).width + 4;
      const gap = first.has(object) ? 10 : 6;
      const places = [
        ["middle right", [left + gap, top - 8, left + gap + 4 + wide, top + 8]],
        ["middle left", [left - gap - 4 - wide, top - 8, left - gap, top + 8]],
        ["top center", [left - wide / 2, top - gap - 17, left + wide / 2, top - gap]],
        ["bottom center", [left - wide / 2, top + gap, left + wide / 2, top + gap + 17]],
      ];
      for (const hidden of first.has(object) ? [0, 1, 99] : [0]) {
        const place = places.find(([, box]) => box[0] >= 0 && box[2] <= width && box[1] >= 0 && box[3] <= height && free(box, hidden));
        if (place) { put("boxes", place[1]); placed.push([object, place[0], text]); break; }
      }
    }
    return placed;
  };
  const labelTrace = (placed) => ({
    // Invisible markers keep the text clear of the points.
    type: "scatter", mode: "markers+text", marker: {opacity: 0, size: placed.map(([object]) => (highlighted().includes(object) ? 18 : 10))}, hoverinfo: "skip",
    x: placed.map(([object]) => along(0)[object]), y: placed.map(([object]) => along(1)[object]),
    text: placed.map(([, , text]) => literal(text)), textposition: placed.map(([, place]) => place),
    textfont: {size: 12, color: theme("ink")},
  });
  const glow = (threeD) => {
    const objects = highlighted();
    const at = (place) => objects.map((object) => along(place)[object]);
    const trace = {
      type: threeD ? "scatter3d" : "scatter", mode: "markers", hoverinfo: "skip", x: at(0), y: at(1),
      marker: {symbol: "circle-open", size: objects.map((_, place) => (threeD ? (place ? 9 : 14) : place ? 15 : 22)), line: {width: threeD ? 3 : 2, color: objects.map((_, place) => theme(place ? "accent" : "warn"))}, color: objects.map((_, place) => theme(place ? "accent" : "warn"))},
    };
    if (threeD) trace.z = at(2);
    return trace;
  };

  const note = (text) => { byId("map-note").textContent = text; byId("map-note").hidden = !text; };
  const drawMap = (keep) => {
    drawLegend();
    const threeD = state.view === 3;
    const base = {mode: "markers", x: along(0), y: along(1), marker: markers(threeD), hoverinfo: "none"};
    if (threeD) {
      labelled = count <= 40 ? Array.from(data.names.keys()) : highlighted();
      const scene = {aspectmode: "data", bgcolor: theme("paper")};
      const side = (place) => ({...axis(axisName(place)), backgroundcolor: theme("paper"), showspikes: false});
      Object.assign(scene, {xaxis: side(0), yaxis: side(1), zaxis: side(2)});
      scene.annotations = labelled.map((object) => ({
        x: along(0)[object], y: along(1)[object], z: along(2)[object], text: literal(short(data.names[object], 28)), showarrow: false,
        xanchor: "left", xshift: 8, font: {size: 11, color: theme("ink")},
      }));
      scene.camera = keep && map.layout?.scene?.camera || {eye: {x: 1.45, y: 1.45, z: 1.1}};
      note("");
      return Plotly.react(map, [{...base, type: "scatter3d", z: along(2)}, glow(true)], {...common(), ...extent(), margin: {l: 0, r: 0, t: 0, b: 0}, scene, uirevision: state.axes.join(" ")}, settings()).then(listen);
    }
    if (!keep || !frame) {
      const whole = wholeFrame();
      frame = square(whole);
      note(whole.outside ? `${whole.outside.toLocaleString("en")} object${whole.outside > 1 ? "s lie" : " lies"} far outside this frame; zoom out to see ${whole.outside > 1 ? "them" : "it"}.` : "");
    }
    const placed = labels();
    labelled = placed.map(([object]) => object);
    const layout = {...common(), ...extent(), margin: MARGIN, dragmode: "pan", xaxis: {...axis(axisName(0)), range: frame.x}, yaxis: {...axis(axisName(1)), range: frame.y}};
    if (dims > 1) Object.assign(layout.yaxis, {scaleanchor: "x", scaleratio: 1});
    return Plotly.react(map, [{...base, type: count > MANY && hasWebGL ? "scattergl" : "scatter"}, glow(false), labelTrace(placed)], layout, settings()).then(listen);
  };

  let listening = false, waiting = 0;
  const listen = () => {
    map.dataset.ready = "yes";
    map.dataset.labelled = labelled.length;
    if (listening) return;
    listening = true;
    map.on("plotly_hover", (event) => { const point = event.points.find((found) => found.curveNumber === 0); if (point) showTip(point.pointNumber, event.event); });
    map.on("plotly_unhover", () => { byId("tip").hidden = true; });
    map.on("plotly_click", (event) => { const point = event.points.find((found) => found.curveNumber === 0); if (point) choose(point.pointNumber, false); });
    map.on("plotly_relayout", (change) => {
      if (state.view === 3 || !Object.keys(change).some((key) => /^[xy]axis|autosize|width|height/.test(key))) return;
      frame = {x: map.layout.xaxis.range.slice(), y: map.layout.yaxis.range.slice()};
      byId("tip").hidden = true;
      clearTimeout(waiting);
      waiting = setTimeout(relabel, 60);
    });
  };
  const relabel = () => {
    if (state.view === 3) return;
    const placed = labels();
    labelled = placed.map(([object]) => object);
    map.dataset.labelled = labelled.length;
    const trace = labelTrace(placed);
    Plotly.restyle(map, {"marker.size": [trace.marker.size], x: [trace.x], y: [trace.y], text: [trace.text], textposition: [trace.textposition]}, [2]);
  };
  const portrait = (object) => {
    if (!(object in data.pictures)) return [];
    return [make("img", null, {src: data.pictures[object], alt: ""})];
  };
  const labelLines = (object) => data.columns.map((column) => {
    const value = column.values[object];
    const shown = column.categories ? column.categories[value] : value === null ? "(none)" : number(value);
    return make("div", `${column.name}: ${shown}`, {className: "faint"});
  });
  const showTip = (object, event) => {
    const tip = byId("tip");
    tip.replaceChildren(make("strong", short(data.names[object], 120) || "(no name)"), ...portrait(object), make("div", fitText(object)), ...labelLines(object));
    tip.hidden = false;
    const area = map.getBoundingClientRect();
    const [x, y] = event && "clientX" in event ? [event.clientX - area.left, event.clientY - area.top] : [20, 20];
    tip.style.left = Math.max(0, Math.min(x + 14, area.width - tip.offsetWidth - 4)) + "px";
    tip.style.top = (y + 18 + tip.offsetHeight > area.height ? Math.max(0, y - tip.offsetHeight - 10) : y + 18) + "px";
  };

  const choose = (object, travel) => {
    state.object = object;
    state.near = neighbours(object);
    const box = byId("object");
    const list = make("ol", null, {className: "near"});
    for (const [far, other] of state.near) {
      const item = make("li");
      item.append(nameButton(other), make("span", number(far)));
      list.append(item);
    }
    box.replaceChildren(make("h3", data.names[object] || "(no name)"), ...portrait(object), make("p", fitText(object)), ...labelLines(object));
    if (state.near.length) box.append(make("h3", "Nearest on the map"), list, make("p", "with their distances, in all dimensions of the map", {className: "faint"}));
    if (travel && state.view === 2 && frame) {
      const [x, y] = [along(0), along(1)];
      const inside = x[object] > frame.x[0] && x[object] < frame.x[1] && y[object] > frame.y[0] && y[object] < frame.y[1];
      if (count > 100) {
        const reach = 1.6 * Math.max(...state.near.map(([, other]) => Math.hypot(x[other] - x[object], y[other] - y[object]))) || 1;
        frame = square({x: [x[object] - reach, x[object] + reach], y: [y[object] - reach, y[object] + reach]});
      } else if (!inside) {
        const [halfX, halfY] = [(frame.x[1] - frame.x[0]) / 2, (frame.y[1] - frame.y[0]) / 2];
        frame = {x: [x[object] - halfX, x[object] + halfX], y: [y[object] - halfY, y[object] + halfY]};
      }
    }
    return drawMap(true);
  };

  // ---- tools ---------------------------------------------------------------------------------------------------------------
  for (const [key, column] of columns) byId("colour").append(make("option", column.name, {value: key}));
  byId("colour").value = state.colour;
  byId("colour").addEventListener("change", (event) => { state.colour = event.target.value; state.category = null; drawMap(true); });
  byId("view-choice").hidden = dims < 3 || !hasWebGL;
  byId("view").addEventListener("change", (event) => {
    state.view = Number(event.target.value);
    Plotly.purge(map);
    listening = false;
    drawAxisChoices();
    drawMap(false);
  });
  const drawAxisChoices = () => {
    const box = byId("axis-choices");
    box.replaceChildren();
    if (dims < 3) return;
    ["x", "y", "z"].slice(0, state.view).forEach((letter, place) => {
      const label = make("label", letter + " ");
      const select = make("select", null, {id: "axis-" + letter});
      data.axisNames.forEach((name, at) => select.append(make("option", name, {value: at})));
      select.value = state.axes[place];
      select.addEventListener("change", () => {
        const chosen = Number(select.value);
        const other = state.axes.indexOf(chosen);
        if (other >= 0) state.axes[other] = state.axes[place]; // the same axis twice would draw a line: they change places
        state.axes[place] = chosen;
        drawAxisChoices();
        drawMap(false);
      });
      label.append(select);
      box.append(label, " ");
    });
  };
  byId("whole").addEventListener("click", () => drawMap(false));

  const search = byId("search"), found = byId("found");
  const folded = data.names.map((name) => name.toLowerCase());
  const look = () => {
    const wanted = search.value.trim().toLowerCase();
    found.replaceChildren();
    found.hidden = !wanted;
    if (!wanted) return [];
    const hits = [];
    for (let object = 0; object < count; object += 1) {
      const at = folded[object].indexOf(wanted);
      if (at >= 0) hits.push([folded[object] === wanted ? -1 : at, object]);
    }
    hits.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
    for (const [, object] of hits.slice(0, 12)) {
      const button = make("button", short(data.names[object], 80), {type: "button"});
      button.addEventListener("click", () => { found.hidden = true; search.value = data.names[object]; choose(object, true); });
      const item = make("li");
      item.append(button);
      found.append(item);
    }
    const more = hits.length - 12;
    if (!hits.length || more > 0) found.append(make("li", hits.length ? `and ${more.toLocaleString("en")} more` : "no object has such a name", {className: "faint"}));
    return hits.map(([, object]) => object);
  };
  search.addEventListener("input", look);
  search.addEventListener("keydown", (event) => {
    if (event.key === "Enter") { const hits = look(); if (hits.length) { found.hidden = true; choose(hits[0], true); } }
    if (event.key === "Escape") found.hidden = true;
    if (event.key === "ArrowDown" && found.querySelector("button")) { event.preventDefault(); found.querySelector("button").focus(); }
  });
  found.addEventListener("keydown", (event) => {
    const buttons = Array.from(found.querySelectorAll("button"));
    const at = buttons.indexOf(document.activeElement);
    if (event.key === "ArrowDown" || event.key === "ArrowUp") { event.preventDefault(); (buttons[at + (event.key === "ArrowDown" ? 1 : -1)] || search).focus(); }
    if (event.key === "Escape") { found.hidden = true; search.focus(); }
  });
  document.addEventListener("click", (event) => { if (!event.target.closest(".search")) found.hidden = true; });

  // ---- facts, answers, curves, code ----------------------------------------------------------------------------------------
  for (const {name, value, note: remark} of data.facts) {
    const cell = make("dd", value);
    if (remark) cell.append(make("small", remark));
    byId("facts").append(make("dt", name), cell);
  }

  const answerRow = ({objects, near, far, times}) => {
    const cell = make("td");
    const [a, b, c, d] = objects.map(nameButton);
    if (objects.length === 3) cell.append(a, " is closer to ", b, " than to ", c);
    else cell.append(a, " and ", b, " are closer than ", c, " and ", d);
    const line = make("tr");
    line.append(cell, make("td", number(near), {className: "number"}), make("td", number(far), {className: "number"}), make("td", times.toLocaleString("en"), {className: "number"}));
    return line;
  };
  const showAnswers = (most) => {
    byId("violated").tBodies[0].replaceChildren(...data.violations.slice(0, most).map(answerRow));
    byId("more").hidden = most >= data.violations.length;
    byId("more").textContent = `Show all ${data.violations.length}`;
  };
  byId("race-section").hidden = !data.race.length;
  byId("race").tBodies[0].replaceChildren(...data.race.map((candidate) => {
    const row = make("tr");
    const behind = candidate.held_out_error - data.race[0].held_out_error;
    row.append(make("td", candidate.loss));
    for (const text of [
      percent(candidate.held_out_error),
      candidate === data.race[0] ? "" : percent(behind),
      candidate.train_error === null ? "" : percent(candidate.train_error),
      String(candidate.rounds),
    ]) row.append(make("td", text, {className: "number"}));
    return row;
  }));
  byId("violated-note").textContent = data.violated
    ? `${data.violated.toLocaleString("en")} answers contradict the map. These contradict it most: on the map, the distance that they say is smaller is the larger one.`
    : "No answer contradicts the map.";
  byId("violated").hidden = !data.violated;
  byId("more").addEventListener("click", () => showAnswers(Infinity));
  showAnswers(15);

  const drawCurves = () => {
    const key = byId("against").value;
    const work = data.history[key];
    const title = {gradients: "component gradients", seconds: "seconds in the solver", epoch: "epoch"}[key];
    const mode = work.length <= 60 ? "lines+markers" : "lines";
    const palette0 = palette();
    const line = (values, name, at, dash) => ({type: "scatter", mode, x: work, y: values, name, line: {color: palette0[at], dash, width: 1.6}, marker: {size: 4}});
    const frameOf = (text, y) => ({...common(), title: {text, font: {size: 14}, x: 0, xanchor: "left", xref: "paper"}, ...(printing ? {width: 330, height: 240} : {autosize: true}), margin: {l: 56, r: 10, t: 34, b: 44}, xaxis: {...axis(title), rangemode: "tozero"}, yaxis: {...axis(""), ...y}});
    const chosen = {type: "line", x0: work[data.best], x1: work[data.best], y0: 0, y1: 1, yref: "paper", line: {color: theme("faint"), width: 1, dash: "dot"}};
    const quiet = {responsive: true, displayModeBar: false};
    const objective = data.history.objective.filter((value) => value !== null);
    const logarithmic = objective.length && Math.min(...objective) > 0 && Math.max(...objective) > 20 * Math.min(...objective);
    Plotly.react(byId("objective"), [line(data.history.objective, "objective", 0, "solid")], {...frameOf("Objective (mean loss)", logarithmic ? {type: "log", dtick: "D2", tickformat: "~g"} : {}), shapes: [chosen]}, quiet);
    const errors = [line(data.history.train_error, "training", 0, "solid")];
    if (data.history.validation_error.some((value) => value !== null)) errors.push(line(data.history.validation_error, "held out", 1, "dash"));
    const chance = {type: "line", x0: 0, x1: 1, xref: "paper", y0: 0.5, y1: 0.5, line: {color: theme("faint"), width: 1, dash: "dash"}};
    Plotly.react(byId("errors"), errors, {...frameOf("Error (dashed line: chance)", {rangemode: "tozero", tickformat: ".0%"}), showlegend: errors.length > 1, legend: {x: 1, xanchor: "right", y: 0.98, bgcolor: "rgba(0,0,0,0)"}, shapes: [chosen, chance]}, quiet);
    const steps = data.history.step.map((value) => (value === null || value === 0 ? null : Math.abs(value)));
    const some = steps.some((value) => value !== null);
    const negative = data.history.step.some((value) => value !== null && value < 0);
    const trace = line(steps, "step size", 0, "solid");
    if (negative) { trace.mode = "lines+markers"; trace.marker = {size: 7, symbol: data.history.step.map((value) => (value < 0 ? "x" : "circle"))}; }
    const heading = !some ? "Step size (the solver reports none)" : negative ? "Step size (crosses: negative, by size)" : "Step size";
    Plotly.react(byId("steps"), [trace], {...frameOf(heading, some ? {type: "log", dtick: "D2", tickformat: "~g"} : {}), shapes: [chosen]}, quiet);
  };
  byId("against").addEventListener("change", drawCurves);

  if (data.caution) { byId("caution").textContent = data.caution; byId("caution").hidden = false; }
  for (const [title, code] of [["On the command line", data.command], ["In Python", data.python]]) {
    if (!code) continue;
    const box = make("div", null, {className: "code"});
    const copy = make("button", "Copy", {type: "button"});
    copy.addEventListener("click", () => {
      const range = document.createRange();
      range.selectNodeContents(box.querySelector("pre"));
      getSelection().removeAllRanges();
      getSelection().addRange(range);
      copy.textContent = document.execCommand("copy") ? "Copied" : "Selected";
    });
    box.append(make("pre", code), copy);
    byId("repeat").append(make("h3", title), box);
  }
  if (!byId("repeat").children.length) byId("repeat").append(make("p", "The result holds no settings.", {className: "faint"}));

  // ---- begin ---------------------------------------------------------------------------------------------------------------
  const redraw = () => { drawMap(true); drawCurves(); };
  const print = (now) => {
    if (printing === now) return;
    printing = now;
    if (frame) frame = square(frame);
    redraw();
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  matchMedia("print").addEventListener("change", (event) => print(event.matches));
  addEventListener("beforeprint", () => print(true));
  addEventListener("afterprint", () => print(false));
  drawAxisChoices();
  drawMap(false).then(() => { document.body.dataset.ready = "yes"; });
  drawCurves();
})();
