// Curves: small line charts as SVG.

/** One line. `values` has null where a value is missing; `x` replaces the chart's positions; `bars` are intervals
 * [low, high], one per value; `crosses` says which values get a cross; `isDots`: no line; `isPlain`: no dots.
 * @typedef {{name: string, values: (number | null)[], colour: string, dash: string, x?: number[], bars?: number[][],
 *   crosses?: boolean[], isDots?: boolean, isPlain?: boolean}} Line */
/** A horizontal line across the chart, with an optional interval [low, high] around it.
 * @typedef {{value: number, dash: string, band?: number[], name?: string}} Level */
/** What the legend explains.
 * @typedef {(Line | Level) & {name: string}} Key */
/** A chart. `chosen` is a position on the x axis that gets a vertical line.
 * @typedef {{title: string, xTitle: string, x: number[], xFrom?: number, xText?: (value: number) => string,
 *   lines: Line[], isLog?: boolean, fromZero?: boolean, tickText?: (value: number) => string, levels?: Level[],
 *   chosen?: number | null, colour: (name: string) => string, size: number[]}} Chart */

const Curves = (() => {
  const MARGIN = { left: 58, right: 12, top: 30, bottom: 42 };
  const KEY_ROW = 15; // pixels
  const shape = Svg.element;

  /**
   * @param {Line | Level} key
   * @returns {key is Key}
   */
  const isNamed = (key) => Boolean(key.name);

  /** Arrange the legend in as many rows as it needs; each entry has its distance from the left.
   * @type {(keys: Key[], width: number) => {key: any, along: number}[][]} */
  const arranged = (keys, width) => {
    /** @type {ReturnType<typeof arranged>} */
    const rows = [];
    let end = Infinity;
    for (const key of keys) {
      const room = 35 + 6.2 * key.name.length;
      if (end + room > width) {
        rows.push([]);
        end = 0;
      }
      rows[rows.length - 1].push({ key, along: end });
      end += room;
    }
    return rows;
  };

  /** Draw a chart. The legend stands above it, where it hides nothing.
   * @type {(box: Element, chart: Chart) => void} */
  const draw = (
    box,
    {
      title,
      xTitle,
      x,
      xFrom = 0,
      xText = Numbers.tickText,
      lines,
      isLog = false,
      fromZero = false,
      tickText = Numbers.tickText,
      levels = [],
      chosen = null,
      colour,
      size,
    },
  ) => {
    const [width, height] = size;
    const { left, right, bottom } = MARGIN;
    const keys = [...(lines.length > 1 ? lines : []), ...levels].filter(isNamed);
    const keyRows = arranged(keys, width - left - right);
    const top = MARGIN.top + KEY_ROW * keyRows.length;
    const picture = shape("svg", {
      viewBox: `0 0 ${width} ${height}`,
      width,
      height,
      role: "img",
      "aria-label": title,
    });
    /** @type {(text: string, attributes: Record<string, string | number>) => void} */
    const write = (text, attributes) =>
      picture.append(shape("text", { fill: colour("faint"), "font-size": 11, ...attributes }, text));
    write(title, { x: left, y: 16, "font-size": 13, fill: colour("ink") });
    const values = lines.flatMap((line) =>
      [...line.values, ...(line.bars ?? []).flat()].filter((value) => value !== null),
    );
    let [low, high] = Numbers.range(
      values.length ? values.concat(levels.flatMap(({ value, band = [] }) => [...band, value])) : [0, 1],
    );
    if (fromZero) low = 0;
    /** @type {(value: number) => number} */
    const scale = isLog ? Math.log10 : (value) => value;
    if (low === high) [low, high] = isLog ? [low / 2, high * 2] : [low - 0.5, high + 0.5];
    const pad = 0.05 * (scale(high) - scale(low));
    const [from, to] = [scale(low) - (fromZero ? 0 : pad), scale(high) + pad];
    const last = xFrom + Math.max((x[x.length - 1] || 0) - xFrom, 1e-9) * 1.02;
    /** @param {number} value */
    const toX = (value) => left + ((value - xFrom) / (last - xFrom)) * (width - left - right);
    /** @param {number} value */
    const toY = (value) => height - bottom - ((scale(value) - from) / (to - from)) * (height - top - bottom);
    /** @type {(x1: number, y1: number, x2: number, y2: number, more?: Record<string, string | number>) => void} */
    const rule = (x1, y1, x2, y2, more = {}) =>
      picture.append(shape("line", { x1, y1, x2, y2, stroke: colour("line"), "stroke-width": 0.8, ...more }));
    for (const tick of isLog
      ? Numbers.powers(10 ** from, 10 ** to)
      : Numbers.ticks(from, to, (height - top - bottom) / 38)) {
      rule(left, toY(tick), width - right, toY(tick));
      write(tickText(tick), { x: left - 6, y: toY(tick) + 4, "text-anchor": "end" });
    }
    for (const tick of Numbers.ticks(xFrom, last, (width - left - right) / 80)) {
      rule(toX(tick), top, toX(tick), height - bottom);
      write(xText(tick), { x: toX(tick), y: height - bottom + 15, "text-anchor": "middle" });
    }
    write(xTitle, { x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle" });
    for (const { band } of levels) {
      if (band)
        rule(left, toY((band[0] + band[1]) / 2), width - right, toY((band[0] + band[1]) / 2), {
          stroke: colour("faint"),
          "stroke-width": Math.max(toY(band[0]) - toY(band[1]), 1),
          "stroke-opacity": 0.25,
        });
    }
    for (const { value, dash } of levels)
      rule(left, toY(value), width - right, toY(value), { stroke: colour("faint"), "stroke-dasharray": dash });
    if (chosen !== null)
      rule(toX(chosen), top, toX(chosen), height - bottom, { stroke: colour("faint"), "stroke-dasharray": "1 3" });
    lines.forEach((line) => {
      const along = line.x ?? x;
      const points = line.values.map((value, at) => (value === null ? null : [toX(along[at]), toY(value)]));
      (line.bars ?? []).forEach(([least, most], at) => {
        rule(toX(along[at]), toY(least), toX(along[at]), toY(most), { stroke: line.colour, "stroke-width": 1.2 });
      });
      let isDown = false;
      const path = points
        .map((point) => {
          const step = point ? `${isDown ? "L" : "M"}${point[0].toFixed(1)} ${point[1].toFixed(1)}` : "";
          isDown = Boolean(point);
          return step;
        })
        .join("");
      if (!line.isDots)
        picture.append(
          shape("path", {
            d: path,
            fill: "none",
            stroke: line.colour,
            "stroke-width": 1.6,
            "stroke-dasharray": line.dash,
            "data-line": line.name,
          }),
        );
      points.forEach((point, at) => {
        const value = line.values[at];
        if (!point || value === null || line.isPlain || (points.length > 60 && !line.crosses?.[at])) return;
        const [cx, cy] = point;
        const mark = line.crosses?.[at]
          ? shape("path", { d: `M${cx - 3} ${cy - 3}l6 6m0-6l-6 6`, stroke: line.colour, "stroke-width": 1.4 })
          : shape("circle", { cx, cy, r: 2.2, fill: line.colour });
        const format = tickText === Numbers.tickText ? Numbers.short : Numbers.percent;
        const tip = `${line.name}: ${format(value)} at ${Numbers.short(along[at])} ${xTitle}`;
        mark.append(shape("title", {}, tip));
        picture.append(mark);
      });
    });
    keyRows.forEach((row, number) => {
      row.forEach(({ key, along }) => {
        const [x, y] = [left + along, MARGIN.top - 2 + KEY_ROW * number];
        if (key.band) rule(x, y, x + 18, y, { stroke: colour("faint"), "stroke-width": 9, "stroke-opacity": 0.25 });
        if (key.isDots) picture.append(shape("circle", { cx: x + 9, cy: y, r: 2.6, fill: key.colour }));
        else
          rule(x, y, x + 18, y, {
            stroke: key.colour ?? colour("faint"),
            "stroke-width": 1.6,
            "stroke-dasharray": key.dash,
          });
        write(key.name, { x: x + 23, y: y + 4, fill: colour("ink") });
      });
    });
    box.replaceChildren(picture);
  };
  return { draw };
})();
