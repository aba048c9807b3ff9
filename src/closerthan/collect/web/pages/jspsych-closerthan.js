// A jsPsych plugin (versions 7 and 8) that gets its questions from a study's server and sends the answers there.
//
//   const server = "https://lab.example.org/animals/";
//   const questions = { type: jsPsychCloserThan, server, consent: "given", number: 20 };
//   jsPsych.run([instructions, questions, debriefing]);
"use strict";

/** @typedef {{form: string, source?: string, alt?: string, text?: string}} Stimulus */
/** @typedef {{id: string, place: number, of: number, practice: boolean, anchor: Stimulus | null,
 *   options: Stimulus[]}} Question */
/** @typedef {{stage: string, questions: Question[], code?: string, withdrawal?: string,
 *   texts?: {question: string, instructions: string}}} State */
/** @typedef {{kind: string, picks?: number, consent: string, version: string, question: string, keys: boolean,
 *   tie: boolean, skip: boolean, must_play: boolean, pause_ms: number, parameters: string[],
 *   language: string, direction: string,
 *   texts: Record<string, string>}} Study */
/** @typedef {number | number[] | "tie" | "skip" | {fault: number[]}} Choice */
/** One answer, as it appears in the data of the trial.
 * @typedef {{question: string, place: number, practice: boolean, choice: Choice, rt: number | null}} Answer */

