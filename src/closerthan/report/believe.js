// Believe: the section about the reliability of the map. Each figure comes with a sentence that says what to do.

/** Replicates of the map; see believe.py.
 * @typedef {{number: number, near: number, trust: string, decided: Packed, shareDecided: string, unsettled: number[],
 *   ellipses: {axes: number, moments: Packed, radii: number[], areShown: boolean, held: string},
 *   pairs: Record<"from" | "to" | "nearest" | "near", Packed>, reliability: string,
 *   calibration: {predicted: number, right: number, low: number, high: number}[]}} ReplicateFindings */
/** @typedef {{titles: string[], rows: string[][], doubtful: number, total: number,
 *   sentences: string[]}} PeopleFindings */
/** @typedef {{sentence: string, number: number, names: string[], total: number, groups: number[], matrix: Packed,
 *   errors: (number | null)[][]}} GroupFindings */
/** @typedef {{titles: string[], rows: string[][]}} Table */
/** @typedef {{verdict: string, sentences: string[], models: Table, dimensions: Table, people: Table}} WeightFindings */
/** @typedef {{verdict: string, sentences: string[], models: Table, people: Table,
 *   meanings: string[]}} EffectFindings */
/** @typedef {{by: string, numbers: number[], errors: number[], low: number[], high: number[], reach: number[],
 *   fitted: number[], twice: number[], least: [string, number, number, number][],
 *   sentences: string[]}} CurveFindings */
/** @typedef {{replicates: ReplicateFindings | null, people: PeopleFindings | null, groups: GroupFindings | null,
 *   individuals: WeightFindings | null, effects: EffectFindings | null, curve: CurveFindings | null}} Findings */

