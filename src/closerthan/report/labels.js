// Labels beside points: each tries eight places and takes the first that hides no point and no other label.
const Labels = (() => {
  const CELL = 24;
  const LINE = 14;

  // A grid of what is on the screen already, to look only at what is near.
  const board = () => {
    const grid = new Map();
    const cells = function* ([left, top, right, bottom]) {
      for (let column = Math.floor(left / CELL); column <= Math.floor(right / CELL); column += 1)
        for (let line = Math.floor(top / CELL); line <= Math.floor(bottom / CELL); line += 1) yield column * 100000 + line;
    };
    const put = (kind, box) => {
      for (const key of cells(box)) {
        if (!grid.has(key)) grid.set(key, {points: [], boxes: []});
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
    return {put, isFree};
  };

  // queue: {object, text, width, x, y, gap, hidden} in order of importance; pictures and labels stay inside `bounds`.
  const place = (queue, taken, bounds, most) => {
    const placed = [];
    for (const {object, text, width, x, y, gap, hidden} of queue) {
      if (placed.length >= most) break;
      const choices = [
        [x + gap[0], y - LINE / 2],
        [x - gap[0] - width, y - LINE / 2],
        [x - width / 2, y - gap[1] - LINE],
        [x - width / 2, y + gap[1]],
        ...[-gap[1] * 0.7 - LINE, gap[1] * 0.7].flatMap((down) => [[x + gap[0] * 0.7, y + down], [x - gap[0] * 0.7 - width, y + down]]),
      ];
      for (const allowed of hidden) {
        const found = choices.find(([left, top]) => {
          const box = [left, top, left + width, top + LINE];
          return box[0] >= bounds[0] && box[1] >= bounds[1] && box[2] <= bounds[2] && box[3] <= bounds[3] && taken.isFree(box, allowed);
        });
        if (!found) continue;
        taken.put("boxes", [found[0], found[1], found[0] + width, found[1] + LINE]);
        placed.push({object, text, right: found[0] - x, down: found[1] - y + LINE / 2});
        break;
      }
    }
    return placed;
  };
  return {board, place, LINE};
})();
