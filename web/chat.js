/**
 * The chat page: which model talks, the conversation, and what it cost. The engine is behind
 * lib/index.js, what is drawn behind parts/.
 *
 * @import { ChatMessage, Info, Progress } from './lib/messages.js'
 * @import { Model } from './lib/client.js'
 */

import { load } from './lib/index.js';
import { startComposer } from './parts/composer.js';
import { count, megabytes, seconds } from './parts/format.js';
import { Transcript } from './parts/transcript.js';

const MAX_TOKENS = 1024;
const TOP_P = 0.9;
const SMOLLM2 = { name: 'SmolLM2 135M', url: '/models/smollm2-135m.gguf' };
const TINY = { name: 'wick tiny', url: 'models/tiny.gguf' };
const IDEAS = ['Why is the sky blue?', 'Tell me a joke.', 'Tell me a story about a fox.'];

/**
 * @template {HTMLElement} T
 * @param {string} id
 * @param {new () => T} type
 * @returns {T}
 */
function element(id, type) {
  const found = document.getElementById(id);
  if (found instanceof type) return found;
  throw new Error(`expected an element ${id}`);
}

const field = element('prompt', HTMLTextAreaElement);
const send = element('send', HTMLButtonElement);
const stop = element('stop', HTMLButtonElement);
const fresh = element('new', HTMLButtonElement);
const picker = element('model', HTMLSelectElement);
const file = element('file', HTMLInputElement);
const loading = element('loading', HTMLElement);
const bar = element('progress', HTMLProgressElement);
const temperature = element('temperature', HTMLInputElement);
const transcript = new Transcript(
  element('log', HTMLElement),
  element('scroll', HTMLElement),
  element('down', HTMLButtonElement),
);

const query = new URLSearchParams(location.search);

/** @type {Model | null} */
let model = null;
let modelName = '';
/** @type {ChatMessage[]} */
let conversation = [];
/** The answer being written. @type {AbortController | null} */
let answering = null;
/** The load under way. @type {AbortController | null} */
let loadingModel = null;

/**
 * @param {string | File} source
 * @param {string} name
 */
async function use(source, name) {
  loadingModel?.abort();
  const controller = new AbortController();
  loadingModel = controller;
  restart();
  const old = model;
  model = null;
  update();
  loading.hidden = false;
  loading.classList.remove('failed');
  const threads = query.get('threads');
  try {
    await old?.free();
    const loaded = await load(source, {
      signal: controller.signal,
      onProgress: (progress) => showProgress(progress, name),
      threads: threads ? Number(threads) : undefined,
      build: /** @type {Info['build']} */ (query.get('build') ?? undefined),
    });
    model = loaded;
    modelName = name;
    loading.hidden = true;
    showInfo(loaded.info);
  } catch (error) {
    if (controller.signal.aborted) return;
    loading.classList.add('failed');
    setState(errorText(error));
  }
  update();
}

/** @param {Progress} progress @param {string} name */
function showProgress({ phase, loaded, total }, name) {
  if (phase === 'weights' && total) bar.value = Math.min(1, loaded / total);
  else bar.removeAttribute('value');
  const bytes = total ? `: ${megabytes(loaded)} of ${megabytes(total)}` : '';
  setState(`Loading ${name}${bytes}`);
}

/** @param {string} text */
function setState(text) {
  element('state', HTMLElement).textContent = text;
}

/** @param {Info} info */
function showInfo(info) {
  const threads = count(info.threads, 'thread');
  const isolated = globalThis.crossOriginIsolated ? '' : ' (why one: see here)';
  setSummary(`${modelName} · build ${info.build} · ${threads}${isolated}`);
  const { milliseconds: times, model: about } = info;
  const facts = [
    ['Model', `${about.name}, ${about.architecture}, ${megabytes(about.weightBytes)} of weights`],
    ['Parameters', about.nParameters.toLocaleString('en')],
    ['From', info.source],
    ['Build', `${info.build}: ${info.buildReason}`],
    ['Kernels', info.level],
    ['Threads', `${info.threads}: ${info.threadsReason}`],
    ['Context', count(info.context, 'token')],
    ['Memory', megabytes(info.memoryBytes)],
    ['Loaded in', `${seconds(times.total)}, of which weights ${seconds(times.weights)}`],
  ];
  const rows = facts.flatMap(([term, text]) => {
    const [dt, dd] = [document.createElement('dt'), document.createElement('dd')];
    dt.textContent = term;
    dd.textContent = text;
    return [dt, dd];
  });
  element('facts', HTMLElement).replaceChildren(...rows);
}

/** @param {string} text */
function setSummary(text) {
  element('summary', HTMLElement).textContent = text;
}

/** What can be done now. */
function update() {
  send.hidden = answering !== null;
  stop.hidden = answering === null;
  send.disabled = !model;
  fresh.disabled = !conversation.length;
  for (const button of document.querySelectorAll('#ideas button'))
    /** @type {HTMLButtonElement} */ (button).disabled = !model;
  if (!model) setSummary('No model yet');
}