/** @type {any} */ (globalThis).jsPsychCloserThan = (() => {
  const PAUSES = [500, 1000, 2000, 4000, 8000, 15000]; // milliseconds between attempts to send
  const STYLE = `
    .closerthan { text-align: center; max-width: 62rem; margin: auto; }
    .closerthan-row { display: flex; flex-wrap: wrap; gap: 1rem; justify-content: center; margin: 0.6rem 0;
      direction: ltr; }
    .closerthan p { margin: 0.4rem 0; }
    .closerthan-card { width: min(44vw, 17rem); min-height: 3rem; padding: 0.6rem; background: #fff; color: #1b1d21;
      border: 2px solid #868d99; border-radius: 0.8rem; box-sizing: border-box; font: inherit;
      overflow-wrap: anywhere; }
    .closerthan-card img, .closerthan-card video { width: 100%; height: min(26vh, 16rem, 36vw); object-fit: contain; }
    .closerthan-card[aria-pressed=true] { box-shadow: 0 0 0 4px #0a5ba8; }
    .closerthan button { font: inherit; min-height: 2.75rem; cursor: pointer; }
    .closerthan :focus-visible { outline: 3px solid #0a5ba8; outline-offset: 3px; }`;

  /** The types of parameters; only jsPsych itself needs them. */
  const { ParameterType = {} } = /** @type {any} */ (globalThis).jsPsychModule ?? {};

  class Refusal extends Error {
    /**
     * @param {number} status
     * @param {string} reason
     */
    constructor(status, reason) {
      super(`the server of the study refused a request (${status}): ${reason}`);
      this.status = status;
    }
  }

  /** @type {(milliseconds: number) => Promise<void>} */
  const wait = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

  /** @type {(tag: string, properties?: object, ...children: (Node | string)[]) => any} */
  function make(tag, properties = {}, ...children) {
    const element = document.createElement(tag);
    Object.assign(element, properties);
    element.append(...children);
    return element;
  }

  /** A participant of a study: the requests to its server. */
  class Participant {
    /**
     * @param {string} server
     * @param {Record<string, string>} address
     */
    constructor(server, address) {
      this.server = server.endsWith("/") ? server : `${server}/`;
      this.address = address;
      /** Called with whether the server can be reached. */
      this.connection = (/** @type {boolean} */ _) => {};
      this.key = this.#key();
    }

    /** The participant's secret, which stays the same until the tab is closed. */
    #key() {
      const name = `closerthan jspsych ${this.server} ${JSON.stringify(this.address)}`;
      const bytes = crypto.getRandomValues(new Uint8Array(18));
      const fresh = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
      try {
        const key = sessionStorage.getItem(name) ?? fresh;
        sessionStorage.setItem(name, key);
        return key;
      } catch {
        return fresh; // storage is disabled, so a reload starts from the beginning
      }
    }

    /** Send a request until the server answers it. Throw Refusal if the server rejects it.
     * @type {(path: string, body?: object) => Promise<any>} */
    async ask(path, body) {
      for (let tries = 0; ; tries += 1) {
        try {
          const reply = await fetch(this.server + path, {
            method: body === undefined ? "GET" : "POST",
            headers: { "Content-Type": "application/json", Authorization: `Bearer ${this.key}` },
            body: body === undefined ? undefined : JSON.stringify(body),
            cache: "no-store",
            credentials: "omit",
          });
          if (reply.status < 500 && reply.status !== 429) {
            this.connection(true);
            if (!reply.ok) throw new Refusal(reply.status, (await reply.json()).error);
            return await reply.json();
          }
        } catch (error) {
          if (error instanceof Refusal) throw error;
        }
        if (tries > 0) this.connection(false);
        await wait(PAUSES[Math.min(tries, PAUSES.length - 1)]);
      }
    }

    /** Join the study, unless that has been done before.
     * @type {(version: string) => Promise<State>} */
    async join(version) {
      return this.ask("join", { consent: version, address: this.address });
    }

    /** The current state, or null for somebody who has not joined.
     * @returns {Promise<State | null>} */
    async state() {
      try {
        return await this.ask("state");
      } catch (error) {
        if (error instanceof Refusal && error.status === 401) return null;
        throw error;
      }
    }
  }

  class CloserThanPlugin {
    static info = {
      name: "closerthan",
      version: "1.0.0",
      parameters: {
        /** The address of the study's server, whose study.toml lists this page's origin in [embed]. */
        server: { type: ParameterType.STRING, default: undefined },
        /** The largest number of questions of this trial, with practice; null: until there are no more. */
        number: { type: ParameterType.INT, default: null },
        /** "show": the trial begins with the study's consent text; "given": an earlier trial has asked for consent. */
        consent: { type: ParameterType.STRING, default: "show" },
        /** The recruiter's parameters; by default, those in the address of this page. */
        address: { type: ParameterType.OBJECT, default: null },
      },
      data: {
        /** The answers of this trial: question, place, practice, choice and rt in milliseconds. */
        answers: { type: ParameterType.COMPLEX, array: true },
        /** "questions" if there are more of them; otherwise how the interview ended, such as "complete". */
        stage: { type: ParameterType.STRING },
        /** The completion code, if the interview has ended. */
        code: { type: ParameterType.STRING },
        /** The code with which the participant can have the answers deleted. */
        withdrawal: { type: ParameterType.STRING },
      },
    };

    /** @param {any} jsPsych */
    constructor(jsPsych) {
      this.jsPsych = jsPsych;
    }

    /** @type {(display: HTMLElement, trial: {server: string, number: number | null, consent: string,
     *   address: Record<string, string> | null}) => void} */
    trial(display, trial) {
      this.#run(display, trial).then(
        (data) => {
          display.replaceChildren();
          this.jsPsych.finishTrial(data);
        },
        (error) => {
          display.replaceChildren(make("p", { role: "alert", textContent: String(error.message) }));
          throw error;
        },
      );
    }

    /** @type {(display: HTMLElement, trial: any) => Promise<object>} */
    async #run(display, { server, number, consent, address }) {
      if (!server) throw new Error("the parameter server is missing; it must be the address of a study");
      if (!["show", "given"].includes(consent))
        throw new Error(`the parameter consent is "${consent}"; it must be "show" or "given"`);
      const query = Object.fromEntries(new URLSearchParams(location.search));
      const participant = new Participant(new URL(server, location.href).href, address ?? query);
      const notice = make("p", { role: "status" });
      const main = make("div", {});
      const root = make("div", { className: "closerthan" }, make("style", {}, STYLE), notice, main);
      display.replaceChildren(root);
      /** @type {Study} */
      const study = await participant.ask("study");
      Object.assign(root, { lang: study.language, dir: study.direction });
      participant.connection = (isThere) => {
        notice.textContent = isThere ? "" : study.texts.waiting;
      };
      let state = await participant.state();
      if (state === null || state.stage === "consent") {
        if (consent === "show" && !(await this.#agrees(main, study))) return { answers: [], stage: "declined" };
        state = await participant.join(study.version);
      }
      /** @type {Answer[]} */
      const answers = [];
      Object.assign(study, state.texts ?? {}); // those of the participant's condition
      while (state.stage === "questions" && (number === null || answers.length < number)) {
        const question = state.questions[0];
        const { choice, rt } = await this.#answer(main, notice, participant.server, study, question);
        answers.push({ question: question.id, place: question.place, practice: question.practice, choice, rt });
        state = /** @type {State} */ (await participant.ask("answer", { question: question.id, choice, rt_ms: rt }));
      }
      if (["before", "comprehension", "after"].includes(state.stage))
        throw new Error(`this plugin shows only questions; remove the questionnaire and [comprehension] in study.toml`);
      return { answers, stage: state.stage, code: state.code ?? "", withdrawal: state.withdrawal ?? "" };
    }

    /** @type {(main: HTMLElement, study: Study) => Promise<boolean>} */
    #agrees(main, study) {
      return new Promise((resolve) => {
        const agree = make("button", { type: "button", textContent: study.texts.agree, onclick: () => resolve(true) });
        const decline = make("button", { type: "button", textContent: study.texts.decline });
        decline.onclick = () => resolve(false);
        const texts = study.consent.split(/\n\s*\n/).map((text) => make("p", { textContent: text }));
        main.replaceChildren(...texts, make("div", { className: "closerthan-row" }, agree, decline));
      });
    }

    /** Show a question until it is answered.
     * @type {(main: HTMLElement, notice: HTMLElement, server: string, study: Study, question: Question) =>
     *   Promise<{choice: Choice, rt: number | null}>} */
    async #answer(main, notice, server, study, question) {
      const { texts } = study;
      const stimuli = [...(question.anchor ? [question.anchor] : []), ...question.options];
      const broken = await Promise.all(
        stimuli.map(({ form, source }) => form === "image" && isBroken(server + source)),
      );
      const faulty = broken.flatMap((isFaulty, position) => (isFaulty ? [position] : []));
      if (faulty.length) return { choice: { fault: faulty }, rt: null };
      await wait(study.pause_ms);
      return new Promise((resolve) => {
        /** @type {number | null} */
        let since = null;
        /** @type {number[]} */
        const picked = [];
        const n_picks = study.picks ?? 1;
        const finish = (/** @type {Choice} */ choice) => {
          const isAnswer = choice !== "skip" && (typeof choice !== "object" || Array.isArray(choice));
          if (since === null && isAnswer) {
            notice.textContent = texts.play_first;
            return;
          }
          document.removeEventListener("keydown", press);
          notice.textContent = "";
          resolve({ choice, rt: since === null ? null : Math.round(performance.now() - since) });
        };
        const pick = (/** @type {number} */ index) => {
          if (["nearest", "rank"].includes(study.kind)) {
            const place = picked.indexOf(index);
            if (place < 0) picked.push(index);
            else picked.splice(place, 1);
            cards[index].setAttribute("aria-pressed", String(place < 0));
            if (picked.length === n_picks) finish(picked);
          } else finish(index);
        };
        const cards = question.options.map((thing, index) => {
          const label = texts.option.replace("{number}", String(index + 1));
          const card = thing.form === "sound" ? make("button", { textContent: texts.choose }) : make("button");
          Object.assign(card, { type: "button", className: "closerthan-card", onclick: () => pick(index) });
          if (thing.form === "sound") card.setAttribute("aria-label", `${texts.choose}: ${label}`);
          else card.append(presentation(thing, server, texts));
          return card;
        });
        const sounds = question.options.map((thing, index) =>
          thing.form === "sound" ? make("div", {}, presentation(thing, server, texts), cards[index]) : cards[index],
        );
        const others = [];
        if (study.tie) {
          const label = study.kind === "closer" ? texts.tie : texts.all_alike;
          others.push(make("button", { type: "button", textContent: label, onclick: () => finish("tie") }));
        }
        if (study.skip)
          others.push(make("button", { type: "button", textContent: texts.skip, onclick: () => finish("skip") }));
        const place = (question.practice ? texts.practice : texts.place)
          .replace("{place}", String(question.place))
          .replace("{number}", String(question.of));
        const anchor = question.anchor && make("div", { className: "closerthan-card" });
        anchor?.append(presentation(/** @type {Stimulus} */ (question.anchor), server, texts));
        main.replaceChildren(
          make("p", { textContent: place }),
          make("p", { textContent: study.question }),
          ...(anchor ? [make("div", { className: "closerthan-row" }, anchor)] : []),
          make("div", { className: "closerthan-row" }, ...sounds),
          make("div", { className: "closerthan-row" }, ...others),
        );
        /** @type {Record<string, number>} */
        const keys =
          cards.length === 2
            ? { ArrowLeft: 0, 1: 0, ArrowRight: 1, 2: 1 }
            : Object.fromEntries(cards.slice(0, 9).map((_, index) => [String(index + 1), index]));
        const press = (/** @type {KeyboardEvent} */ event) => {
          if (!study.keys || event.repeat || event.ctrlKey || event.altKey || event.metaKey) return;
          if (keys[event.key] !== undefined) pick(keys[event.key]);
        };
        document.addEventListener("keydown", press);
        const media = /** @type {HTMLMediaElement[]} */ ([...main.querySelectorAll("audio, video")]);
        for (const [position, thing] of stimuli.entries()) {
          const medium = media.find((one) => thing.source && one.src === new URL(thing.source, server).href);
          medium?.addEventListener("error", () => {
            since = null;
            finish({ fault: [position] });
          });
        }
        const ends = media.map((one) => new Promise((end) => one.addEventListener("ended", end, { once: true })));
        const start = () => {
          since = performance.now();
        };
        if (study.must_play && media.length) Promise.all(ends).then(start);
        else requestAnimationFrame(start);
      });
    }
  }

  /** Load a picture, and return whether it cannot be shown.
   * @type {(source: string) => Promise<boolean>} */
  async function isBroken(source) {
    const image = new Image();
    image.src = source;
    return image.decode().then(
      () => false,
      () => true,
    );
  }

  /** @type {(stimulus: Stimulus, server: string, texts: Record<string, string>) => HTMLElement} */
  function presentation({ form, source = "", alt = "", text = "" }, server, texts) {
    if (form === "text") return make("span", { textContent: text, dir: "auto" });
    if (form === "image") return make("img", { src: server + source, alt, draggable: false });
    if (form === "video")
      return make("video", { src: server + source, ariaLabel: alt, muted: true, autoplay: true, playsInline: true });
    const sound = make("audio", { src: server + source, preload: "auto" });
    const play = make("button", { type: "button", textContent: `▶ ${texts.play}`, onclick: () => sound.play() });
    if (alt) play.setAttribute("aria-label", `${texts.play}: ${alt}`);
    return make("span", {}, sound, play);
  }

  return CloserThanPlugin;
})();
