/**
 * The chat page: a conversation with the model that was loaded. What is drawn and kept is behind
 * parts/, the engine behind lib/index.js.
 *
 * @import { Piece } from './lib/messages.js'
 * @import { Model } from './lib/client.js'
 * @import { Action, Item, MessageView } from './parts/message.js'
 */

import { fitContext } from './lib/index.js';
import { startComposer } from './parts/composer.js';
import { startContext } from './parts/context.js';
import { Conversation } from './parts/conversation.js';
import { element, make, makeButton } from './parts/dom.js';
import { acceptFiles } from './parts/drop.js';
import { setHidden } from './parts/focus.js';
import { count } from './parts/format.js';
import { Keep } from './parts/keep.js';
import { Speed } from './parts/meter.js';
import { errorText, Models, setSummary } from './parts/models.js';
import { installOffline } from './parts/offline.js';
import { Panel } from './parts/panel.js';
import { Settings } from './parts/settings.js';
import { Talks } from './parts/talks.js';
import { StorageList } from './parts/storage.js';
import { copy, tell } from './parts/tell.js';
import { makeTokenView } from './parts/tokens.js';
import { N_ALTERNATIVES, scoreMessage } from './parts/token-scores.js';
import { Transcript } from './parts/transcript.js';

const IDEAS = ['Why is the sky blue?', 'Tell me a joke.', 'Tell me a story about a fox.'];

const field = element('prompt', HTMLTextAreaElement);
const send = element('send', HTMLButtonElement);
const stop = element('stop', HTMLButtonElement);
const welcome = element('welcome', HTMLElement);
const system = element('system', HTMLTextAreaElement);
const settingsDialog = element('settings', HTMLDialogElement);

const keep = await Keep.open();
const settings = new Settings(element('sampling', HTMLFormElement));
const storage = new StorageList();
const panel = new Panel(
  element('panel', HTMLDialogElement),
  element('panel-toggle', HTMLButtonElement),
);
const transcript = new Transcript(
  element('log', HTMLElement),
  element('scroll', HTMLElement),
  element('down', HTMLButtonElement),
  field,
  (action, view) => act(action, view),
);
const talks = new Talks(keep, {
  open: (id) => open(id),
  rename,
  deleted: (id) => {
    if (id === talk.id) begin();
  },
});
const models = new Models(field, () => {
  answering?.controller.abort();
  speed = new Speed();
  update();
});

let talk = new Conversation();
let speed = new Speed();
/** Tokens of the context that the branch in view takes; 0 until they are counted. */
let used = 0;
/** The first message that the model reads; -1: it reads all. */
let firstRead = -1;
let nForgotten = 0;
/**
 * The tokens of this page's answers, as they were drawn.
 * @type {WeakMap<import('./parts/conversation.js').Message, import('./parts/token-scores.js').TokenScore[]>}
 */
const drawn = new WeakMap();
/** The answer being written. @type {{ controller: AbortController, done: Promise<void> } | null} */
let answering = null;

/** What can be done now. */
function update() {
  const { model } = models;
  setHidden(send, answering !== null, field);
  setHidden(stop, answering === null, field);
  send.disabled = !model;
  element('new', HTMLButtonElement).disabled = talk.empty;
  setHidden(welcome, !talk.empty, field);
  for (const button of document.querySelectorAll('#ideas button'))
    /** @type {HTMLButtonElement} */ (button).disabled = !model;
  if (!model) setSummary('No model yet');
  showContext(model);
}

/** The branch in view, as the page shows it. @returns {Item[]} */
function items() {
  return talk.branch().map((place) => {
    const { role, text, model = '', note, failed } = talk.message(place.index);
    return { ...place, role, who: role === 'user' ? '' : model || 'Answer', text, note, failed };
  });
}

/** Ends the answer that is being written, if any, and waits until it is in its conversation. */
async function settle() {
  answering?.controller.abort();
  await answering?.done;
}

/** Brings a conversation into view. @param {Conversation} next */
async function view(next) {
  await settle();
  talk = next;
  used = 0;
  firstRead = -1;
  nForgotten = 0;
  system.value = talk.system;
  transcript.clear();
  transcript.show(items());
  transcript.toBottom();
  panel.chosen();
  update();
  await talks.refresh(talk.id);
}

function begin() {
  field.focus();
  const next = new Conversation();
  next.system = talk.system; // it is what the reader wants of a model, whatever the talk
  return view(next);
}

/** @param {string} id */
async function open(id) {
  const saved = await keep.get(id);
  if (saved) await view(new Conversation(saved));
}

/** @param {string} id @param {string} title */
async function rename(id, title) {
  if (id === talk.id) {
    talk.title = title;
    return save(talk);
  }
  const saved = await keep.get(id);
  if (!saved) return;
  const other = new Conversation(saved);
  other.title = title;
  await save(other);
}

/** @param {Conversation} conversation */
async function save(conversation) {
  if (conversation.empty) return;
  try {
    await keep.put(conversation.toJSON());
    await talks.refresh(talk.id);
  } catch (error) {
    talks.say(`Not kept: ${errorText(error)}`);
  }
}

/**
 * @param {string} text
 * @param {number} parent The message it follows.
 * @returns {boolean} Whether it was taken.
 */
function ask(text, parent = talk.leaf) {
  if (!models.model || answering) return false;
  const question = talk.add({ parent, role: 'user', text });
  answer(models.model, talk, question);
  return true;
}

