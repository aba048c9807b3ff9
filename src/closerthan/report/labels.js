// Labels beside points: each tries eight places, and more at the end of a line where that is allowed, and takes the first
// that hides no point and no other label.
const Labels = (() => {
  const CELL = 24;
  const LINE = 14;

  // A grid of what is on the screen already, to look only at what is near.
  const board = () => {
    const grid = new Map();
    const cells = function* ([left, top, right, bottom]) {
      for (let column = Math.floor(left / CELL); column <= Math.floor(right / CELL); column += 1)
        for (let line = Math.floor(top / CELL); line <= Math.floor(bottom / CELL); line += 1)
          yield column * 100000 + line;
    };
    const put = (kind, box) => {
      for (const key of cells(box)) {
        if (!grid.has(key)) grid.set(key, { points: [], boxes: [] });
        grid.get(key)[kind].push(box);
      }
    };
    const isFree = (box, hidden) => {
      const inside = (other) => box[0] < other[2] && box[2] > other[0] && box[1] < other[3] && box[3] > other[1];
      let hides = 0;
      for (const key of cells(box)) {
        const here = grid.get(key);
        if (!here) continue;
        if (here.boxes.some(inside)) return false;
        hides += here.points.filter(inside).length;
        if (hides > hidden) return false;
      }
      return true;
    };
    return { put, isFree };
  };

  // queue: {object, text, width, x, y, gap, rings, hidden} in order of importance; pictures and labels stay inside `bounds`.
  // A label of a ring beyond the first has a `lead`: the end of a line to it from its point.
  const place = (queue, taken, bounds, most) => {
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
        ].map((corner) => [...corner, ring > 0]);
      });
      for (const allowed of hidden) {
        const found = choices.find(([left, top]) => {
          const box = [left, top, left + width, top + LINE];
          return (
            box[0] >= bounds[0] &&
            box[1] >= bounds[1] &&
            box[2] <= bounds[2] &&
            box[3] <= bounds[3] &&
            taken.isFree(box, allowed)
          );
        });
        if (!found) continue;
        taken.put("boxes", [found[0], found[1], found[0] + width, found[1] + LINE]);
        const [left, top, isFar] = found;
        const clamped = (value, low, high) => Math.min(Math.max(value, low), high);
        const lead = isFar ? [clamped(0, left - x, left - x + width), clamped(0, top - y, top - y + LINE)] : null;
        placed.push({ object, text, right: left - x, down: top - y + LINE / 2, lead });
        break;
      }
    }
    return placed;
  };
  return { board, place, LINE };
})();
