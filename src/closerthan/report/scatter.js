// Scatter: an interactive plot in two or three dimensions (pan, zoom, rotate, hover) with names and pictures.

/** Functions of the page: colours by name, the text of a label, and calls after an object is hovered over or chosen.
 * @typedef {{colour: (name: string) => string, text: (object: number) => string,
 *   hovered: (object: number | null, x?: number, y?: number) => void,
 *   chosen: (object: number | null) => void}} Callbacks */
/** Confidence ellipses: the covariance of an object's position along the visible axes, and the radius to draw.
 * @typedef {{moments: (object: number) => number[][], radius: number, objects: number[]}} Ellipses */
/** The visible part of a two-dimensional map, in its coordinates.
 * @typedef {{x: number[], y: number[]}} Frame */
/** The plotting area, in pixels.
 * @typedef {{left: number, top: number, width: number, height: number}} Area */

class Scatter {
  static FAR = 8; // see map_figure: objects farther out than this would squeeze all others into a dot
  static MOST_LABELS = 120;
  static FEW = 60; // with at most this many objects, a name without space nearby is joined to its point by a line
  static CROWDED = 3000; // with more visible points, only marked ones are named
  static VIEWER = 4; // distance of the viewer from the centre of a three-dimensional map, in units of its half width

  // Set by setPlaces(), setLooks() and home().
  /** @type {(Float32Array | Int32Array)[]} */
  axes = [];
  /** @type {2 | 3} */
  view = 2;
  /** @type {string[]} */
  titles = [];
  /** Whether both axes have the same scale. */
  isEqual = true;
  count = 0;
  places = new Float32Array(0);
  /** @type {Looks} */
  looks = { colours: new Uint8Array(0), shapes: new Uint8Array(0), size: 0 };
  /** The WebGL renderer; null without WebGL, undefined before the first use.
   * @type {ReturnType<typeof Points.painter> | undefined} */
  painter;
  /** @type {Projection | null} */
  screen = null;
  /** @type {Frame} */
  frame = { x: [0, 1], y: [0, 1] };
  /** @type {[number, number][]} */
  extent = [];
  /** @type {number[]} */
  middle = [];
  /** @type {number[]} */
  unit = [];
  /** The number of objects too far out to be shown. */
  outside = 0;
  /** Whether the whole map is shown. */
  isHome = false;
  homeZoom = 1;
  /** Pixels for the numbers along the vertical axis. */
  tickRoom = 0;
  /** Boxes of the axis labels, which names must not cover.
   * @type {Box[]} */
  reserved = [];
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  resting;

  /**
   * @param {HTMLElement} box
   * @param {Callbacks} callbacks
   */
  constructor(box, { colour, text, hovered, chosen }) {
    this.box = box;
    this.colour = colour;
    this.text = text;
    this.hovered = hovered;
    this.chosen = chosen;
    this.layers = ["base", "points", "top"].map((name) => {
      const canvas = document.createElement("canvas");
      canvas.dataset.layer = name;
      box.append(canvas);
      return canvas;
    });
    /** Objects with a ring and a name, the most important first.
     * @type {{object: number, colour: string}[]} */
    this.marks = [];
    /** @type {{from: number, to: number, dash: number[]}[]} */
    this.lines = [];
    /** @type {Ellipses | null} */
    this.ellipses = null;
    /** Lines between probable neighbours; more probable ones are drawn stronger.
     * @type {{from: number, to: number, probability: number}[]} */
    this.graph = [];
    /** Objects whose position is not settled.
     * @type {Set<number>} */
    this.doubtful = new Set();
    /** @type {Map<number, HTMLImageElement>} */
    this.pictures = new Map();
    /** @type {PlacedName[]} */
    this.labels = [];
    /** The pictures that have space on the screen.
     * @type {Map<number, {image: HTMLImageElement, width: number, height: number}>} */
    this.pictured = new Map();
    this.camera = { yaw: 0.6, pitch: 0.35, zoom: 1, pan: [0, 0] };
    /** A fixed size, used for printing.
     * @type {{width: number, height: number} | null} */
    this.sheet = null;
    this.pending = 0;
    this.#listen();
  }

  // ---- Data ---------------------------------------------------------------------------------------------------------

  /**
   * @param {(Float32Array | Int32Array)[]} axes
   * @param {{view: 2 | 3, titles: string[], isEqual: boolean}} options
   */
  setPlaces(axes, { view, titles, isEqual }) {
    this.axes = axes;
    this.view = view;
    this.titles = titles;
    this.isEqual = isEqual;
    this.count = axes[0].length;
    if (this.count > Points.MANY && this.painter === undefined) {
      this.painter = Points.painter(this.layers[1]);
      this.layers[1].addEventListener("webglcontextlost", () => {
        this.painter = null;
        this.draw();
      });
    }
    this.painter ??= null;
    this.#measure();
    const places = new Float32Array(3 * this.count);
    for (let axis = 0; axis < view; axis += 1)
      for (let at = 0; at < this.count; at += 1)
        places[3 * at + axis] = (axes[axis][at] - this.middle[axis]) / this.unit[axis];
    this.places = places;
    this.screen = null;
    this.painter?.setPlaces(places);
  }

