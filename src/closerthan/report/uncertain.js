// Uncertain: what lies under the points: ellipses in which an object may lie, and lines between probable neighbours.
const Uncertain = (() => {
  const LEAST = 0.1; // probability of a neighbour: fainter lines are not drawn
  const WIDEST = 4; // pixels, of a line that is sure

  // The half axes and the direction of an ellipse on the screen, from its moments [xx, xy, yy] there.
  const shape = ([xx, xy, yy], radius) => {
    const [mean, off] = [(xx + yy) / 2, Math.hypot((xx - yy) / 2, xy)];
    return {
      long: radius * Math.sqrt(mean + off),
      short: radius * Math.sqrt(Math.max(mean - off, 0)),
      angle: Math.atan2(2 * xy, xx - yy) / 2,
    };
  };

  // How moments of places turn into moments on the screen: by the slopes of the projection beside the point.
  const projected = (moments, slopes) => {
    const sum = [0, 0, 0];
    moments.forEach((row, a) =>
      row.forEach((moment, b) => {
        sum[0] += slopes[a][0] * moment * slopes[b][0];
        sum[1] += slopes[a][0] * moment * slopes[b][1];
        sum[2] += slopes[a][1] * moment * slopes[b][1];
      }),
    );
    return sum;
  };

  const drawEllipse = (pen, x, y, { long, short, angle }, colour) => {
    if (!Number.isFinite(long) || long > 1e5) return;
    pen.beginPath();
    pen.ellipse(x, y, long, Math.max(short, 1), angle, 0, 2 * Math.PI);
    Object.assign(pen, { fillStyle: colour, strokeStyle: colour, lineWidth: 1 });
    pen.globalAlpha = 0.14;
    pen.fill();
    pen.globalAlpha = 0.55;
    pen.stroke();
    pen.globalAlpha = 1;
  };

  const drawLine = (pen, [x0, y0], [x1, y1], share, colour) => {
    if (share < LEAST) return;
    Object.assign(pen, { strokeStyle: colour, lineWidth: WIDEST * share, lineCap: "round" });
    pen.globalAlpha = 0.15 + 0.6 * share;
    pen.beginPath();
    pen.moveTo(x0, y0);
    pen.lineTo(x1, y1);
    pen.stroke();
    pen.globalAlpha = 1;
  };

  // A dashed ring: do not trust this place.
  const drawDoubt = (pen, x, y, half, colour) => {
    pen.setLineDash([3, 3]);
    Object.assign(pen, { strokeStyle: colour, lineWidth: 1.5 });
    pen.beginPath();
    pen.arc(x, y, half, 0, 2 * Math.PI);
    pen.stroke();
    pen.setLineDash([]);
  };
  return { LEAST, shape, projected, drawEllipse, drawLine, drawDoubt };
})();
