// Numbers: decoding of the page's packed arrays, formatting, and round tick values for axes.

/** An array as base64; see packing.py.
 * @typedef {{type: "Float32Array" | "Int32Array", bytes: string}} Packed */

const Numbers = (() => {
  /**
   * Decode an array. Arrays travel as base64: a million coordinates as text would be twice as long and slow to parse.
   * @param {Packed} packed
   */
  const unpacked = ({ type, bytes }) => {
    const text = atob(bytes);
    const raw = new Uint8Array(text.length);
    for (let at = 0; at < text.length; at += 1) raw[at] = text.charCodeAt(at);
    return new { Float32Array, Int32Array }[type](raw.buffer);
  };
  /** @param {number} fraction */
  const percent = (fraction) => `${(100 * fraction).toFixed(1)} %`;
  /** @param {number} value */
  const short = (value) => value.toLocaleString("en", { maximumSignificantDigits: 4 });
  /** @param {number} value */
  const whole = (value) => value.toLocaleString("en");

  /**
   * The smallest and the largest value, ignoring missing ones.
   * @param {ArrayLike<number>} values
   * @param {(at: number) => boolean} isIncluded
   * @returns {[number, number]}
   */
  const range = (values, isIncluded = () => true) => {
    let low = Infinity;
    let high = -Infinity;
    for (let at = 0; at < values.length; at += 1) {
      const value = values[at];
      if (value === null || Number.isNaN(value) || !isIncluded(at)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
    return low > high ? [0, 1] : [low, high];
  };

  /**
   * About `number` ticks whose step is 1, 2 or 5 times a power of ten.
   * @param {number} low
   * @param {number} high
   * @param {number} number
   */
  const ticks = (low, high, number) => {
    const rough = (high - low) / Math.max(number, 1);
    if (!(rough > 0)) return [low];
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = ([1, 2, 5].find((factor) => factor * power >= rough * 0.999) ?? 10) * power;
    const values = [];
    for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + step * 1e-9; value += step)
      values.push(Math.abs(value) < step / 1e6 ? 0 : value);
    return values;
  };

  /**
   * Ticks of a logarithmic axis.
   * @param {number} low
   * @param {number} high
   */
  const powers = (low, high) => {
    const values = [];
    const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
    const factors = last - first > 3 ? [1] : [1, 2, 5];
    const every = Math.ceil((last - first) / 8);
    for (let power = first; power <= last; power += every)
      for (const factor of factors)
        if (factor * 10 ** power >= low * 0.999 && factor * 10 ** power <= high * 1.001)
          values.push(factor * 10 ** power);
    return values;
  };
  /** @param {number} value */
  const tickText = (value) => {
    const size = Math.abs(value);
    if (size >= 1e6 || (size > 0 && size < 1e-4))
      return value.toExponential(1).replace(".0e", "e").replace("e+", "e").replace("-", "−");
    return Number(value.toPrecision(6)).toLocaleString("en", { maximumFractionDigits: 6 }).replace("-", "−");
  };
  return { unpacked, percent, short, whole, range, ticks, powers, tickText };
})();
