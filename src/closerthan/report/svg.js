// Svg: elements of vector drawings.
const Svg = (() => {
  /**
   * @param {string} tag
   * @param {Record<string, string | number>} attributes
   * @param {string} [text]
   */
  const element = (tag, attributes = {}, text = undefined) => {
    const created = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) created.setAttribute(name, String(value));
    if (text !== undefined) created.textContent = text;
    return created;
  };
  return { element };
})();
