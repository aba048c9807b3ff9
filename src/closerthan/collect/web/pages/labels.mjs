// Placement of the names on the researcher's map, so that they overlap neither each other nor the points.

/** A box from its left upper corner.
 * @typedef {{x: number, y: number, width: number, height: number}} Box */

const HEIGHT = 14; // of a line of text
const RADIUS = 5; // of a point, with a margin
// Positions of a label around its point: the signs of its horizontal and vertical distance, from the best to the worst.
const AROUND = [
  [1, 0],
  [-1, 0],
  [0, -1],
  [0, 1],
  [1, -1],
  [1, 1],
  [-1, -1],
  [-1, 1],
];

/** @type {(first: Box, second: Box) => boolean} */
const overlap = (first, second) =>
  first.x < second.x + second.width &&
  second.x < first.x + first.width &&
  first.y < second.y + second.height &&
  second.y < first.y + first.height;

/** @type {(x: number, y: number, width: number, sides: number[]) => Box} */
function boxAt(x, y, width, [across, down]) {
  const left = across === 0 ? x - width / 2 : across > 0 ? x + RADIUS + 2 : x - RADIUS - 2 - width;
  const distance = across === 0 ? RADIUS + HEIGHT / 2 : HEIGHT / 2;
  return { x: left, y: y + down * distance - HEIGHT / 2, width, height: HEIGHT };
}

/** Return the box of each label, given the points and the widths of the labels; null if there is no room for it.
 * @type {(points: number[][], widths: number[], size: number) => (Box | null)[]} */
export function placeLabels(points, widths, size) {
  const taken = points.map(([x, y]) => ({ x: x - RADIUS, y: y - RADIUS, width: 2 * RADIUS, height: 2 * RADIUS }));
  return points.map(([x, y], index) => {
    for (const sides of AROUND) {
      const box = boxAt(x, y, widths[index], sides);
      const isInside = box.x >= 0 && box.y >= 0 && box.x + box.width <= size && box.y + box.height <= size;
      if (!isInside || taken.some((other, number) => number !== index && overlap(box, other))) continue;
      taken.push(box);
      return box;
    }
    return null;
  });
}

const canvas = document.createElement("canvas").getContext("2d");

/** The width of a text in pixels.
 * @type {(text: string, font: string) => number} */
export function widthOf(text, font) {
  if (!canvas) return 7 * text.length;
  canvas.font = font;
  return canvas.measureText(text).width;
}