/** @param {Action} action @param {MessageView} view */
async function act(action, view) {
  const { index } = view;
  const { text, parent } = talk.message(index);
  if (action === 'copy') return copy(text);
  if (action === 'edit')
    return view.edit(text, async (changed) => {
      await settle();
      ask(changed, parent);
      field.focus();
    });
  await settle();
  if (action === 'retry' && models.model) {
    answer(models.model, talk, parent);
    stop.focus(); // what was pressed has gone
  }
  if (action === 'tokens' && models.model) return showTokens(models.model, view);
  if (action !== 'previous' && action !== 'next') return;
  const siblings = talk.siblings(index);
  const other = siblings[siblings.indexOf(index) + (action === 'next' ? 1 : -1)];
  talk.show(other);
  used = 0;
  transcript.show(items());
  transcript.view(other)?.focus(action);
  showContext(models.model);
  await save(talk);
}

/** @param {Model} model @param {MessageView} view */
function showTokens(model, view) {
  return view.toggleTokens(async () => {
    const message = talk.message(view.index);
    const before = [...talk.systemMessages, ...talk.chat(talk.read(message.parent))];
    const [said] = talk.chat([view.index]);
    try {
      const scores = drawn.get(message) ?? (await scoreMessage(model, before, said));
      return await makeTokenView(model, scores);
    } catch (error) {
      return make('p', 'token-view alarm', errorText(error));
    }
  });
}

/**
 * Has a question answered and waits for the end of it.
 * @param {Model} model
 * @param {Conversation} conversation
 * @param {number} question
 */
function answer(model, conversation, question) {
  const controller = new AbortController();
  const done = writeAnswer(model, conversation, question, controller.signal).finally(() => {
    if (answering?.controller === controller) answering = null;
    update();
  });
  answering = { controller, done };
  update();
}

/**
 * @param {Model} model
 * @param {Conversation} conversation
 * @param {number} question
 * @param {AbortSignal} signal
 */
async function writeAnswer(model, conversation, question, signal) {
  const read = conversation.read(question);
  const parent = question;
  const index = conversation.add({ parent, role: 'assistant', text: '', model: models.name });
  const message = conversation.message(index);
  transcript.show(items());
  transcript.toBottom();
  const view = /** @type {MessageView} */ (transcript.view(index));
  view.streaming = true;
  transcript.busy = true;
  save(conversation);
  const meter = speed.begin();
  const options = { ...settings.options(), logprobs: N_ALTERNATIVES };
  const tokens = [];
  try {
    const prompt = await promptFor(model, conversation, read);
    const raw = typeof prompt === 'string';
    for await (const piece of model.generate(prompt, { ...options, raw, signal })) {
      message.text += piece.text;
      view.append(piece.text);
      meter.take(piece);
      const { token: id, logprob, alternatives } = piece;
      if (logprob !== undefined && alternatives) tokens.push({ id, logprob, alternatives });
      view.note = meter.text();
    }
    message.note = [meter.text(), forgotten(), `seed ${options.seed}`].filter(Boolean).join(' · ');
  } catch (error) {
    message.note = [meter.text(), 'stopped'].filter(Boolean).join(' · ');
    if (!signal.aborted) {
      message.text = errorText(error);
      message.failed = true;
      message.note = '';
      view.fail(message.text);
    }
  }
  view.finish();
  view.note = message.note;
  view.streaming = false;
  transcript.busy = false;
  used = meter.used;
  if (tokens.length) drawn.set(message, tokens);
  await save(conversation);
}

/**
 * What the model reads: as much of the conversation as fits. One whose chat format is not known
 * just goes on from the text.
 * @param {Model} model
 * @param {Conversation} conversation
 * @param {number[]} read The messages that it would read.
 */
async function promptFor(model, conversation, read) {
  const said = conversation.chat(read);
  if (model.info.model.chatFormat === null) return said[said.length - 1].content;
  const before = Math.max(0, read.indexOf(firstRead));
  const { ids, dropped } = await fitContext(model, conversation.systemMessages, said, before);
  if (conversation === talk) {
    firstRead = dropped ? read[dropped] : -1;
    nForgotten = dropped;
    transcript.markRead(firstRead);
  }
  return ids;
}

/** What the small print says of messages that the model no longer reads. */
const forgotten = () => (nForgotten ? `the oldest ${count(nForgotten, 'message')} forgotten` : '');

const showContext = startContext(field, async (model) => {
  if (answering) return null;
  if (!talk.empty) used ||= await countTokens(model);
  return used;
});

/** Tokens of the branch in view. @param {Model} model */
async function countTokens(model) {
  const messages = [...talk.systemMessages, ...talk.chat(talk.read(talk.leaf))];
  return messages.length ? (await model.tokenize(messages)).length : 0;
}

for (const idea of IDEAS) {
  const button = makeButton(idea);
  button.disabled = true;
  button.addEventListener('click', () => {
    if (ask(idea)) field.focus();
  });
  element('ideas', HTMLElement).append(make('li', '', button));
}
acceptFiles(document.body, {
  model: (files) => models.open(files),
  conversations: (file) => talks.import(file, file.name),
  refuse: tell,
});
startComposer(element('composer', HTMLFormElement), field, (text) => ask(text));
stop.addEventListener('click', () => {
  answering?.controller.abort();
  field.focus(); // the button goes
});
element('new', HTMLButtonElement).addEventListener('click', begin);
element('settings-open', HTMLButtonElement).addEventListener('click', () => {
  settingsDialog.showModal();
  storage.refresh();
});
system.addEventListener('change', () => {
  talk.system = system.value.trim();
  save(talk);
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape' && !event.defaultPrevented) answering?.controller.abort();
});
element('log', HTMLElement).addEventListener('click', ({ target }) => {
  const button = target instanceof Element ? target.closest('.copy-code') : null;
  if (button) copy(button.closest('.code')?.querySelector('pre')?.textContent ?? '');
});
update();
await talks.refresh(talk.id);
await installOffline();
await models.start();