function restart() {
  answering?.abort();
  conversation = [];
  transcript.clear();
  element('welcome', HTMLElement).hidden = false;
  update();
}

/**
 * @param {string} text
 * @returns {boolean} Whether it was taken.
 */
function ask(text) {
  if (!model || answering) return false;
  element('welcome', HTMLElement).hidden = true;
  transcript.add('user', '', text);
  transcript.toBottom();
  conversation.push({ role: 'user', content: text });
  answer(model, conversation);
  return true;
}

/**
 * @param {Model} talking
 * @param {ChatMessage[]} messages The conversation as it is now; a new one begins a new list.
 */
async function answer(talking, messages) {
  const controller = new AbortController();
  answering = controller;
  update();
  const message = transcript.add('assistant', modelName);
  message.streaming = true;
  transcript.busy = true;
  const meter = new Meter();
  let text = '';
  try {
    // A model without a chat format that is known just goes on from the text.
    const chats = talking.info.model.chatFormat !== null;
    const prompt = chats ? messages : messages[messages.length - 1].content;
    const pieces = talking.generate(prompt, {
      raw: !chats,
      maxTokens: MAX_TOKENS,
      temperature: Number(temperature.value),
      topP: TOP_P,
      seed: crypto.getRandomValues(new Uint32Array(1))[0],
      signal: controller.signal,
    });
    for await (const piece of pieces) {
      text += piece.text;
      if (piece.text) message.append(piece.text);
      meter.take(piece);
      message.note = meter.text();
    }
  } catch (error) {
    if (!controller.signal.aborted) message.fail(errorText(error));
    else message.note = [meter.text(), 'stopped'].filter(Boolean).join(' · ');
  }
  message.flush();
  message.streaming = false;
  transcript.busy = false;
  messages.push({ role: 'assistant', content: text });
  if (answering === controller) answering = null;
  update();
}

/** Counts and times one answer. */
class Meter {
  #start = performance.now();
  #first = 0;
  #last = 0;
  #tokens = 0;
  #prompt = 0;
  #reused = 0;
  #done = 0;

  /** @param {import('./lib/messages.js').Piece} piece */
  take(piece) {
    this.#prompt = piece.nPrompt || this.#prompt;
    this.#reused = piece.nReused || this.#reused;
    this.#done = piece.nPromptDone || this.#done;
    if (piece.type !== 'token') return;
    this.#last = performance.now();
    this.#first ||= this.#last;
    this.#tokens++;
  }

  text() {
    if (!this.#tokens)
      return this.#prompt ? `reading ${this.#done} of ${count(this.#prompt, 'token')}` : '';
    const parts = [count(this.#tokens, 'token')];
    const time = this.#last - this.#first;
    if (this.#tokens > 1 && time > 0)
      parts.push(`${((1000 * (this.#tokens - 1)) / time).toFixed(1)} tokens/s`);
    parts.push(`first after ${seconds(this.#first - this.#start)}`);
    parts.push(`prompt ${this.#prompt}, ${this.#reused} from cache`);
    return parts.join(' · ');
  }
}

/** @param {unknown} error */
function errorText(error) {
  return error instanceof Error ? error.message.replace(/^wick: /, '') : String(error);
}

/** Whether the server has SmolLM2. */
async function hasSmolLM2() {
  const response = await fetch(SMOLLM2.url, { method: 'HEAD' }).catch(() => null);
  return Boolean(response?.ok) && !/^text\/html/.test(response?.headers.get('content-type') ?? '');
}

async function start() {
  const wanted = query.get('model');
  const found = await hasSmolLM2();
  element('hint', HTMLElement).hidden = found;
  const models = found ? [SMOLLM2, TINY] : [TINY];
  if (wanted && wanted !== 'tiny') models.unshift({ name: wanted, url: wanted });
  const options = models.map(({ name, url }) => new Option(name, url));
  picker.replaceChildren(...options, new Option('Open a .gguf file …', ''));
  const chosen = wanted === 'tiny' ? TINY : models[0];
  picker.value = chosen.url;
  picker.disabled = false;
  let before = picker.value;
  picker.addEventListener('change', () => {
    if (picker.value === '') {
      picker.value = before;
      file.click();
      return;
    }
    before = picker.value;
    const name = picker.selectedOptions[0].text;
    use(picker.value, name);
  });
  file.addEventListener('change', () => {
    const [picked] = file.files ?? [];
    if (picked) use(picked, picked.name);
  });
  await use(chosen.url, chosen.name);
}

for (const idea of IDEAS) {
  const item = document.createElement('li');
  const button = document.createElement('button');
  button.type = 'button';
  button.disabled = true;
  button.textContent = idea;
  button.addEventListener('click', () => ask(idea));
  item.append(button);
  element('ideas', HTMLElement).append(item);
}
startComposer(element('composer', HTMLFormElement), field, ask);
stop.addEventListener('click', () => answering?.abort());
fresh.addEventListener('click', () => {
  restart();
  field.focus();
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') answering?.abort();
});
temperature.addEventListener('input', () => {
  element('temperature-value', HTMLOutputElement).value = temperature.value;
});
start();
