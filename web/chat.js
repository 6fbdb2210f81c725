/**
 * The chat page: which model talks, the conversation, and what it cost. The engine is behind
 * lib/index.js, what is drawn behind parts/.
 *
 * @import { Info } from './lib/messages.js'
 * @import { Model } from './lib/client.js'
 * @import { Choice } from './parts/picker.js'
 */

import { Conversation, load } from './lib/index.js';
import { showFacts } from './parts/about.js';
import { startComposer } from './parts/composer.js';
import { setHidden } from './parts/focus.js';
import { count } from './parts/format.js';
import { Loading } from './parts/loading.js';
import { Meter } from './parts/meter.js';
import { Picker } from './parts/picker.js';
import { Transcript } from './parts/transcript.js';

const MAX_TOKENS = 1024;
const TOP_P = 0.9;
const LOOK_MILLISECONDS = 5000;
const SMOLLM2 = { name: 'SmolLM2 135M', source: '/models/smollm2-135m.gguf' };
const TINY = { name: 'wick tiny', source: 'models/tiny.gguf' };
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
const welcome = element('welcome', HTMLElement);
const temperature = element('temperature', HTMLInputElement);
const picker = new Picker(
  element('model', HTMLSelectElement),
  element('file', HTMLInputElement),
  use,
);
const loading = new Loading(
  element('loading', HTMLElement),
  element('state', HTMLElement),
  element('progress', HTMLProgressElement),
  element('load-action', HTMLButtonElement),
  field,
);
const transcript = new Transcript(
  element('log', HTMLElement),
  element('scroll', HTMLElement),
  element('down', HTMLButtonElement),
  field,
);

const query = new URLSearchParams(location.search);

/** @type {Model | null} */
let model = null;
let modelName = '';
let conversation = new Conversation();
/** The answer being written. @type {AbortController | null} */
let answering = null;
/** The load under way. @type {AbortController | null} */
let loadingModel = null;

/** @param {Choice} choice */
async function use(choice) {
  const { source, name } = choice;
  loadingModel?.abort();
  const controller = new AbortController();
  loadingModel = controller;
  restart();
  const old = model;
  model = null;
  update();
  const again = () => use(choice);
  loading.begin(`Loading ${name}`, () => {
    controller.abort();
    loading.fail(`${name}: loading was cancelled`, again);
  });
  const threads = query.get('threads');
  try {
    await old?.free();
    const loaded = await load(source, {
      signal: controller.signal,
      onProgress: (progress) => {
        if (!controller.signal.aborted) loading.progress(progress, name);
      },
      threads: threads ? Number(threads) : undefined,
      build: /** @type {Info['build']} */ (query.get('build') ?? undefined),
    });
    model = loaded;
    modelName = name;
    loading.done();
    showInfo(loaded.info);
  } catch (error) {
    if (controller.signal.aborted) return;
    loading.fail(errorText(error), again);
  }
  update();
}

/** @param {Info} info */
function showInfo(info) {
  const threads = count(info.threads, 'thread');
  const isolated = globalThis.crossOriginIsolated ? '' : ' (why one: see here)';
  setSummary(`${modelName} · build ${info.build} · ${threads}${isolated}`);
  showFacts(element('facts', HTMLElement), info);
}

/** @param {string} text */
function setSummary(text) {
  element('summary', HTMLElement).textContent = text;
}

/** What can be done now. */
function update() {
  setHidden(send, answering !== null, field);
  setHidden(stop, answering === null, field);
  send.disabled = !model;
  fresh.disabled = transcript.empty;
  for (const button of document.querySelectorAll('#ideas button'))
    /** @type {HTMLButtonElement} */ (button).disabled = !model;
  if (!model) setSummary('No model yet');
}

function restart() {
  answering?.abort();
  conversation = new Conversation();
  transcript.clear();
  welcome.hidden = false;
  update();
}

/**
 * @param {string} text
 * @returns {boolean} Whether it was taken.
 */
function ask(text) {
  if (!model || answering) return false;
  setHidden(welcome, true, field);
  transcript.add('user', '', text);
  transcript.toBottom();
  answer(model, conversation, text);
  return true;
}

/**
 * @param {Model} talking
 * @param {Conversation} among The conversation as it is now; a new chat begins another.
 * @param {string} question
 */
async function answer(talking, among, question) {
  const controller = new AbortController();
  answering = controller;
  update();
  const message = transcript.add('assistant', modelName);
  message.streaming = true;
  transcript.busy = true;
  const meter = new Meter();
  const forgotten = () =>
    among.nForgotten ? `the oldest ${count(among.nForgotten, 'message')} forgotten` : '';
  /** @param {string[]} texts */
  const note = (...texts) => {
    message.note = [...texts, forgotten()].filter(Boolean).join(' · ');
  };
  const options = {
    maxTokens: MAX_TOKENS,
    temperature: Number(temperature.value),
    topP: TOP_P,
    seed: crypto.getRandomValues(new Uint32Array(1))[0],
    signal: controller.signal,
  };
  // A model without a chat format that is known just goes on from the text.
  const chats = talking.info.model.chatFormat !== null;
  const pieces = chats
    ? among.ask(talking, question, options)
    : talking.generate(question, { ...options, raw: true });
  try {
    for await (const piece of pieces) {
      if (piece.text) message.append(piece.text);
      meter.take(piece);
      note(meter.text());
    }
  } catch (error) {
    if (!controller.signal.aborted) message.fail(errorText(error));
    else note(meter.text(), 'stopped');
  }
  message.flush();
  message.streaming = false;
  transcript.busy = false;
  if (answering === controller) answering = null;
  update();
}

/** @param {unknown} error */
function errorText(error) {
  return error instanceof Error ? error.message.replace(/^wick: /, '') : String(error);
}

/** Whether the server has SmolLM2. */
async function hasSmolLM2() {
  const signal = AbortSignal.timeout(LOOK_MILLISECONDS);
  const response = await fetch(SMOLLM2.source, { method: 'HEAD', signal }).catch(() => null);
  return Boolean(response?.ok) && !/^text\/html/.test(response?.headers.get('content-type') ?? '');
}

async function start() {
  const wanted = query.get('model');
  const found = await hasSmolLM2();
  element('hint', HTMLElement).hidden = found;
  const models = found ? [SMOLLM2, TINY] : [TINY];
  if (wanted && wanted !== 'tiny') models.unshift({ name: wanted, source: wanted });
  picker.offer(models);
  picker.pick(wanted === 'tiny' ? models.indexOf(TINY) : 0);
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
  field.focus();
  restart();
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') answering?.abort();
});
temperature.addEventListener('input', () => {
  element('temperature-value', HTMLOutputElement).value = temperature.value;
});
start();
