// Uncertain: draws confidence ellipses, lines between probable neighbours and rings around unsettled objects.
const Uncertain = (() => {
  const LEAST = 0.1; // neighbours with a smaller probability get no line
  const WIDEST = 4; // pixels, the width of a line with probability one

  /** The semi-axes and the direction of an ellipse, from the covariance [xx, xy, yy] on the screen.
   * @type {(covariance: number[], radius: number) => {long: number, short: number, angle: number}} */
  const shape = ([xx, xy, yy], radius) => {
    const [mean, off] = [(xx + yy) / 2, Math.hypot((xx - yy) / 2, xy)];
    return {
      long: radius * Math.sqrt(mean + off),
      short: radius * Math.sqrt(Math.max(mean - off, 0)),
      angle: Math.atan2(2 * xy, xx - yy) / 2,
    };
  };

  /** The covariance on the screen, from the covariance on the map and the Jacobian of the projection at the point.
   * @type {(moments: number[][], slopes: number[][]) => number[]} */
  const projected = (moments, slopes) => {
    const sum = [0, 0, 0];
    moments.forEach((row, a) => {
      row.forEach((moment, b) => {
        sum[0] += slopes[a][0] * moment * slopes[b][0];
        sum[1] += slopes[a][0] * moment * slopes[b][1];
        sum[2] += slopes[a][1] * moment * slopes[b][1];
      });
    });
    return sum;
  };

  /** @type {(pen: Pen, x: number, y: number, ellipse: ReturnType<typeof shape>, colour: string) => void} */
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

  /** @type {(pen: Pen, from: number[], to: number[], probability: number, colour: string) => void} */
  const drawLine = (pen, [x0, y0], [x1, y1], probability, colour) => {
    if (probability < LEAST) return;
    Object.assign(pen, { strokeStyle: colour, lineWidth: WIDEST * probability, lineCap: "round" });
    pen.globalAlpha = 0.15 + 0.6 * probability;
    pen.beginPath();
    pen.moveTo(x0, y0);
    pen.lineTo(x1, y1);
    pen.stroke();
    pen.globalAlpha = 1;
  };

  /** A dashed ring marks an object whose position should not be trusted.
   * @type {(pen: Pen, x: number, y: number, half: number, colour: string) => void} */
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
