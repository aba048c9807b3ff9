// Labels: places names beside points. Each name tries eight positions around its point and, where that is allowed,
// further ones joined to it by a line. It takes the first position that covers no point and no other name.

/** Left, top, right, bottom, in pixels.
 * @typedef {number[]} Box */
/** A name to place. `gap`: its distance from the point, across and along. `rings`: additional distances to try, in
 * pixels. `hidden`: the numbers of points that it may cover, tried one after the other.
 * @typedef {{object: number, text: string, width: number, x: number, y: number, gap: number[], rings: number[],
 *   hidden: number[]}} Candidate */
/** A name at its position relative to the point; `lead` is the end of a line from the point to a distant name.
 * @typedef {{object: number, text: string, right: number, down: number, lead: number[] | null}} PlacedName */

const Labels = (() => {
  const CELL = 24; // pixels
  const LINE = 14; // pixels

  // The occupied parts of the screen, in a grid, so that only nearby items need to be compared.
  const board = () => {
    const grid = new Map();
    /** @param {Box} box */
    const cells = function* ([left, top, right, bottom]) {
      for (let column = Math.floor(left / CELL); column <= Math.floor(right / CELL); column += 1)
        for (let line = Math.floor(top / CELL); line <= Math.floor(bottom / CELL); line += 1)
          yield column * 100000 + line;
    };
    /** @type {(kind: "points" | "boxes", box: Box) => void} */
    const put = (kind, box) => {
      for (const key of cells(box)) {
        if (!grid.has(key)) grid.set(key, { points: [], boxes: [] });
        grid.get(key)[kind].push(box);
      }
    };
    /** Whether a box overlaps no other box and at most `hidden` points.
     * @type {(box: Box, hidden: number) => boolean} */
    const isFree = (box, hidden) => {
      /** @param {Box} other */
      const overlaps = (other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1];
      let hides = 0;
      for (const key of cells(box)) {
        const here = grid.get(key);
        if (!here) continue;
        if (here.boxes.some(overlaps)) return false;
        hides += here.points.filter(overlaps).length;
        if (hides > hidden) return false;
      }
      return true;
    };
    return { put, isFree };
  };

  /**
   * Place at most `most` names, in order of importance, inside `bounds`.
   * @param {Candidate[]} queue
   * @param {ReturnType<typeof board>} taken
   * @param {Box} bounds
   * @param {number} most
   */
  const place = (queue, taken, bounds, most) => {
    /** @type {PlacedName[]} */
    const placed = [];
    for (const { object, text, width, x, y, gap, rings, hidden } of queue) {
      if (placed.length >= most) break;
      const choices = rings.flatMap((ring) => {
        const [across, along] = [gap[0] + ring, gap[1] + ring];
        return [
          [x + across, y - LINE / 2],
          [x - across - width, y - LINE / 2],
          [x - width / 2, y - along - LINE],
          [x - width / 2, y + along],
          ...[-along * 0.7 - LINE, along * 0.7].flatMap((down) => [
            [x + across * 0.7, y + down],
            [x - across * 0.7 - width, y + down],
          ]),
        ].map(([left, top]) => ({ left, top, isFar: ring > 0 }));
      });
      for (const allowed of hidden) {
        const position = choices.find(({ left, top }) => {
          const box = [left, top, left + width, top + LINE];
          return (
            box[0] >= bounds[0] &&
            box[1] >= bounds[1] &&
            box[2] <= bounds[2] &&
            box[3] <= bounds[3] &&
            taken.isFree(box, allowed)
          );
        });
        if (!position) continue;
        const { left, top, isFar } = position;
        taken.put("boxes", [left, top, left + width, top + LINE]);
        /** @type {(value: number, low: number, high: number) => number} */
        const clamped = (value, low, high) => Math.min(Math.max(value, low), high);
        const lead = isFar ? [clamped(0, left - x, left - x + width), clamped(0, top - y, top - y + LINE)] : null;
        placed.push({ object, text, right: left - x, down: top - y + LINE / 2, lead });
        break;
      }
    }
    return placed;
  };
  return { board, place };
})();
