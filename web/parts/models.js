/**
 * Which model talks: what is offered, the load and its progress, and what was loaded.
 *
 * @import { Info } from '../lib/messages.js'
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
  /** @type {Model | null} */
  model = null;
  name = '';

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
      next,
    );
  }

  /** Offers the models that are there and loads the first. */
  async start() {
    const wanted = this.#query.get('model');
    const found = await hasSmolLM2();
    element('hint', HTMLElement).hidden = found;
    const models = found ? [SMOLLM2, TINY] : [TINY];
    if (wanted && wanted !== 'tiny') models.unshift({ name: wanted, source: wanted });
    this.#picker.offer(models);
    this.#picker.pick(wanted === 'tiny' ? models.indexOf(TINY) : 0);
  }

  /** Loads a file of the reader. @param {File} file */
  open(file) {
    this.#picker.add(file);
  }

  /** Loads another model in place of the one that talks. @param {Choice} choice */
  async #use(choice) {
    const { source, name } = choice;
    this.#controller?.abort();
    const controller = new AbortController();
    this.#controller = controller;
    const old = this.model;
    this.model = null;
    this.#onChange();
    const again = () => this.#use(choice);
    const cancel = () => {
      controller.abort();
      this.model?.free();
      this.#end(`${name}: loading was cancelled`, again);
    };
    this.#loading.begin(`Loading ${name}`, cancel);
    const threads = this.#query.get('threads');
    try {
      await old?.free();
      const model = await load(source, {
        signal: controller.signal,
        onProgress: (progress) => {
          if (controller.signal.aborted) return;
          if (progress.phase === 'ready') this.#loading.done();
          else this.#loading.progress(progress, name);
        },
        onLost: ({ reason, restarting }) => {
          if (controller.signal.aborted) return;
          if (restarting) this.#loading.begin(`${reason}: loading ${name} again`, cancel);
          else this.#end(reason, again);
        },
        threads: threads ? Number(threads) : undefined,
        build: /** @type {Info['build']} */ (this.#query.get('build') ?? undefined),
      });
      this.model = model;
      this.name = name;
      this.#showInfo(model.info);
    } catch (error) {
      if (controller.signal.aborted) return;
      this.#loading.fail(errorText(error), again);
    }
    this.#onChange();
  }

  /**
   * There is no model any more.
   * @param {string} reason
   * @param {() => void} again
   */
  #end(reason, again) {
    this.model = null;
    this.#loading.fail(reason, again);
    this.#onChange();
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