const Believe = (() => {
  const ROWS = 15; // number of people shown at first
  const CELLS = 520; // pixels, the largest width of a matrix
  const shape = Svg.element;

  /** @type {(make: Tools["make"], titles: string[], rows: string[][]) => Element[]} */
  const asTable = (make, titles, rows) => {
    const table = make("table");
    const head = make("tr");
    const box = make("div", null, { className: "scroll" });
    /** @param {number} at */
    const isNumber = (at) => rows.every((row) => !row[at] || /^[\d,.]+( [%s]| of \d+)?( \(.*)?$/.test(row[at]));
    const kinds = titles.map((title, at) => (title === "Why" ? "why" : at && isNumber(at) ? "number" : "word"));
    head.append(...titles.map((title, at) => make("th", title, { scope: "col", className: kinds[at] })));
    /** @param {string[]} row */
    const line = (row) => {
      const element = make("tr");
      element.append(...row.map((text, at) => make("td", text, { className: kinds[at] })));
      return element;
    };
    table.append(make("thead"), make("tbody"));
    table.tHead.append(head);
    table.tBodies[0].append(...rows.slice(0, ROWS).map(line));
    box.append(table);
    if (rows.length <= ROWS) return [box];
    const more = make("button", `Show all ${Numbers.whole(rows.length)}`, { type: "button" });
    more.addEventListener("click", () => {
      table.tBodies[0].replaceChildren(...rows.map(line));
      more.remove();
    });
    return [box, more];
  };

  /** Draw the error of each person's map on every person's answers, with lines between groups.
   * @type {(box: Element, groups: GroupFindings, colour: Tools["colour"], inkOf: (share: number) => string) => void} */
  const drawMatrix = (box, { names, groups, matrix }, colour, inkOf) => {
    const errors = Numbers.unpacked(matrix);
    const count = names.length;
    const room = 6 + Math.min(90, 7 * Math.max(...names.map((name) => name.length)));
    const side = Math.min(Math.max((Math.min(box.clientWidth || CELLS, CELLS + room) - room) / count, 4), 28);
    const size = room + side * count + 2;
    const picture = shape("svg", {
      viewBox: `0 0 ${size} ${size + 20}`,
      width: size,
      height: size + 20,
      role: "img",
      "aria-label": "Whose map predicts whose answers",
    });
    /** @param {string} name */
    const clipped = (name) => {
      const letters = Array.from(name);
      return letters.length > 13 ? `${letters.slice(0, 6).join("")}…${letters.slice(-6).join("")}` : name;
    };
    for (let row = 0; row < count; row += 1) {
      for (let column = 0; column < count; column += 1) {
        const error = errors[row * count + column];
        const cell = shape("rect", {
          x: room + side * column,
          y: 20 + side * row,
          width: side + 0.3,
          height: side + 0.3,
          fill: Number.isNaN(error) ? colour("panel") : inkOf(Math.min(error / 0.5, 1)),
        });
        const outcome = Number.isNaN(error) ? "none held out" : `${percentOf(error)} wrong`;
        cell.append(shape("title", {}, `map of ${names[row]}, answers of ${names[column]}: ${outcome}`));
        picture.append(cell);
      }
      if (side >= 9)
        picture.append(
          shape(
            "text",
            {
              x: room - 4,
              y: 20 + side * (row + 0.5) + 3.5,
              "text-anchor": "end",
              "font-size": 10,
              fill: colour("faint"),
            },
            clipped(names[row]),
          ),
        );
    }
    for (let at = 1; at < count; at += 1) {
      if (groups[at] === groups[at - 1]) continue;
      const along = side * at;
      picture.append(
        shape("path", {
          d: `M${room} ${20 + along}h${side * count}M${room + along} 20v${side * count}`,
          stroke: colour("paper"),
          "stroke-width": 2.5,
        }),
      );
    }
    picture.append(
      shape(
        "text",
        { x: room, y: 13, "font-size": 11, fill: colour("faint") },
        "rows: whose map; columns: whose answers, in the same order",
      ),
    );
    box.replaceChildren(picture);
  };
  const percentOf = Numbers.percent;

  /**
   * Build the section. Return a function that draws its figures, to be called after each change of size or colours.
   * @param {Element} section
   * @param {Findings & {hasPairs: boolean}} findings
   * @param {Tools & {palette: () => string[], inkOf: (fraction: number) => string,
   *   size: (box: Element) => number[]}} tools
   */
  const build = (section, findings, { make, nameButton, colour, palette, inkOf, size }) => {
    /** @type {(() => void)[]} */
    const drawers = [];
    /** @type {(title: string, sentence: string, ...elements: Node[]) => Element} */
    const part = (title, sentence, ...elements) => {
      const box = make("section", null, { className: "finding" });
      box.append(make("h3", title), make("p", sentence), ...elements);
      section.append(box);
      return box;
    };
    /** @type {(sentences: string[]) => Element} */
    const listed = (sentences) => {
      const list = make("ul");
      list.append(...sentences.map((sentence) => make("li", sentence)));
      return list;
    };
    /** @type {(options: (inks: string[]) => Omit<Chart, "colour" | "size">) => Element} */
    const chart = (options) => {
      const box = make("div", null, { className: "chart" });
      drawers.push(() => Curves.draw(box, { colour, size: size(box), ...options(palette()) }));
      return box;
    };
    /** @param {number} value */
    const percent = (value) => `${Math.round(100 * value)} %`;
    if (findings.replicates) {
      const { number, shareDecided, trust, unsettled, calibration, reliability, near, ellipses } = findings.replicates;
      const region = ellipses.axes === 1 ? "interval" : "ellipse";
      part(
        "Would the map look the same?",
        `${shareDecided} of all triplets are decided: at least 95 % of ${number} maps fitted to resampled answers ` +
          `agree on them. ${trust} Do not interpret triplets that are not decided.`,
        make(
          "p",
          `On the map, ${region}s show where an object may lie relative to the others. They are meant to contain the ` +
            `true position with a probability of 95 %; in simulated studies they did so for ${ellipses.held} of the ` +
            `objects. Do not distinguish objects that lie in each other's ${region}s.` +
            (ellipses.areShown
              ? ""
              : ` Here too many ${region}s overlap, so each is drawn for one object at a time: point at the object, ` +
                "select it, or switch all of them on."),
        ),
        make(
          "p",
          findings.hasPairs
            ? `Lines join objects that are probably among the ${near} nearest neighbours of each other; stronger ` +
                "lines are more probable. Ignore the faint ones."
            : "There are too many objects to list all neighbours; use closerthan.Replicates for those of one object.",
        ),
      );
      const names = make("p", null, { className: "unsettled" });
      unsettled.slice(0, 100).forEach((object, at) => {
        names.append(...(at ? [", ", nameButton(object)] : [nameButton(object)]));
      });
      if (unsettled.length > 100) names.append(` and ${Numbers.whole(unsettled.length - 100)} more`);
      part(
        "Which objects are not settled?",
        unsettled.length
          ? "Fewer than half of the triplets about these objects are decided (dashed rings on the map): ask more " +
              "questions about them, or do not interpret them."
          : "At least half of the triplets about each object are decided: all objects may be interpreted.",
        names,
      );
      if (calibration.length) {
        part(
          "Are the probabilities right?",
          reliability,
          chart((inks) => ({
            title: "Fraction that came true",
            xTitle: "predicted probability",
            x: [0.5, 1],
            xFrom: 0.5,
            xText: percent,
            tickText: percent,
            lines: [
              {
                name: "held out",
                x: calibration.map(({ predicted }) => predicted),
                values: calibration.map(({ right }) => right),
                bars: calibration.map(({ low, high }) => [low, high]),
                colour: inks[0],
                dash: "",
              },
              { name: "perfect calibration", values: [0.5, 1], colour: colour("faint"), dash: "4 4", isPlain: true },
            ],
          })),
        );
      }
    }
    if (findings.people) {
      const { titles, rows, doubtful, total, sentences } = findings.people;
      part(
        "Can the people be trusted?",
        doubtful
          ? `Check the first ${doubtful} of ${Numbers.whole(total)}, who look doubtful; all people were included.`
          : "All people were included.",
        listed(sentences),
        ...asTable(make, titles, rows),
        make(
          "p",
          "Lapses: the fraction of answers that the map of the other people explains only as guesses, with a 95 % " +
            "interval. Error: the error of the other people's map on this person's answers.",
          { className: "faint" },
        ),
      );
    }
    const { groups } = findings;
    if (groups) {
      const { sentence, number, errors, names, total } = groups;
      const box = make("div", null, { className: "matrix" });
      drawers.push(() => drawMatrix(box, groups, colour, inkOf));
      const advice =
        number > 1
          ? "Blocks of low error are groups with a view of their own: fit a map to each of them."
          : "Blocks of low error would be groups with a view of their own; none is distinct enough for its own map.";
      const ramp = make("div", null, { className: "ends keyed" });
      const bar = make("div", null, { className: "ramp" });
      drawers.push(() => {
        bar.style.background = `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map(inkOf).join(", ")})`;
      });
      ramp.append(make("span", "0 % wrong"), bar, make("span", "50 %"));
      const table =
        number > 1
          ? asTable(
              make,
              ["", ...errors.map((_, at) => `answers of group ${at + 1}`)],
              errors.map((row, at) => [
                `map of group ${at + 1}`,
                ...row.map((error) => (error === null ? "" : percentOf(error))),
              ]),
            )
          : [];
      const note =
        names.length < total
          ? [
              make("p", `The picture shows ${Numbers.whole(names.length)} of ${Numbers.whole(total)} people.`, {
                className: "faint",
              }),
            ]
          : [];
      part("Whose map predicts whose answers?", advice, listed([sentence]), ...table, ...note, box, ramp);
    }
    if (findings.individuals) {
      const { verdict, sentences, models, dimensions, people } = findings.individuals;
      part(
        "Do people weigh the dimensions differently?",
        verdict,
        listed(sentences),
        ...[models, dimensions, people].flatMap(({ titles, rows }) => (rows.length ? asTable(make, titles, rows) : [])),
        make(
          "p",
          "The axes are not those of the map above: along these, and no others, weights describe people. " +
            "Consistency is small if answers vary at random. A relative weight above 1 means that the person weighs " +
            "the dimension more than others do.",
          { className: "faint" },
        ),
      );
    }
    if (findings.effects) {
      const { verdict, sentences, models, people, meanings } = findings.effects;
      part(
        "What influences answers besides the map?",
        verdict,
        listed(sentences),
        ...[models, people].flatMap(({ titles, rows }) => (rows.length ? asTable(make, titles, rows) : [])),
        ...meanings.map((meaning) => make("p", meaning, { className: "faint" })),
      );
    }
    if (findings.curve) {
      const { by, numbers, errors, low, high, reach, fitted, twice, least, sentences } = findings.curve;
      part(
        "Are the answers enough?",
        `${sentences[1][0].toUpperCase()}${sentences[1].slice(1)}.`,
        chart((inks) => ({
          title: "Error on new answers",
          xTitle: `${by} fitted`,
          x: [...numbers, twice[0]],
          fromZero: true,
          tickText: percent,
          levels: least.map(([of, value, low, high], at) => ({
            value,
            band: [low, high],
            dash: at ? "1 3" : "4 4",
            name: `${of}, 95 % interval`,
          })),
          lines: [
            {
              name: "measured",
              x: numbers,
              values: errors,
              bars: low.map((value, at) => [value, high[at]]),
              colour: inks[0],
              dash: "",
              isDots: true,
            },
            { name: "curve", x: reach, values: fitted, colour: inks[1], dash: "", isPlain: true },
            {
              name: "twice as many",
              x: [twice[0]],
              values: [twice[1]],
              bars: [[twice[2], twice[3]]],
              colour: inks[1],
              dash: "",
              isDots: true,
            },
          ],
        })),
        listed(sentences.filter((_, at) => at !== 1)),
      );
    }
    return () => {
      for (const draw of drawers) draw();
    };
  };
  return { build };
})();
