// Groups: the section about clusters of objects, how certain they are, and the tree from which they were cut.

/** The merges of a hierarchical clustering and their heights.
 * @typedef {{merges: Packed, heights: number[]}} Tree */
/** The clusters; see groups.py.
 * @typedef {{sentence: string, doubtful: number[], tree: Tree | null,
 *   rows: {around: number, members: number[], more: number, certainty: string | null}[]}} Clusters */
/** Functions of the page that sections use to create elements.
 * @typedef {{make: (tag: string, text?: string | null, options?: object) => any,
 *   nameButton: (object: number) => Element, colour: (name: string) => string}} Tools */
/** @typedef {Tools & {nameOf: (object: number) => string, choose: (object: number, from: Element) => void,
 *   text: (object: number) => string, inkOf: (object: number) => string,
 *   markOf: (object: number) => Element}} GroupTools */

const Groups = (() => {
  const LEAF = 16; // pixels from leaf to leaf
  const LETTER = 7.5; // pixels, approximate width
  const WIDEST = 760; // pixels
  const MANY = 80; // trees with more leaves are folded away

  const shape = Svg.element;

  /** Order the leaves such that no lines cross.
   * @param {Tree} tree */
  const unfolded = ({ merges, heights }) => {
    const ends = Numbers.unpacked(merges);
    const count = heights.length + 1;
    /** @type {number[]} */
    const leaves = [];
    const open = [2 * count - 2];
    for (let node = open.pop(); node !== undefined; node = open.pop()) {
      if (node < count) leaves.push(node);
      else open.push(ends[2 * (node - count) + 1], ends[2 * (node - count)]);
    }
    return { ends, count, leaves };
  };

  /** @type {(box: Element, tree: Tree, tools: GroupTools & {number: number}) => void} */
  const drawTree = (box, tree, { number, colour, inkOf, text, nameOf, choose }) => {
    const { ends, count, leaves } = unfolded(tree);
    const names = Math.min(LETTER * Math.max(...leaves.map((leaf) => text(leaf).length)), 180) + 10;
    const width = Math.max(Math.min(box.clientWidth || WIDEST, WIDEST), 260);
    const top = Math.max(...tree.heights) || 1;
    /** @param {number} height */
    const toX = (height) => width - names - (height / top) * (width - names - 6);
    const picture = shape("svg", {
      viewBox: `0 0 ${width} ${LEAF * count + 6}`,
      width,
      height: LEAF * count + 6,
      role: "group",
      "aria-label": "Tree of the objects",
    });
    const places = new Array(2 * count - 1);
    const levels = new Array(2 * count - 1).fill(0);
    const inks = new Array(2 * count - 1);
    leaves.forEach((leaf, at) => {
      places[leaf] = LEAF * (at + 0.5) + 3;
      inks[leaf] = inkOf(leaf);
    });
    tree.heights.forEach((height, merge) => {
      const [one, other] = [ends[2 * merge], ends[2 * merge + 1]];
      const node = count + merge;
      const isInside = merge < count - number;
      places[node] = (places[one] + places[other]) / 2;
      levels[node] = height;
      inks[node] = isInside ? inks[one] : colour("faint");
      for (const part of [one, other])
        picture.append(
          shape("path", {
            d: `M${toX(levels[part]).toFixed(1)} ${places[part]}H${toX(height).toFixed(1)}`,
            stroke: inks[part],
            "stroke-width": 1.5,
            fill: "none",
          }),
        );
      picture.append(
        shape("path", {
          d: `M${toX(height).toFixed(1)} ${places[one]}V${places[other]}`,
          stroke: inks[node],
          "stroke-width": 1.5,
          fill: "none",
        }),
      );
    });
    for (const leaf of leaves) {
      const name = shape(
        "text",
        {
          x: width - names + 6,
          y: places[leaf] + 4,
          "font-size": 12,
          fill: colour("ink"),
          role: "button",
          tabindex: 0,
          class: "leaf",
          "aria-label": nameOf(leaf),
        },
        text(leaf),
      );
      name.append(shape("title", {}, nameOf(leaf)));
      name.addEventListener("click", () => choose(leaf, name));
      name.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") {
          event.preventDefault();
          choose(leaf, name);
        }
      });
      picture.append(name);
    }
    box.replaceChildren(picture);
  };

  /** Build the section. Return a function that draws its tree, to be called after each change of size or colours.
   * @type {(section: Element, clusters: Clusters, tools: GroupTools) => () => void} */
  const build = (section, clusters, tools) => {
    const { make, nameButton, markOf } = tools;
    const { sentence, rows, doubtful, tree } = clusters;
    const box = make("div", null, { className: "finding" });
    /** @type {(objects: number[], more: number) => (Element | string)[]} */
    const listed = (objects, more) =>
      objects
        .flatMap((object, at) => (at ? [", ", nameButton(object)] : [nameButton(object)]))
        .concat(more ? [` and ${Numbers.whole(more)} more`] : []);
    box.append(make("p", sentence));
    const table = make("table", null, { className: "stacked" });
    const head = make("tr");
    /** @type {(() => void)[]} */
    const dots = [];
    const hasCertainty = rows.some(({ certainty }) => certainty !== null);
    for (const title of ["Group", "Around", ...(hasCertainty ? ["Certainty"] : []), "Objects"])
      head.append(make("th", title, { scope: "col" }));
    table.append(make("thead"), make("tbody"));
    table.tHead.append(head);
    rows.forEach(({ around, members, more, certainty }, at) => {
      const row = make("tr");
      const first = make("td", null, { className: "word" });
      const middle = make("td", null, { className: "word" });
      const last = make("td");
      [first.dataset.label, middle.dataset.label] = ["Group", "Around"];
      const mark = make("span", null, { className: "mark" });
      dots.push(() => mark.replaceChildren(markOf(around)));
      first.append(mark, String(at + 1));
      middle.append(nameButton(around));
      last.append(...listed(members, more));
      row.append(first, middle);
      if (hasCertainty) {
        const cell = make("td", certainty, { className: "word" });
        cell.dataset.label = "Certainty";
        row.append(cell);
      }
      row.append(last);
      table.tBodies[0].append(row);
    });
    const scroll = make("div", null, { className: "scroll" });
    scroll.append(table);
    box.append(scroll);
    if (hasCertainty) {
      box.append(
        make("p", "Certainty: fraction of maps of resampled answers on which two of its objects share a group.", {
          className: "faint",
        }),
      );
      if (doubtful.length) {
        const names = make("p");
        names.append(
          "These objects are in their group on fewer than half of these maps, so do not assign them to any: ",
          ...listed(doubtful, 0),
          ".",
        );
        box.append(names);
      }
    }
    section.append(box);
    if (!tree)
      return () => {
        for (const draw of dots) draw();
      };
    const drawing = make("div", null, { className: "tree" });
    const count = tree.heights.length + 1;
    if (count > MANY) {
      const fold = make("details");
      fold.append(make("summary", `The tree of all ${Numbers.whole(count)} objects`), drawing);
      box.append(fold);
    } else box.append(drawing);
    return () => {
      for (const draw of dots) draw();
      drawTree(drawing, tree, { number: rows.length, ...tools });
    };
  };
  return { build };
})();
