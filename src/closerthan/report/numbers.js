// Numbers: packed arrays from the page's data, numbers as text, and round numbers for axes.
const Numbers = (() => {
  // Coordinates are packed, as a million of them as text would be twice as long and slow to read.
  const unpacked = ({ type, bytes }) => {
    const text = atob(bytes);
    const raw = new Uint8Array(text.length);
    for (let at = 0; at < text.length; at += 1) raw[at] = text.charCodeAt(at);
    return new { Float32Array, Int32Array }[type](raw.buffer);
  };
  const percent = (share) => (100 * share).toFixed(1) + " %";
  const short = (value) => value.toLocaleString("en", { maximumSignificantDigits: 4 });
  const whole = (value) => value.toLocaleString("en");
  const range = (values, isCounted = () => true) => {
    let low = Infinity,
      high = -Infinity;
    for (let at = 0; at < values.length; at += 1) {
      const value = values[at];
      if (value === null || Number.isNaN(value) || !isCounted(at)) continue;
      if (value < low) low = value;
      if (value > high) high = value;
    }
    return low > high ? [0, 1] : [low, high];
  };
  // Steps of 1, 2 or 5 times a power of ten, about `wanted` of them.
  const ticks = (low, high, wanted) => {
    const rough = (high - low) / Math.max(wanted, 1);
    if (!(rough > 0)) return [low];
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].find((factor) => factor * power >= rough * 0.999) * power;
    const found = [];
    for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + step * 1e-9; value += step)
      found.push(Math.abs(value) < step / 1e6 ? 0 : value);
    return found;
  };
  const powers = (low, high) => {
    const found = [];
    const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
    const factors = last - first > 3 ? [1] : [1, 2, 5];
    const every = Math.ceil((last - first) / 8);
    for (let power = first; power <= last; power += every)
      for (const factor of factors)
        if (factor * 10 ** power >= low * 0.999 && factor * 10 ** power <= high * 1.001)
          found.push(factor * 10 ** power);
    return found;
  };
  const tickText = (value) => {
    const size = Math.abs(value);
    if (size >= 1e6 || (size > 0 && size < 1e-4))
      return value.toExponential(1).replace(".0e", "e").replace("e+", "e").replace("-", "−");
    return Number(value.toPrecision(6)).toLocaleString("en", { maximumFractionDigits: 6 }).replace("-", "−");
  };
  return { unpacked, percent, short, whole, range, ticks, powers, tickText };
})();
