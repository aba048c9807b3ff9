// Believe: the section about what can be believed, each picture with a sentence that says what to do.
const Believe = (() => {
  const ROWS = 15;     // people that are shown at first
  const CELLS = 520;   // pixels, the widest matrix
  const SPACE = "http://www.w3.org/2000/svg";

  const asTable = (make, titles, rows) => {
    const table = make("table"), head = make("tr"), box = make("div", null, {className: "scroll"});
    const isNumber = (at) => rows.every((row) => !row[at] || /^[\d,.]+( [%s]| of \d+)?( \(.*)?$/.test(row[at]));
    const kinds = titles.map((title, at) => (title === "Why" ? "why" : at && isNumber(at) ? "number" : "word"));
    titles.forEach((title, at) => head.append(make("th", title, {scope: "col", className: kinds[at]})));
    const line = (row) => {
      const made = make("tr");
      row.forEach((text, at) => made.append(make("td", text, {className: kinds[at]})));
      return made;
    };
    table.append(make("thead"), make("tbody"));
    table.tHead.append(head);
    table.tBodies[0].append(...rows.slice(0, ROWS).map(line));
    box.append(table);
    if (rows.length <= ROWS) return [box];
    const more = make("button", `Show all ${Numbers.whole(rows.length)}`, {type: "button"});
    more.addEventListener("click", () => { table.tBodies[0].replaceChildren(...rows.map(line)); more.remove(); });
    return [box, more];
  };

  // Errors of each person's map on everybody's answers; lines between groups.
  const drawMatrix = (box, {names, groups, matrix}, colour, inkOf) => {
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
    const picture = shape("svg", {viewBox: `0 0 ${size} ${size + 20}`, width: size, height: size + 20, role: "img", "aria-label": "Whose map predicts whose answers"});
    const clipped = (name) => { const letters = Array.from(name); return letters.length > 13 ? letters.slice(0, 6).join("") + "…" + letters.slice(-6).join("") : name; };
    for (let row = 0; row < count; row += 1) {
      for (let column = 0; column < count; column += 1) {
        const error = errors[row * count + column];
        const cell = shape("rect", {x: room + side * column, y: 20 + side * row, width: side + 0.3, height: side + 0.3, fill: Number.isNaN(error) ? colour("panel") : inkOf(Math.min(error / 0.5, 1))});
        cell.append(shape("title", {}, `map of ${names[row]}, answers of ${names[column]}: ${Number.isNaN(error) ? "none held out" : percentOf(error) + " wrong"}`));
        picture.append(cell);
      }
      if (side >= 9) picture.append(shape("text", {x: room - 4, y: 20 + side * (row + 0.5) + 3.5, "text-anchor": "end", "font-size": 10, fill: colour("faint")}, clipped(names[row])));
    }
    for (let at = 1; at < count; at += 1) {
      if (groups[at] === groups[at - 1]) continue;
      const along = side * at;
      picture.append(shape("path", {d: `M${room} ${20 + along}h${side * count}M${room + along} 20v${side * count}`, stroke: colour("paper"), "stroke-width": 2.5}));
    }
    picture.append(shape("text", {x: room, y: 13, "font-size": 11, fill: colour("faint")}, "lines: map of; columns: answers of, in the same order"));
    box.replaceChildren(picture);
  };
  const percentOf = Numbers.percent;

  // Builds the section; returns what draws its pictures, again after each change of size or colours.
  const build = (section, found, {make, nameButton, colour, palette, inkOf, size}) => {
    const drawers = [];
    const part = (title, sentence, ...elements) => {
      const box = make("section", null, {className: "finding"});
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
      const box = make("div", null, {className: "chart"});
      drawers.push(() => Curves.draw(box, {colour, size: size(box), ...options(palette())}));
      return box;
    };
    const share = (value) => `${Math.round(100 * value)} %`;
    if (found.replicates) {
      const {number, shareDecided, unsettled, calibration, near, ellipses} = found.replicates;
      part("Would the map look the same?", `${shareDecided} of all triplets are decided: at least 95 % of ${number} maps of resampled answers agree on them. Rely on these alone.`,
        make("p", `On the map, ellipses hold an object's true place with a probability of 95 %: do not tell apart what lies in each other's ellipse.${found.count > ellipses.most ? ` With more than ${ellipses.most} objects only that of the chosen one is drawn, unless you switch all on.` : ""}`),
        make("p", found.hasPairs ? `Lines join objects that are among the ${near} nearest of each other, as strong as that is sure: trust the strong ones, and ignore the faint.` : "With so many objects, neighbours were not counted; ask closerthan.Replicates for those of one object."));
      const names = make("p", null, {className: "unsettled"});
      unsettled.slice(0, 100).forEach((object, at) => names.append(...(at ? [", ", nameButton(object)] : [nameButton(object)])));
      if (unsettled.length > 100) names.append(` and ${Numbers.whole(unsettled.length - 100)} more`);
      part("Which objects are not settled?", unsettled.length
        ? "Less than half of the triplets about these are decided (dashed rings on the map): ask more about them, or do not interpret them."
        : "Of each object at least half of the triplets are decided: all may be interpreted.", names);
      if (calibration.length) {
        const isOff = calibration.some(({said, low, high}) => said < low - 0.05 || said > high + 0.05);
        part("Are the probabilities right?", isOff
          ? "Some dots lie off the line: take probabilities as a rank, not at their word."
          : "Dots lie on the line: when a probability of 80 % is predicted, 8 of 10 answers are so. Use them as they are.",
        chart((inks) => ({
          title: "Share that was right", xTitle: "probability that was said", x: [0.5, 1], xFrom: 0.5, xText: share, tickText: share, isLow: true,
          lines: [
            {name: "held out", x: calibration.map(({said}) => said), values: calibration.map(({right}) => right), bars: calibration.map(({low, high}) => [low, high]), colour: inks[0], dash: ""},
            {name: "as it should be", values: [0.5, 1], colour: colour("faint"), dash: "4 4", isPlain: true},
          ],
        })));
      }
    }
    if (found.people) {
      const {titles, rows, doubtful, total, sentences} = found.people;
      part("Can the people be trusted?", doubtful ? `Look at the first ${doubtful} of ${Numbers.whole(total)}, who are not fine; nobody was left out.` : `Nobody of ${Numbers.whole(total)} looks careless: use all answers as they are.`,
        listed(sentences), ...asTable(make, titles, rows), make("p", "Lapses: the share of answers given without looking, with a 95 % interval. Error: of the map of the others.", {className: "faint"}));
    }
    if (found.groups) {
      const {sentence, number, errors} = found.groups;
      const box = make("div", null, {className: "matrix"});
      drawers.push(() => drawMatrix(box, found.groups, colour, inkOf));
      const told = number > 1 ? "Blocks of low error are groups with a view of their own: fit a map to each." : "Blocks of low error would be groups with a view of their own; none stands out clearly enough for a map of its own.";
      const ramp = make("div", null, {className: "ends keyed"}), bar = make("div", null, {className: "ramp"});
      drawers.push(() => { bar.style.background = `linear-gradient(to right, ${[0, 0.25, 0.5, 0.75, 1].map(inkOf).join(", ")})`; });
      ramp.append(make("span", "0 % wrong"), bar, make("span", "50 %"));
      const table = number > 1 ? asTable(make, ["", ...errors.map((_, at) => `answers of group ${at + 1}`)], errors.map((row, at) => [`map of group ${at + 1}`, ...row.map((error) => (error === null ? "" : percentOf(error)))])) : [];
      part("Whose map predicts whose answers?", told, listed([sentence]), ...table, box, ramp);
    }
    if (found.curve) {
      const {by, numbers, errors, low, high, reach, fitted, twice, least, sentences} = found.curve;
      part("Are the answers enough?", `${sentences[1][0].toUpperCase()}${sentences[1].slice(1)}.`, chart((inks) => ({
        title: "Error on new answers" + ["", " (dashed: least possible)", " (dashed, dotted: least possible)"][least.length], xTitle: by + " fitted", x: [...numbers, twice[0]], fromZero: true, tickText: share, isLow: true,
        levels: least.map(([, value], at) => ({value, dash: at ? "1 3" : "4 4"})),
        lines: [
          {name: "measured", x: numbers, values: errors, bars: low.map((value, at) => [value, high[at]]), colour: inks[0], dash: "", isDots: true},
          {name: "curve", x: reach, values: fitted, colour: inks[1], dash: "", isPlain: true},
          {name: "twice as many", x: [twice[0]], values: [twice[1]], bars: [[twice[2], twice[3]]], colour: inks[1], dash: "", isDots: true},
        ],
      })), listed(sentences.filter((_, at) => at !== 1)));
    }
    return () => { for (const draw of drawers) draw(); };
  };
  return {build};
})();