  /** @param {Looks} looks */
  setLooks(looks) {
    this.looks = looks;
    this.painter?.setLooks(looks);
  }

  // Measure the extent of the whole map, without objects that are very far out.
  #measure() {
    const { axes, view, count } = this;
    // For very large maps a subset is enough to estimate a quantile.
    const every = Math.ceil(count / 50000);
    /** @type {(values: Float32Array | Int32Array | Float64Array, level: number) => number} */
    const quantile = (values, level) => {
      const subset = values.filter((_, at) => at % every === 0).sort();
      return subset[Math.floor(level * (subset.length - 1))];
    };
    /** @type {(at: number) => boolean} */
    let isWithin = (_at) => true;
    this.outside = 0;
    if (this.isEqual) {
      const middle = axes.map((axis) => quantile(axis, 0.5));
      const radius = new Float64Array(count);
      for (let axis = 0; axis < view; axis += 1)
        for (let at = 0; at < count; at += 1) radius[at] += (axes[axis][at] - middle[axis]) ** 2;
      for (let at = 0; at < count; at += 1) radius[at] = Math.sqrt(radius[at]);
      const usual = quantile(radius, 0.9);
      if (usual > 0) {
        isWithin = (at) => radius[at] <= Scatter.FAR * usual;
        for (let at = 0; at < count; at += 1) this.outside += Number(!isWithin(at));
      }
    }
    this.extent = axes.slice(0, view).map((axis) => Numbers.range(axis, isWithin));
    const spans = this.extent.map(([low, high]) => high - low);
    const widest = Math.max(...spans) || 1;
    this.middle = this.extent.map(([low, high]) => (low + high) / 2);
    this.unit = spans.map((span) => (this.isEqual ? widest : span || 1) / 2);
    const pen = Points.penOf(this.layers[2]);
    pen.font = "11px system-ui, sans-serif";
    const [low, high] = this.extent[1];
    this.tickRoom =
      12 +
      Math.max(
        24,
        ...Numbers.ticks(low - (high - low) / 2, high + (high - low) / 2, 8).map(
          (tick) => pen.measureText(Numbers.tickText(tick)).width,
        ),
      );
  }

  get margin() {
    if (this.view === 3) return { l: 0, r: 0, t: 0, b: 0 };
    return { l: this.tickRoom + (this.titles[1] ? 16 : 0), r: 10, t: 10, b: 24 + (this.titles[0] ? 18 : 0) };
  }

  get size() {
    return this.sheet ?? { width: this.box.clientWidth, height: this.box.clientHeight };
  }

  /** The height at which the map fills its box of this width.
   * @param {number} width */
  fittingHeight(width) {
    if (!this.isEqual || this.view === 3) return 0.75 * width;
    const { l, r, t, b } = this.margin;
    return (width - l - r) / this.#aspect() + t + b;
  }

  /** The width at which the map fills its box of this height.
   * @param {number} height */
  fittingWidth(height) {
    if (!this.isEqual || this.view === 3) return height / 0.75;
    const { l, r, t, b } = this.margin;
    return (height - t - b) * this.#aspect() + l + r;
  }

  #aspect() {
    const [x, y] = this.extent.map(([low, high]) => high - low);
    return Math.min(Math.max(x / y || 1, 0.2), 5);
  }

  // After a change of size, keep showing the whole map or the same part of it.
  refit() {
    if (this.isHome) this.home();
    else this.frame = this.fitted(this.frame);
  }

  home() {
    this.isHome = true;
    this.camera = { yaw: 0.6, pitch: 0.35, zoom: 1, pan: [0, 0] };
    if (this.view === 2) {
      const [x, y] = this.extent.map(([low, high], axis) => {
        const pad = 0.07 * (high - low || 2 * this.unit[axis]);
        const [least, most] = this.#reach(axis, (high - low) / 4);
        return [Math.min(low - pad, least), Math.max(high + pad, most)];
      });
      this.frame = this.fitted({ x, y });
    } else this.#fitBox();
    this.draw();
  }

  /** The extent including the ellipses if all are drawn; an ellipse adds at most `most`.
   * @type {(axis: number, most: number) => number[]} */
  #reach(axis, most) {
    const [low, high] = this.extent[axis];
    if (!this.ellipses || this.ellipses.objects.length < 2) return [low, high];
    const { moments, radius, objects } = this.ellipses;
    let [least, farthest] = [low, high];
    for (const object of objects) {
      const [place, half] = [this.axes[axis][object], radius * Math.sqrt(moments(object)[axis][axis])];
      if (Number.isNaN(half) || place < low || place > high) continue;
      [least, farthest] = [Math.min(least, place - half), Math.max(farthest, place + half)];
    }
    return [Math.max(least, low - most), Math.min(farthest, high + most)];
  }

  // In three dimensions, make the map as large as its box allows, with space for the axis labels.
  #fitBox() {
    const matrix = this.#matrix();
    const [{ width, height }, { camera }] = [this.size, this];
    const corners = [0, 1, 2, 3, 4, 5, 6, 7].map((bits) =>
      this.#at(
        matrix,
        ...this.extent.map((ends, axis) => (ends[(bits >> axis) & 1] - this.middle[axis]) / this.unit[axis]),
      ),
    );
    const [x, y] = [0, 1].map((part) => Numbers.range(corners.map((corner) => corner[part])));
    const room = width < 500 ? 84 : 130;
    camera.zoom = Math.min((width - room) / (x[1] - x[0]), (height - 0.8 * room) / (y[1] - y[0]));
    camera.pan = [
      camera.zoom * (width / 2 - (x[0] + x[1]) / 2) + 20,
      camera.zoom * (height / 2 - (y[0] + y[1]) / 2) - 10,
    ];
    this.homeZoom = camera.zoom;
  }

  // Points grow with the zoom, up to the size of the points of a small map.
  get pointSize() {
    const nearer =
      this.view === 3
        ? this.camera.zoom / this.homeZoom
        : (this.extent[0][1] - this.extent[0][0]) / (this.frame.x[1] - this.frame.x[0]);
    return Math.max(this.looks.size, Math.min(this.looks.size * Math.sqrt(nearer), 8));
  }

  /** Give both axes the same scale by widening one of them.
   * @param {Frame} frame
   * @returns {Frame} */
  fitted({ x, y }) {
    if (!this.isEqual) return { x, y };
    const { width, height } = this.#area();
    const scale = Math.max((x[1] - x[0]) / width, (y[1] - y[0]) / height) || 1;
    /** @type {(span: number[], length: number) => number[]} */
    const widened = ([low, high], length) => [
      (low + high) / 2 - (scale * length) / 2,
      (low + high) / 2 + (scale * length) / 2,
    ];
    return { x: widened(x, width), y: widened(y, height) };
  }

  #area() {
    const { l, r, t, b } = this.margin;
    const { width, height } = this.size;
    return { left: l, top: t, width: Math.max(width - l - r, 50), height: Math.max(height - t - b, 50) };
  }

  // ---- Projection ---------------------------------------------------------------------------------------------------

  // The matrix from positions (in units of half the map) to WebGL's clip space; drawing without WebGL uses it too.
  #matrix() {
    const { width, height } = this.size;
    const area = this.#area();
    if (this.view === 2) {
      const matrix = new Float64Array(16);
      const { x, y } = this.frame;
      matrix[0] = (2 * area.width * this.unit[0]) / ((x[1] - x[0]) * width);
      matrix[12] = (2 * (area.left + ((this.middle[0] - x[0]) / (x[1] - x[0])) * area.width)) / width - 1;
      matrix[5] = (2 * area.height * this.unit[1]) / ((y[1] - y[0]) * height);
      matrix[13] = 1 - (2 * (area.top + ((y[1] - this.middle[1]) / (y[1] - y[0])) * area.height)) / height;
      matrix[15] = 1;
      return matrix;
    }
    const { yaw, pitch, zoom, pan } = this.camera;
    const [sy, cy, sp, cp] = [Math.sin(yaw), Math.cos(yaw), Math.sin(pitch), Math.cos(pitch)];
    const right = [-sy, cy, 0],
      up = [-cy * sp, -sy * sp, cp],
      toward = [cy * cp, sy * cp, sp];
    const scale = 0.36 * Math.min(width, height) * zoom;
    const matrix = new Float64Array(16);
    const [shiftX, shiftY] = [(2 * pan[0]) / width, (-2 * pan[1]) / height];
    for (let axis = 0; axis < 3; axis += 1) {
      const w = -toward[axis] / Scatter.VIEWER;
      matrix[4 * axis] = ((2 * scale) / width) * right[axis] + shiftX * w;
      matrix[4 * axis + 1] = ((2 * scale) / height) * up[axis] + shiftY * w;
      matrix[4 * axis + 2] = -toward[axis] / 3;
      matrix[4 * axis + 3] = w;
    }
    [matrix[12], matrix[13], matrix[15]] = [shiftX, shiftY, 1];
    return matrix;
  }

  /** The position on the screen of a point of the map, and its depth.
   * @type {(matrix: Float64Array, ...place: number[]) => number[]} */
  #at(matrix, x, y, z) {
    const w = matrix[3] * x + matrix[7] * y + matrix[11] * z + matrix[15];
    const { width, height } = this.size;
    return [
      (((matrix[0] * x + matrix[4] * y + matrix[8] * z + matrix[12]) / w + 1) / 2) * width,
      ((1 - (matrix[1] * x + matrix[5] * y + matrix[9] * z + matrix[13]) / w) / 2) * height,
      w,
    ];
  }

  /** The position of an object on the screen.
   * @param {number} object */
  where(object) {
    return this.#at(this.#matrix(), ...this.places.subarray(3 * object, 3 * object + 3));
  }

  // Project all points; the result is cached until the view changes.
  #projected() {
    if (this.screen) return this.screen;
    const { places, count, view } = this;
    const [m, { width, height }] = [this.#matrix(), this.size];
    const [depth, scale] = view === 3 ? [new Float32Array(count), new Float32Array(count)] : [null, null];
    const screen = { width, height, x: new Float32Array(count), y: new Float32Array(count), depth, scale };
    for (let at = 0; at < count; at += 1) {
      const x = places[3 * at],
        y = places[3 * at + 1],
        z = places[3 * at + 2];
      const w = m[3] * x + m[7] * y + m[11] * z + m[15];
      screen.x[at] = (((m[0] * x + m[4] * y + m[8] * z + m[12]) / w + 1) / 2) * width;
      screen.y[at] = ((1 - (m[1] * x + m[5] * y + m[9] * z + m[13]) / w) / 2) * height;
      if (depth && scale) {
        depth[at] = w;
        scale[at] = 1 / w;
      }
    }
    this.screen = screen;
    return screen;
  }

  /** The object nearest to a position on the screen, or null if none is within `reach` pixels.
   * @type {(x: number, y: number, reach: number) => number | null} */
  nearest(x, y, reach) {
    const screen = this.#projected();
    let best = reach * reach,
      found = null;
    for (let at = 0; at < this.count; at += 1) {
      const far = (screen.x[at] - x) ** 2 + (screen.y[at] - y) ** 2;
      if (far < best) {
        best = far;
        found = at;
      }
    }
    return found;
  }

  /** The next object in a direction, near and not far off to the side.
   * @type {(object: number, direction: number[]) => number | null} */
  neighbour(object, [right, down]) {
    const screen = this.#projected();
    let best = Infinity,
      found = null;
    for (let at = 0; at < this.count; at += 1) {
      const [x, y] = [screen.x[at] - screen.x[object], screen.y[at] - screen.y[object]];
      const ahead = x * right + y * down,
        aside = Math.abs(x * down) + Math.abs(y * right);
      if (at === object || ahead <= 0 || aside > 1.5 * ahead) continue;
      if (ahead + 2 * aside < best) {
        best = ahead + 2 * aside;
        found = at;
      }
    }
    return found;
  }

  /** @param {number} object */
  isInSight(object) {
    const [x, y] = this.where(object);
    const { left, top, width, height } = this.#area();
    return x >= left && x <= left + width && y >= top && y <= top + height;
  }

  // ---- Navigation ---------------------------------------------------------------------------------------------------

  /** Show these objects with enough of the map around them to see where they are.
   * @type {(objects: number[], isClose: boolean) => void} */
  show(objects, isClose) {
    if (this.view === 3) return;
    this.isHome &&= !isClose && objects.every((object) => this.isInSight(object));
    const spans = [0, 1].map((axis) => Numbers.range(objects.map((object) => this.axes[axis][object])));
    if (isClose) {
      const reach = 0.75 * Math.max(...spans.map(([low, high]) => high - low)) || this.unit[0] / 10;
      const [x, y] = spans.map(([low, high]) => [(low + high) / 2 - reach, (low + high) / 2 + reach]);
      this.frame = this.fitted({ x, y });
    } else if (!objects.every((object) => this.isInSight(object))) {
      /** @type {(span: number[], other: number[]) => number[]} */
      const joined = ([low, high], [from, to]) => [Math.min(low, from), Math.max(high, to)];
      /** @type {(span: number[]) => number[]} */
      const padded = ([low, high]) => [low - 0.07 * (high - low), high + 0.07 * (high - low)];
      this.frame = this.fitted({
        x: joined(this.frame.x, padded(spans[0])),
        y: joined(this.frame.y, padded(spans[1])),
      });
    }
  }

  /** Zoom, keeping a position on the screen (default: the centre) fixed.
   * @type {(factor: number, x?: number | null, y?: number | null) => void} */
  zoom(factor, x = null, y = null) {
    if (this.view === 3) this.camera.zoom = Math.min(Math.max(this.camera.zoom * factor, 0.1), 200);
    else {
      const area = this.#area();
      const fractions = [
        x === null ? 0.5 : (x - area.left) / area.width,
        y === null ? 0.5 : 1 - (y - area.top) / area.height,
      ];
      /** @type {(span: number[], fraction: number) => number[]} */
      const scaled = ([low, high], fraction) => {
        const still = low + fraction * (high - low);
        return [still - (still - low) / factor, still + (high - still) / factor];
      };
      const next = { x: scaled(this.frame.x, fractions[0]), y: scaled(this.frame.y, fractions[1]) };
      const span = (next.x[1] - next.x[0]) / (2 * this.unit[0]);
      if (span > 1e-5 && span < 1e4) this.frame = next;
    }
    this.later();
  }

  /** @type {(right: number, down: number) => void} */
  pan(right, down) {
    if (this.view === 3) this.camera.pan = [this.camera.pan[0] + right, this.camera.pan[1] + down];
    else {
      const { width, height } = this.#area();
      const { x, y } = this.frame;
      const [byX, byY] = [(-right * (x[1] - x[0])) / width, (down * (y[1] - y[0])) / height];
      this.frame = { x: [x[0] + byX, x[1] + byX], y: [y[0] + byY, y[1] + byY] };
    }
    this.later();
  }

  /** @type {(right: number, down: number) => void} */
  turn(right, down) {
    this.camera.yaw -= right / 150;
    this.camera.pitch = Math.min(Math.max(this.camera.pitch + down / 150, -Math.PI / 2), Math.PI / 2);
    this.later();
  }

  // While the map moves, names keep their positions beside the points; once it rests, they are placed again.
  later() {
    this.isHome = false;
    this.hovered(null);
    this.screen = null;
    if (!this.pending)
      this.pending = requestAnimationFrame(() => {
        this.pending = 0;
        this.draw(false);
      });
    clearTimeout(this.resting);
    this.resting = setTimeout(() => this.draw(), 120);
  }

  #listen() {
    const { box } = this;
    const fingers = new Map();
    let travelled = 0;
    /** @param {MouseEvent} event */
    const place = (event) => {
      const area = box.getBoundingClientRect();
      return [event.clientX - area.left, event.clientY - area.top];
    };
    /** @param {Event} event */
    const isMap = (event) => event.target instanceof HTMLCanvasElement;
    box.addEventListener("pointerdown", (event) => {
      if (!isMap(event)) return;
      box.setPointerCapture(event.pointerId);
      if (!fingers.size) travelled = 0;
      fingers.set(event.pointerId, place(event));
    });
    box.addEventListener("pointermove", (event) => {
      const [x, y] = place(event);
      if (!fingers.has(event.pointerId)) {
        if (event.pointerType === "mouse" && isMap(event)) this.hovered(this.nearest(x, y, 12), x, y);
        return;
      }
      const before = fingers.get(event.pointerId);
      const [right, down] = [x - before[0], y - before[1]];
      travelled += Math.abs(right) + Math.abs(down);
      if (travelled < 4) return;
      fingers.set(event.pointerId, [x, y]);
      if (fingers.size === 2) {
        const [other] = [...fingers].filter(([id]) => id !== event.pointerId).map(([, at]) => at);
        /** @param {number[]} at */
        const apart = (at) => Math.hypot(at[0] - other[0], at[1] - other[1]) || 1;
        this.zoom(apart([x, y]) / apart(before), (x + other[0]) / 2, (y + other[1]) / 2);
        this.pan(right / 2, down / 2);
      } else if (this.view === 3 && !event.shiftKey && event.buttons !== 2) this.turn(right, down);
      else this.pan(right, down);
    });
    /** @param {PointerEvent} event */
    const release = (event) => {
      if (!fingers.delete(event.pointerId) || event.type !== "pointerup" || travelled >= 4) return;
      const [x, y] = place(event);
      const object = this.nearest(x, y, event.pointerType === "mouse" ? 12 : 24);
      if (object !== null) this.chosen(object);
    };
    box.addEventListener("pointerup", release);
    box.addEventListener("pointercancel", release);
    box.addEventListener("pointerleave", () => this.hovered(null));
    box.addEventListener("contextmenu", (event) => {
      if (this.view === 3 && isMap(event)) event.preventDefault();
    });
    box.addEventListener("dblclick", (event) => {
      if (isMap(event)) this.zoom(2, ...place(event));
    });
    box.addEventListener(
      "wheel",
      (event) => {
        event.preventDefault();
        this.zoom(
          Math.exp((-event.deltaY * (event.deltaMode === 1 ? 33 : 1)) / (event.ctrlKey ? 100 : 500)),
          ...place(event),
        );
      },
      { passive: false },
    );
    box.addEventListener("keydown", (event) => {
      if (event.target !== box || event.ctrlKey || event.metaKey || event.altKey) return;
      const direction = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
      if (direction && event.shiftKey) {
        const to = this.marks.length
          ? this.neighbour(this.marks[0].object, direction)
          : this.nearest(this.size.width / 2, this.size.height / 2, Infinity);
        if (to !== null) this.chosen(to);
      } else if (direction && this.view === 3) this.turn(-30 * direction[0], -30 * direction[1]);
      else if (direction) this.pan(-60 * direction[0], -60 * direction[1]);
      else if (event.key === "+" || event.key === "=") this.zoom(1.4);
      else if (event.key === "-") this.zoom(1 / 1.4);
      else if (event.key === "0" || event.key === "Home") this.home();
      else if (event.key === "Escape") this.chosen(null);
      else return;
      event.preventDefault();
    });
    let width = 0;
    new ResizeObserver(() => {
      if (this.sheet || !this.count || (box.clientWidth === width && box.clientHeight === this.layers[0].clientHeight))
        return;
      width = box.clientWidth;
      this.frame = this.fitted(this.frame);
      this.draw();
    }).observe(box);
  }

  // ---- Drawing ------------------------------------------------------------------------------------------------------

  draw(isSettled = true) {
    const { width, height } = this.size;
    if (!width || !height) return;
    this.screen = null;
    const fine = this.sheet ? 2 : Math.min(window.devicePixelRatio || 1, 2);
    const [base, points, top] = this.layers;
    for (const canvas of this.layers) {
      if (canvas.width !== Math.round(width * fine) || canvas.height !== Math.round(height * fine))
        [canvas.width, canvas.height] = [Math.round(width * fine), Math.round(height * fine)];
      [canvas.style.width, canvas.style.height] = [`${width}px`, `${height}px`];
    }
    const [under, over] = [base, top].map((canvas) => {
      const pen = Points.penOf(canvas);
      pen.setTransform(fine, 0, 0, fine, 0, 0);
      pen.clearRect(0, 0, width, height);
      return pen;
    });
    under.fillStyle = this.colour("paper");
    under.fillRect(0, 0, width, height);
    const matrix = this.#matrix();
    const area = this.#area();
    points.hidden = !this.painter;
    this.reserved = [];
    if (this.view === 3) this.#drawBox(under, over, matrix);
    else this.#drawGrid(under, over, area);
    this.#drawUnder(under, matrix, area);
    if (this.painter) {
      const window = [area.left, height - area.top - area.height, area.width, area.height].map((length) =>
        Math.round(length * fine),
      );
      this.painter.draw(this.count, {
        matrix: Float32Array.from(matrix),
        size: this.pointSize * fine,
        window,
        isSolid: this.view === 3,
      });
    } else {
      under.save();
      under.beginPath();
      under.rect(area.left, area.top, area.width, area.height);
      under.clip();
      Points.paint(under, { ...this.looks, size: this.pointSize }, this.#projected(), this.colour("paper"));
      under.restore();
    }
    over.save();
    over.beginPath();
    over.rect(area.left, area.top, area.width, area.height);
    over.clip();
    if (isSettled) this.#placeNames(over, area);
    this.#drawPictures(over);
    this.#drawMarks(over);
    this.#drawNames(over);
    over.restore();
    this.box.dataset.labelled = String(this.labels.length);
  }

  /** @type {(under: Pen, over: Pen, area: Area) => void} */
  #drawGrid(under, over, { left, top, width, height }) {
    const { x, y } = this.frame;
    under.strokeStyle = this.colour("line");
    under.lineWidth = 0.7;
    Object.assign(over, {
      font: "11px system-ui, sans-serif",
      fillStyle: this.colour("faint"),
      textBaseline: "middle",
    });
    /** @type {(x0: number, y0: number, x1: number, y1: number) => void} */
    const line = (x0, y0, x1, y1) => {
      under.beginPath();
      under.moveTo(x0, y0);
      under.lineTo(x1, y1);
      under.stroke();
    };
    over.textAlign = "center";
    for (const tick of Numbers.ticks(x[0], x[1], width / 75)) {
      const at = left + ((tick - x[0]) / (x[1] - x[0])) * width;
      line(at, top, at, top + height);
      const text = Numbers.tickText(tick);
      over.fillText(
        text,
        Math.min(at, left + width + this.margin.r - over.measureText(text).width / 2 - 1),
        top + height + 12,
      );
    }
    over.textAlign = "right";
    for (const tick of Numbers.ticks(y[0], y[1], height / 70)) {
      const at = top + height - ((tick - y[0]) / (y[1] - y[0])) * height;
      line(left, at, left + width, at);
      over.fillText(Numbers.tickText(tick), left - 6, at, this.tickRoom - 8);
    }
    Object.assign(over, { font: "12px system-ui, sans-serif", textAlign: "center" });
    if (this.titles[0]) over.fillText(this.titles[0], left + width / 2, top + height + 30, width);
    if (!this.titles[1]) return;
    over.save();
    over.translate(10, top + height / 2);
    over.rotate(-Math.PI / 2);
    over.fillText(this.titles[1], 0, 0, height);
    over.restore();
  }

  /** Draw the edges of the bounding box, with ticks and titles along three outer ones.
   * @type {(under: Pen, over: Pen, matrix: Float64Array) => void} */
  #drawBox(under, over, matrix) {
    const low = this.extent.map(([from], axis) => (from - this.middle[axis]) / this.unit[axis]);
    const high = this.extent.map(([, to], axis) => (to - this.middle[axis]) / this.unit[axis]);
    const { width, height } = this.size;
    const middle = this.#at(matrix, 0, 0, 0);
    under.strokeStyle = this.colour("line");
    under.lineWidth = 1;
    for (let axis = 0; axis < 3; axis += 1) {
      const [second, third] = [(axis + 1) % 3, (axis + 2) % 3];
      const edges = [
        [0, 0],
        [0, 1],
        [1, 0],
        [1, 1],
      ].map(([a, b]) => {
        const ends = [low[axis], high[axis]].map((value) => {
          /** @type {number[]} */
          const corner = [];
          [corner[axis], corner[second], corner[third]] = [
            value,
            a ? high[second] : low[second],
            b ? high[third] : low[third],
          ];
          return corner;
        });
        const [from, to] = ends.map((corner) => this.#at(matrix, ...corner));
        under.beginPath();
        under.moveTo(from[0], from[1]);
        under.lineTo(to[0], to[1]);
        under.stroke();
        return { ends, from, to, half: [(from[0] + to[0]) / 2, (from[1] + to[1]) / 2] };
      });
      const best = edges.reduce((one, other) =>
        (axis === 2 ? other.half[0] < one.half[0] : other.half[1] > one.half[1]) ? other : one,
      );
      const away = [best.half[0] - middle[0], best.half[1] - middle[1]];
      const length = Math.hypot(...away) || 1;
      const [right, down] = axis === 2 ? [-1, 0] : [away[0] / length, away[1] / length];
      /** @type {(text: string, x: number, y: number) => void} */
      const write = (text, x, y) => {
        const half = over.measureText(text).width / 2 + 3;
        const [across, below] = [Math.min(Math.max(x, half), width - half), Math.min(Math.max(y, 8), height - 8)];
        over.fillText(text, across, below);
        this.reserved.push([across - half, below - 7, across + half, below + 7]);
      };
      Object.assign(over, {
        font: "11px system-ui, sans-serif",
        fillStyle: this.colour("faint"),
        textBaseline: "middle",
        textAlign: "center",
      });
      const [start, end] = this.extent[axis];
      for (const tick of Numbers.ticks(start, end, 4)) {
        const fraction = end > start ? (tick - start) / (end - start) : 0.5;
        const place = best.ends[0].map((value, at) => value + fraction * (best.ends[1][at] - value));
        const [x, y] = this.#at(matrix, ...place);
        write(Numbers.tickText(tick), x + 14 * right, y + 14 * down);
      }
      over.font = "12px system-ui, sans-serif";
      if (axis < 2) write(this.titles[axis], best.half[0] + 36 * right, best.half[1] + 36 * down);
      else {
        over.save();
        over.translate(Math.max(best.half[0] - 40, 9), best.half[1]);
        over.rotate(-Math.PI / 2);
        over.fillText(this.titles[2], 0, 0, 0.8 * height);
        over.restore();
        const half = over.measureText(this.titles[2]).width / 2;
        const across = Math.max(best.half[0] - 40, 9);
        this.reserved.push([across - 8, best.half[1] - half, across + 8, best.half[1] + half]);
      }
    }
  }

  /** Draw what lies below the points: ellipses, lines between neighbours and rings.
   * @type {(pen: Pen, matrix: Float64Array, area: Area) => void} */
  #drawUnder(pen, matrix, { left, top, width, height }) {
    pen.save();
    pen.beginPath();
    pen.rect(left, top, width, height);
    pen.clip();
    /** @param {number} object */
    const colourOf = (object) => this.colour(this.doubtful.has(object) ? "warn" : "accent");
    if (this.ellipses)
      for (const object of this.ellipses.objects) {
        const place = Array.from(this.places.subarray(3 * object, 3 * object + 3));
        const [x, y] = this.#at(matrix, ...place);
        const slopes = [0, 1, 2].slice(0, this.view).map((axis) => {
          const beside = place.map((value, at) => value + (at === axis ? 1e-3 : 0));
          return this.#at(matrix, ...beside)
            .slice(0, 2)
            .map((value, at) => (value - [x, y][at]) / (1e-3 * this.unit[axis]));
        });
        Uncertain.drawEllipse(
          pen,
          x,
          y,
          Uncertain.shape(Uncertain.projected(this.ellipses.moments(object), slopes), this.ellipses.radius),
          colourOf(object),
        );
      }
    for (const { from, to, probability } of this.graph)
      Uncertain.drawLine(pen, this.where(from), this.where(to), probability, this.colour("ink"));
    for (const object of this.doubtful) {
      const [x, y] = this.where(object);
      Uncertain.drawDoubt(pen, x, y, this.pointSize / 2 + 5, this.colour("warn"));
    }
    pen.restore();
  }

  /** @param {Pen} pen */
  #drawMarks(pen) {
    for (const { from, to, dash } of this.lines) {
      const [start, end] = [this.where(from), this.where(to)];
      pen.setLineDash(dash);
      Object.assign(pen, { strokeStyle: this.colour("ink"), lineWidth: 1.6 });
      pen.beginPath();
      pen.moveTo(start[0], start[1]);
      pen.lineTo(end[0], end[1]);
      pen.stroke();
      pen.setLineDash([]);
    }
    this.marks.forEach(({ object, colour }, place) => {
      const [x, y] = this.where(object);
      const picture = this.pictured.get(object);
      Object.assign(pen, { strokeStyle: this.colour(colour), lineWidth: place ? 2 : 2.5 });
      pen.beginPath();
      if (picture)
        pen.rect(x - picture.width / 2 - 4, y - picture.height / 2 - 4, picture.width + 8, picture.height + 8);
      else pen.arc(x, y, (place ? 8 : 11) * (this.size.width < 500 ? 0.8 : 1), 0, 2 * Math.PI);
      pen.stroke();
    });
  }

  /** @type {(pen: Pen, area: Area) => void} */
  #placeNames(pen, { left, top, width, height }) {
    const screen = this.#projected();
    const bounds = [left, top, left + width, top + height];
    /** @param {number} object */
    const isSeen = (object) =>
      screen.x[object] >= left &&
      screen.x[object] <= bounds[2] &&
      screen.y[object] >= top &&
      screen.y[object] <= bounds[3];
    const board = Labels.board();
    for (const box of this.reserved) board.put("boxes", box);
    const first = new Set(this.marks.map(({ object }) => object));
    let seen = [];
    for (let object = 0; object < this.count && seen.length <= Scatter.CROWDED; object += 1)
      if (isSeen(object)) seen.push(object);
    if (seen.length > Scatter.CROWDED) seen = [];
    const { depth } = screen;
    if (depth) seen.sort((a, b) => depth[a] - depth[b]);
    this.#placePictures(board, [...first, ...this.pictures.keys()].filter(isSeen), screen, width * height);
    const half = this.pointSize / 2;
    for (const object of seen) {
      const [x, y] = [screen.x[object], screen.y[object]];
      board.put("points", [x - half, y - half, x + half, y + half]);
    }
    pen.font = "12px system-ui, sans-serif";
    const queue = [...[...first].filter(isSeen), ...seen.filter((object) => !first.has(object))]
      .map((object) => {
        const text = this.text(object);
        const picture = this.pictured.get(object);
        const gap = picture ? [picture.width / 2 + 4, picture.height / 2 + 3] : first.has(object) ? [13, 11] : [7, 6];
        return {
          object,
          text,
          width: 0,
          x: screen.x[object],
          y: screen.y[object],
          gap,
          rings: this.count <= Scatter.FEW ? [0, 14, 28, 45] : [0],
          hidden: first.has(object) ? [0, 1, 99] : this.count <= Scatter.FEW ? [0, 1] : [0],
        };
      })
      .filter(({ text }) => text)
      .slice(0, 4 * Scatter.MOST_LABELS + 500);
    for (const label of queue) label.width = pen.measureText(label.text).width + 2;
    this.labels = Labels.place(queue, board, bounds, Scatter.MOST_LABELS);
  }

  /** @type {(board: ReturnType<typeof Labels.board>, objects: number[], screen: Projection, space: number) => void} */
  #placePictures(board, objects, screen, space) {
    this.pictured = new Map();
    const side = Math.min(Math.max(0.4 * Math.sqrt(space / Math.max(objects.length, 1)), 26), 72);
    for (const object of objects) {
      const image = this.pictures.get(object);
      if (!image?.naturalWidth || this.pictured.has(object)) continue;
      const scale = side / Math.max(image.naturalWidth, image.naturalHeight);
      const [width, height] = [image.naturalWidth * scale, image.naturalHeight * scale];
      const [x, y] = [screen.x[object], screen.y[object]];
      const box = [x - width / 2 - 2, y - height / 2 - 2, x + width / 2 + 2, y + height / 2 + 2];
      if (!board.isFree(box, Infinity)) continue;
      board.put("boxes", box);
      this.pictured.set(object, { image, width, height });
    }
  }

  /** A picture covers its point, so its frame has the colour of the point.
   * @param {Pen} pen */
  #drawPictures(pen) {
    for (const [object, { image, width, height }] of this.pictured) {
      const [x, y] = this.where(object);
      const [red, green, blue, alpha] = this.looks.colours.subarray(4 * object, 4 * object + 4);
      pen.globalAlpha = alpha > 100 ? 1 : 0.25;
      pen.drawImage(image, x - width / 2, y - height / 2, width, height);
      Object.assign(pen, { strokeStyle: `rgb(${red},${green},${blue})`, lineWidth: 3 });
      pen.strokeRect(x - width / 2, y - height / 2, width, height);
      pen.globalAlpha = 1;
    }
  }

  /** @param {Pen} pen */
  #drawNames(pen) {
    Object.assign(pen, {
      font: "12px system-ui, sans-serif",
      textAlign: "left",
      textBaseline: "middle",
      lineJoin: "round",
    });
    for (const { object, lead } of this.labels) {
      if (!lead) continue;
      const [x, y] = this.where(object);
      Object.assign(pen, { strokeStyle: this.colour("faint"), lineWidth: 0.7 });
      pen.beginPath();
      pen.moveTo(x, y);
      pen.lineTo(x + lead[0], y + lead[1]);
      pen.stroke();
    }
    for (const { object, text, right, down } of this.labels) {
      const [x, y] = this.where(object);
      Object.assign(pen, { strokeStyle: this.colour("paper"), lineWidth: 3, fillStyle: this.colour("ink") });
      pen.strokeText(text, x + right, y + down);
      pen.fillText(text, x + right, y + down);
    }
  }

  // All layers as one canvas.
  picture() {
    const whole = document.createElement("canvas");
    [whole.width, whole.height] = [this.layers[0].width, this.layers[0].height];
    const pen = Points.penOf(whole);
    for (const canvas of this.layers) if (!canvas.hidden) pen.drawImage(canvas, 0, 0);
    return whole;
  }
}
