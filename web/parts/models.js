/**
 * Which model talks: what is offered, the load and its progress, and what was loaded. The one that
 * talks stays until another has been accepted, so that a bad file ends nothing.
 *
 * @import { Info, Progress } from '../lib/messages.js'
 * @import { Model } from '../lib/client.js'
 * @import { Choice } from './picker.js'
 */

import { kept, load } from '../lib/index.js';
import { showFacts } from './about.js';
import { element } from './dom.js';
import { count } from './format.js';
import { Loading } from './loading.js';
import { Picker } from './picker.js';

const LOOK_MILLISECONDS = 5000;
const SMOLLM2 = { name: 'SmolLM2 135M', source: '/models/smollm2-135m.gguf' };
const TINY = { name: 'wick tiny', source: 'models/tiny.gguf' };

/**
 * Two models at once may take this share of the machine's memory. Where they would take more, the
 * one that talks goes once the header of the new one has been accepted: no header is longer than
 * these bytes.
 */
const ROOM_SHARE = 1 / 4;
const HEADER_BYTES = 16e6;
/** What a model takes beside its file. */
const MEMORY_FACTOR = 1.3;
/** Where the browser does not say. */
const USUAL_GIGABYTES = 4;

export class Models {
  #query = new URLSearchParams(location.search);
  #picker = new Picker(
    element('model', HTMLSelectElement),
    element('file', HTMLInputElement),
    (choice) => this.#use(choice),
  );
  #loading;
  #onChange;
  /** The load under way. @type {AbortController | null} */
  #controller = null;
  /** What talks. @type {Choice | null} */
  #choice = null;
  /** @type {Model | null} */
  model = null;

  /**
   * @param {HTMLElement} next Gets the focus of what disappears.
   * @param {() => void} onChange Called when a model comes or goes.
   */
  constructor(next, onChange) {
    this.#onChange = onChange;
    this.#loading = new Loading(
      element('loading', HTMLElement),
      element('state', HTMLElement),
      element('progress', HTMLProgressElement),
      element('load-action', HTMLButtonElement),
      element('load-close', HTMLButtonElement),
      next,
    );
  }

  /** Of the one that talks. */
  get name() {
    return this.#choice?.name ?? '';
  }

  /** Offers the models that are there and loads the first. */
  async start() {
    const wanted = this.#query.get('model');
    const found = await hasSmolLM2();
    element('hint', HTMLElement).hidden = found;
    const models = found ? [SMOLLM2, TINY] : [TINY];
    if (wanted && wanted !== 'tiny') models.unshift({ name: wanted, source: wanted });
    this.#picker.offer(models);
    this.#use(wanted === 'tiny' ? TINY : models[0]);
  }

  /** Loads files of the reader. @param {File[]} files */
  open(files) {
    this.#picker.open(files);
  }

  /** Loads another model, which then takes the place of the one that talks. @param {Choice} choice */
  async #use(choice) {
    const { source, name } = choice;
    this.#controller?.abort();
    const controller = new AbortController();
    const { signal } = controller;
    this.#controller = controller;
    if (!this.model) this.#picker.show(choice);
    const again = () => this.#use(choice);
    const cancel = () => {
      controller.abort();
      this.#fail(`${name}: loading was cancelled`, again);
    };
    // The strip speaks of the newest load alone.
    const silent = () => this.#controller !== null && this.#controller !== controller;
    this.#loading.begin(`Loading ${name}`, cancel);
    /** @type {Model | null} */
    let model = null;
    const threads = this.#query.get('threads');
    try {
      model = await load(source, {
        signal,
        onProgress: (progress) => {
          if (silent() || signal.aborted) return;
          if (!model && this.#isCrowded(progress)) this.#takeAway();
          if (progress.phase === 'ready') this.#loading.done();
          else this.#loading.progress(progress, name);
        },
        onLost: ({ reason, restarting }) => {
          if (model !== this.model) return;
          if (!restarting) this.#takeAway();
          if (silent()) return;
          const leave = () => {
            this.#takeAway();
            cancel();
          };
          if (restarting) this.#loading.begin(`${reason}: loading ${name} again`, leave);
          else this.#fail(reason, again);
        },
        threads: threads ? Number(threads) : undefined,
        build: /** @type {Info['build']} */ (this.#query.get('build') ?? undefined),
      });
      if (signal.aborted) return void model.free();
      this.#controller = null;
      this.#take(model, choice);
    } catch (error) {
      if (!signal.aborted) this.#fail(errorText(error), again);
    }
  }

  /** @param {Model} model @param {Choice} choice */
  #take(model, choice) {
    const old = this.model;
    this.model = model;
    this.#choice = choice;
    this.#picker.show(choice);
    this.#showInfo(model.info);
    this.#onChange();
    old?.free();
  }

  /** The model that talks goes. */
  #takeAway() {
    const old = this.model;
    this.model = null;
    this.#choice = null;
    this.#onChange();
    old?.free();
  }

  /**
   * Nothing came of a load; what talked before goes on.
   * @param {string} reason
   * @param {() => void} again
   */
  #fail(reason, again) {
    this.#controller = null;
    if (this.#choice) this.#picker.show(this.#choice);
    this.#loading.fail(reason, again, this.model !== null);
  }

  /** Whether the one that talks must make room for the one that comes. @param {Progress} progress */
  #isCrowded({ loaded, total }) {
    if (!this.model || loaded < HEADER_BYTES || !total) return false;
    const gigabytes = /** @type {any} */ (navigator).deviceMemory ?? USUAL_GIGABYTES;
    const both = this.model.info.memoryBytes + MEMORY_FACTOR * total;
    return both > ROOM_SHARE * gigabytes * 2 ** 30;
  }

  /** @param {Info} info */
  #showInfo(info) {
    const threads = count(info.threads, 'thread');
    const isolated = globalThis.crossOriginIsolated ? '' : ' (why one: see here)';
    setSummary(`${this.name} · build ${info.build} · ${threads}${isolated}`);
    showFacts(element('facts', HTMLElement), info);
  }
}

/** @param {string} text */
export function setSummary(text) {
  element('summary', HTMLElement).textContent = text;
}

/** @param {unknown} error */
export function errorText(error) {
  return error instanceof Error ? error.message.replace(/^wick: /, '') : String(error);
}

/** Whether SmolLM2 can be had: this browser keeps it, or the server has it. */
async function hasSmolLM2() {
  const url = new URL(SMOLLM2.source, location.href).href;
  const files = await kept.list().catch(() => []);
  if (files.some((file) => file.url === url && file.complete)) return true;
  const signal = AbortSignal.timeout(LOOK_MILLISECONDS);
  const response = await fetch(SMOLLM2.source, { method: 'HEAD', signal }).catch(() => null);
  return Boolean(response?.ok) && !/^text\/html/.test(response?.headers.get('content-type') ?? '');
}
