// Points: draws points on a canvas, with WebGL if there are many, otherwise with the 2D context that every browser has.

/** @typedef {CanvasRenderingContext2D} Pen */
/** Colours (RGBA, four bytes per object), shapes (one code per object) and size (pixels) of all points.
 * @typedef {{colours: Uint8Array, shapes: Uint8Array, size: number}} Looks */
/** Positions of all points on the screen; depth and scale in three dimensions only.
 * @typedef {{width: number, height: number, x: Float32Array, y: Float32Array,
 *   depth: Float32Array | null, scale: Float32Array | null}} Projection */

const Points = (() => {
  const MANY = 5000; // with more points than this, WebGL is used
  // Corners are in units of half a point's size. The legend draws the same shapes.
  const SHAPES = ["circle", "square", "triangle", "diamond", "wedge"];
  /** @type {Record<string, number[][]>} */
  const corners = {
    square: [
      [-0.85, -0.85],
      [0.85, -0.85],
      [0.85, 0.85],
      [-0.85, 0.85],
    ],
    triangle: [
      [0, -1],
      [1, 0.8],
      [-1, 0.8],
    ],
    diamond: [
      [0, -1],
      [1, 0],
      [0, 1],
      [-1, 0],
    ],
    wedge: [
      [0, 1],
      [1, -0.8],
      [-1, -0.8],
    ],
  };

  /** The 2D context of a canvas that has no other context.
   * @type {(canvas: HTMLCanvasElement) => Pen} */
  const penOf = (canvas) => /** @type {Pen} */ (canvas.getContext("2d"));

  /** @type {(pen: Pen, shape: number, x: number, y: number, half: number) => void} */
  const trace = (pen, shape, x, y, half) => {
    pen.beginPath();
    if (shape === 0) pen.arc(x, y, half, 0, 2 * Math.PI);
    else {
      for (const [right, down] of corners[SHAPES[shape]]) pen.lineTo(x + right * half, y + down * half);
      pen.closePath();
    }
  };
  /** The shape as the path data of an SVG element.
   * @type {(shape: number) => string} */
  const outline = (shape) =>
    shape === 0
      ? "M1 0A1 1 0 1 1-1 0A1 1 0 1 1 1 0"
      : `M${corners[SHAPES[shape]].map((corner) => corner.join(" ")).join("L")}Z`;

  /** Draw without WebGL, the farthest point first, so that near points lie on top.
   * @type {(pen: Pen, points: Looks, screen: Projection, edge: string) => void} */
  const paint = (pen, points, screen, edge) => {
    const { colours, shapes, size } = points;
    const count = shapes.length;
    let order = null;
    const { depth } = screen;
    if (depth) order = Uint32Array.from(shapes, (_, at) => at).sort((a, b) => depth[b] - depth[a]);
    for (let turn = 0; turn < count; turn += 1) {
      const at = order ? order[turn] : turn;
      const [x, y] = [screen.x[at], screen.y[at]];
      if (!(x > -20 && y > -20 && x < screen.width + 20 && y < screen.height + 20)) continue;
      const [red, green, blue, alpha] = colours.subarray(4 * at, 4 * at + 4);
      pen.fillStyle = `rgba(${red},${green},${blue},${alpha / 255})`;
      const half = (size / 2) * (screen.scale ? screen.scale[at] : 1);
      if (count > 4 * MANY) {
        pen.fillRect(x - half, y - half, 2 * half, 2 * half);
        continue;
      }
      trace(pen, shapes[at], x, y, half);
      pen.fill();
      if (count <= 800 && alpha > 100) {
        pen.strokeStyle = edge;
        pen.lineWidth = 0.8;
        pen.stroke();
      }
    }
  };

  const VERTEX = `
    attribute vec3 place; attribute vec4 colour; attribute float shape;
    uniform mat4 matrix; uniform float size;
    varying vec4 ink; varying float kind;
    void main() {
      gl_Position = matrix * vec4(place, 1.0);
      gl_PointSize = size / gl_Position.w;
      ink = colour; kind = shape;
    }`;
  const FRAGMENT = `
    precision mediump float;
    varying vec4 ink; varying float kind;
    void main() {
      vec2 at = gl_PointCoord * 2.0 - 1.0;
      bool inside = true;
      if (kind < 0.5) inside = dot(at, at) <= 1.0;
      else if (kind < 1.5) inside = max(abs(at.x), abs(at.y)) <= 0.85;
      else if (kind < 2.5) inside = at.y <= 0.8 && abs(at.x) <= (at.y + 1.0) / 1.8;
      else if (kind < 3.5) inside = abs(at.x) + abs(at.y) <= 1.0;
      else inside = at.y >= -0.8 && abs(at.x) <= (1.0 - at.y) / 1.8;
      if (!inside) discard;
      gl_FragColor = vec4(ink.rgb * ink.a, ink.a);
    }`;

  /** A WebGL renderer that keeps the points in the graphics card's memory, or null if WebGL is missing.
   * @param {HTMLCanvasElement} canvas */
  const painter = (canvas) => {
    const gl = canvas.getContext("webgl", { preserveDrawingBuffer: true, premultipliedAlpha: true, antialias: false });
    if (!gl) return null;
    const program = gl.createProgram();
    /** @type {[number, string][]} */
    const sources = [
      [gl.VERTEX_SHADER, VERTEX],
      [gl.FRAGMENT_SHADER, FRAGMENT],
    ];
    for (const [kind, source] of sources) {
      const shader = gl.createShader(kind);
      if (!shader) return null;
      gl.shaderSource(shader, source);
      gl.compileShader(shader);
      gl.attachShader(program, shader);
    }
    gl.linkProgram(program);
    if (!gl.getProgramParameter(program, gl.LINK_STATUS)) return null;
    gl.useProgram(program);
    /** @type {Record<string, WebGLBuffer>} */
    const buffers = { place: gl.createBuffer(), colour: gl.createBuffer(), shape: gl.createBuffer() };
    /** @type {(name: string, array: Float32Array | Uint8Array, parts: number, type: number) => void} */
    const fill = (name, array, parts, type) => {
      const where = gl.getAttribLocation(program, name);
      gl.bindBuffer(gl.ARRAY_BUFFER, buffers[name]);
      gl.bufferData(gl.ARRAY_BUFFER, array, gl.STATIC_DRAW);
      gl.enableVertexAttribArray(where);
      gl.vertexAttribPointer(where, parts, type, name === "colour", 0, 0);
    };
    /** @param {string} name */
    const at = (name) => gl.getUniformLocation(program, name);
    return {
      /** @param {Float32Array} places */
      setPlaces: (places) => fill("place", places, 3, gl.FLOAT),
      /** @param {Looks} looks */
      setLooks: ({ colours, shapes }) => {
        fill("colour", colours, 4, gl.UNSIGNED_BYTE);
        fill("shape", shapes, 1, gl.UNSIGNED_BYTE);
      },
      /**
       * @param {number} count
       * @param {{matrix: Float32Array, size: number, window: number[], isSolid: boolean}} view
       */
      draw: (count, { matrix, size, window: [left, bottom, width, height], isSolid }) => {
        gl.viewport(0, 0, canvas.width, canvas.height);
        gl.disable(gl.SCISSOR_TEST);
        gl.clearColor(0, 0, 0, 0);
        gl.clear(gl.COLOR_BUFFER_BIT | gl.DEPTH_BUFFER_BIT);
        gl.enable(gl.SCISSOR_TEST);
        gl.scissor(left, bottom, width, height);
        if (isSolid) gl.enable(gl.DEPTH_TEST);
        else gl.disable(gl.DEPTH_TEST);
        gl.enable(gl.BLEND);
        gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
        gl.uniformMatrix4fv(at("matrix"), false, matrix);
        gl.uniform1f(at("size"), size);
        gl.drawArrays(gl.POINTS, 0, count);
      },
    };
  };
  return { MANY, penOf, paint, painter, outline, kinds: SHAPES.length };
})();
