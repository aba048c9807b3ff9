// Pictures, videos and sounds: loading them in advance, presenting them, and noticing those that cannot be shown.

/** One object as it is presented: an image, a video, a sound or a text.
 * @typedef {{form: "image" | "video" | "sound" | "text", source?: string, alt?: string, text?: string}} Stimulus */

const AT_ONCE = 6; // files that are loaded in parallel, as many as browsers allow
const PATIENCE = 20000; // milliseconds after which the loading of a file is given up
const UNPLAYED = 5000; // milliseconds; some browsers load nothing of a video before playback starts
const TRIES = 3; // attempts to load a file from a server that reports an error
const RETRY = 2000; // milliseconds between two attempts

/** @type {(milliseconds: number) => Promise<void>} */
const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Load files into the browser's cache. `step` is called with the number of files that are done, loaded or not.
 * @type {(sources: string[], step: (done: number) => void) => Promise<void>} */
export async function loadAll(sources, step) {
  const waiting = [...sources];
  let done = 0;
  const worker = async () => {
    for (let source = waiting.shift(); source !== undefined; source = waiting.shift()) {
      try {
        const reply = await fetch(source, { credentials: "omit", signal: AbortSignal.timeout(PATIENCE) });
        await reply.arrayBuffer();
      } catch {
        // It is loaded again when it is needed; if that fails, too, the question is reported as a fault.
      }
      done += 1;
      step(done);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** For each file, whether it can be shown, once that is known.
 * @type {Map<string, Promise<boolean>>} */
const loaded = new Map();

/** Load the file of a stimulus, and return whether it can be shown. `offline` is called while there is no connection.
 * @type {(stimulus: Stimulus, offline?: () => void) => Promise<boolean>} */
export function load({ form, source }, offline = () => {}) {
  if (!source) return Promise.resolve(true);
  const known = loaded.get(source);
  if (known) return known;
  const result = attempt(form, source, offline);
  loaded.set(source, result);
  result.then((isFine) => isFine || loaded.delete(source)); // it may be there the next time
  return result;
}

/** Whether a file has been loaded.
 * @type {(source: string) => boolean} */
export function isLoaded(source) {
  return loaded.has(source);
}

/** @type {(form: Stimulus["form"], source: string, offline: () => void) => Promise<boolean>} */
async function attempt(form, source, offline) {
  for (let failures = 0; ; ) {
    if (await (form === "image" ? loadImage(source) : loadMedium(form, source))) return true;
    try {
      const reply = await fetch(source, { cache: "reload", credentials: "omit" });
      await reply.arrayBuffer();
      failures += reply.status >= 500 || reply.status === 429 || reply.ok ? 1 : TRIES;
    } catch {
      offline(); // the connection is at fault, and not the file
    }
    if (failures >= TRIES) return false;
    await wait(RETRY);
  }
}

/** @param {string} source */
function loadImage(source) {
  const image = new Image();
  image.src = source;
  return image.decode().then(
    () => true,
    () => false,
  );
}

/** @type {(form: Stimulus["form"], source: string) => Promise<boolean>} */
function loadMedium(form, source) {
  const medium = document.createElement(form === "video" ? "video" : "audio");
  medium.preload = "auto";
  medium.muted = true;
  medium.src = source;
  return new Promise((resolve) => {
    medium.addEventListener("canplaythrough", () => resolve(true), { once: true });
    medium.addEventListener("error", () => resolve(false), { once: true });
    setTimeout(() => resolve(true), UNPLAYED);
  });
}

/** The element that presents a stimulus. A sound gets a button that plays it.
 * @type {(stimulus: Stimulus, texts: Record<string, string>) => HTMLElement} */
export function presentation({ form, source = "", alt = "", text = "" }, texts) {
  if (form === "text") {
    const words = document.createElement("span");
    Object.assign(words, { className: "words", textContent: text, dir: "auto" });
    return words;
  }
  if (form === "image") {
    const image = document.createElement("img");
    Object.assign(image, { src: source, alt, draggable: false, decoding: "sync" });
    return image;
  }
  if (form === "video") {
    const video = document.createElement("video");
    Object.assign(video, { src: source, muted: true, loop: true, playsInline: true, preload: "auto" });
    video.setAttribute("aria-label", alt);
    return video;
  }
  const sound = document.createElement("audio");
  Object.assign(sound, { src: source, preload: "auto" });
  const play = document.createElement("button");
  Object.assign(play, { type: "button", className: "play", textContent: `▶ ${texts.play}` });
  if (alt) play.setAttribute("aria-label", `${texts.play}: ${alt}`);
  play.addEventListener("click", () => {
    for (const other of document.querySelectorAll("audio")) if (other !== sound) other.pause();
    sound.currentTime = 0;
    sound.play().catch(() => {}); // an error event follows if the file is broken
  });
  sound.addEventListener("ended", () => {
    play.classList.add("played");
    play.setAttribute("aria-label", [`${texts.play}: ${alt}`.replace(/: $/, ""), texts.played].join(", "));
  });
  const both = document.createElement("span");
  both.className = "player";
  both.append(sound, play);
  return both;
}

/** @param {Element} element */
const media = (element) => /** @type {HTMLMediaElement[]} */ ([...element.querySelectorAll("audio, video")]);

/** Resolve when all sounds and videos in an element have been played to the end.
 * @type {(element: Element) => Promise<unknown>} */
export function allPlayed(element) {
  return Promise.all(
    media(element).map((medium) => {
      const { loop } = medium;
      medium.loop = false; // a medium that loops never ends
      return new Promise((resolve) => {
        const end = () => {
          medium.loop = loop;
          if (loop) medium.play().catch(() => {});
          resolve(undefined);
        };
        medium.addEventListener("ended", end, { once: true });
      });
    }),
  );
}

/** Resolve when a sound or video in an element turns out to be broken.
 * @type {(element: Element) => Promise<HTMLMediaElement>} */
export function broken(element) {
  return Promise.race(
    media(element).map(
      (medium) => new Promise((resolve) => medium.addEventListener("error", () => resolve(medium), { once: true })),
    ),
  );
}

/** Play or pause all videos in an element.
 * @type {(element: ParentNode, isPlaying: boolean) => void} */
export function playVideos(element, isPlaying) {
  for (const video of /** @type {NodeListOf<HTMLVideoElement>} */ (element.querySelectorAll("video"))) {
    if (isPlaying) video.play().catch(() => {});
    else video.pause();
  }
}

/** Pause all sounds and videos. */
export function pauseAll() {
  for (const medium of media(document.body)) medium.pause();
}
