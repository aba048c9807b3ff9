// Believe: the section about what can be believed, each picture with a sentence that says what to do.
const Believe = (() => {
  const ROWS = 15; // people that are shown at first
  const CELLS = 520; // pixels, the widest matrix
  const SPACE = "http://www.w3.org/2000/svg";

  const asTable = (make, titles, rows) => {
    const table = make("table"),
      head = make("tr"),
      box = make("div", null, { className: "scroll" });
    const isNumber = (at) => rows.every((row) => !row[at] || /^[\d,.]+( [%s]| of \d+)?( \(.*)?$/.test(row[at]));
    const kinds = titles.map((title, at) => (title === "Why" ? "why" : at && isNumber(at) ? "number" : "word"));
    titles.forEach((title, at) => head.append(make("th", title, { scope: "col", className: kinds[at] })));
    const line = (row) => {
      const made = make("tr");
      row.forEach((text, at) => made.append(make("td", text, { className: kinds[at] })));
      return made;
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

  // Errors of each person's map on everybody's answers; lines between groups.
  const drawMatrix = (box, { names, groups, matrix }, colour, inkOf) => {
    const errors = Numbers.unpacked(matrix);
    const count = names.length;
    const room = 6 + Math.min(90, 7 * Math.max(...names.map((name) => name.length)));
    const side = Math.min(Math.max((Math.min(box.clientWidth || CELLS, CELLS + room) - room) / count, 4), 28);
    const size = room + side * count + 2;
    const shape = (tag, attributes, text) => {
      const element = document.createElementNS(SPACE, tag);
      for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
      if (text !== undefined) element.textContent = text;
      return element;
    };
    const picture = shape("svg", {
      viewBox: `0 0 ${size} ${size + 20}`,
      width: size,
      height: size + 20,
      role: "img",
      "aria-label": "Whose map predicts whose answers",
    });
    const clipped = (name) => {
      const letters = Array.from(name);
      return letters.length > 13 ? letters.slice(0, 6).join("") + "…" + letters.slice(-6).join("") : name;
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
        cell.append(
          shape(
            "title",
            {},
            `map of ${names[row]}, answers of ${names[column]}: ${Number.isNaN(error) ? "none held out" : percentOf(error) + " wrong"}`,
          ),
        );
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
        "rows: map of; columns: answers of, in the same order",
      ),
    );
    box.replaceChildren(picture);
  };
  const percentOf = Numbers.percent;

  // Builds the section; returns what draws its pictures, again after each change of size or colours.
  const build = (section, found, { make, nameButton, colour, palette, inkOf, size }) => {
    const drawers = [];
    const part = (title, sentence, ...elements) => {
      const box = make("section", null, { className: "finding" });
      box.append(make("h3", title), make("p", sentence), ...elements);
      section.append(box);
      return box;
    };
    const listed = (sentences) => {
      const list = make("ul");
      list.append(...sentences.map((sentence) => make("li", sentence)));
      return list;
    };
    const chart = (options) => {
      const box = make("div", null, { className: "chart" });
      drawers.push(() => Curves.draw(box, { colour, size: size(box), ...options(palette()) }));
      return box;
    };
    const share = (value) => `${Math.round(100 * value)} %`;
    if (found.replicates) {
      const { number, shareDecided, trust, unsettled, calibration, reliability, near, ellipses } = found.replicates;
      const shape = ellipses.axes === 1 ? "interval" : "ellipse";
      part(
        "Would the map look the same?",
        `${shareDecided} of all triplets are decided: at least 95 % of ${number} maps of resampled answers agree on them. ${trust} What is not decided, do not interpret.`,
        make(
          "p",
          `On the map, ${shape}s show where an object may lie relative to the others. They are meant to hold the true place with a probability of 95 %; in simulated studies they held it for ${ellipses.held} of the objects. Do not distinguish objects that lie in each other's ${shape}s.${ellipses.areShown ? "" : " Here so many overlap that they are drawn for one object at a time: point at it, choose it, or switch all on."}`,
        ),
        make(
          "p",
          found.hasPairs
            ? `Lines join objects that are probably among the ${near} nearest of each other: the stronger, the more probable. Ignore the faint ones.`
            : "With so many objects, neighbours were not counted; ask closerthan.Replicates for those of one object.",
        ),
      );
      const names = make("p", null, { className: "unsettled" });
      unsettled
        .slice(0, 100)
        .forEach((object, at) => names.append(...(at ? [", ", nameButton(object)] : [nameButton(object)])));
      if (unsettled.length > 100) names.append(` and ${Numbers.whole(unsettled.length - 100)} more`);
      part(
        "Which objects are not settled?",
        unsettled.length
          ? "Less than half of the triplets about these are decided (dashed rings on the map): ask more about them, or do not interpret them."
          : "Of each object at least half of the triplets are decided: all may be interpreted.",
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
            xText: share,
            tickText: share,
            lines: [
              {
                name: "held out",
                x: calibration.map(({ said }) => said),
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
    if (found.people) {
      const { titles, rows, doubtful, total, sentences } = found.people;
      part(
        "Can the people be trusted?",
        doubtful
          ? `Look at the first ${doubtful} of ${Numbers.whole(total)}, who are not fine; nobody was left out.`
          : "Nobody was left out.",
        listed(sentences),
        ...asTable(make, titles, rows),
        make(
          "p",
          "Lapses: the fraction of answers that the others' map explains only as guesses, with a 95 % interval. Error: of the map of the others.",
          { className: "faint" },
        ),
      );
    }
    if (found.groups) {
      const { sentence, number, errors, names, total } = found.groups;
      const box = make("div", null, { className: "matrix" });
      drawers.push(() => drawMatrix(box, found.groups, colour, inkOf));
      const told =
        number > 1
          ? "Blocks of low error are groups with a view of their own: fit a map to each."
          : "Blocks of low error would be groups with a view of their own; none stands out clearly enough for a map of its own.";
      const ramp = make("div", null, { className: "ends keyed" }),
        bar = make("div", null, { className: "ramp" });
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
      const some =
        names.length < total
          ? [
              make("p", `The picture shows ${Numbers.whole(names.length)} of ${Numbers.whole(total)} people.`, {
                className: "faint",
              }),
            ]
          : [];
      part("Whose map predicts whose answers?", told, listed([sentence]), ...table, ...some, box, ramp);
    }
    if (found.curve) {
      const { by, numbers, errors, low, high, reach, fitted, twice, least, sentences } = found.curve;
      part(
        "Are the answers enough?",
        `${sentences[1][0].toUpperCase()}${sentences[1].slice(1)}.`,
        chart((inks) => ({
          title: "Error on new answers",
          xTitle: by + " fitted",
          x: [...numbers, twice[0]],
          fromZero: true,
          tickText: share,
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
