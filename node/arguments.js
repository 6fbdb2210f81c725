/**
 * Command-line arguments as the native command reads them: a table of options per command, strict
 * numbers, errors of one line.
 *
 * @typedef {'flag' | 'text' | 'whole' | 'number' | 'list'} Kind
 * @typedef {[name: string, kind: Kind, argument: string, help: string, least?: number,
 *   most?: number]} Option
 * @typedef {Record<string, any>} Values By an option's name without its hyphens.
 */

export class UsageError extends Error {}

/** @type {Option[]} */
const MODEL_OPTIONS = [
  ['-t', 'whole', 'N', 'threads; default: one for each core', 1, 64],
  ['--exact', 'flag', '', 'float32 arithmetic on dequantized weights'],
  ['--build', 'text', 'B', 'st, mt, st-relaxed or mt-relaxed; default: what suits this Node'],
];
/** @type {Option} */
const CACHE = ['--cache', 'text', 'TYPE', 'KV cache: f16, f32 or int8'];
/** @type {Option[]} */
const ENGINE_OPTIONS = [['-c', 'whole', 'N', 'context in tokens', 16, 1 << 20], CACHE];
/** @type {Option[]} */
const SAMPLING_OPTIONS = [
  ['-n', 'whole', 'N', 'at most so many tokens', 1, 1 << 20],
  ['--temp', 'number', 'T', 'temperature; 0: greedy; default 0.2', 0, 1000],
  ['--top-k', 'whole', 'K', 'the K best tokens; 0: off', 0, 1 << 30],
  ['--top-p', 'number', 'P', 'the best tokens with probability P together; default 0.9', 0, 1],
  ['--min-p', 'number', 'P', "tokens with P times the best one's probability; 0: off", 0, 1],
  ['--typical', 'number', 'P', 'locally typical tokens with probability P together', 0, 1],
  ['--repeat-penalty', 'number', 'R', 'divides the logits of tokens that were there', 0.001, 1000],
  ['--frequency-penalty', 'number', 'F', 'taken from a logit for each time', -1000, 1000],
  ['--presence-penalty', 'number', 'F', 'taken from a logit once', -1000, 1000],
  ['--penalty-window', 'whole', 'N', 'penalties look at the last N tokens', -1, 1 << 30],
  ['--logit-bias', 'list', 'ID=V', "added to a token's logit (repeatable)"],
  ['--seed', 'text', 'S', 'of the random numbers; default: the clock'],
  ['--stop', 'list', 'TEXT', 'end the answer before TEXT (repeatable)'],
];

/** @type {Record<string, { argument: string, summary: string, options: Option[] }>} */
export const SYNTAX = {
  run: {
    argument: '-p TEXT',
    summary: "answer TEXT in the model's chat format",
    options: [
      ['-p', 'text', 'TEXT', 'the prompt; - reads it from stdin'],
      ['--system', 'text', 'TEXT', 'the system prompt'],
      ['--raw', 'flag', '', 'TEXT is the prompt itself; special tokens in it count'],
      ...SAMPLING_OPTIONS,
      ...MODEL_OPTIONS,
      ...ENGINE_OPTIONS,
    ],
  },
  chat: {
    argument: '',
    summary: 'talk to a model',
    options: [
      ['--system', 'text', 'TEXT', 'the system prompt'],
      ...SAMPLING_OPTIONS,
      ...MODEL_OPTIONS,
      ...ENGINE_OPTIONS,
    ],
  },
  tokenize: {
    argument: '< TEXT',
    summary: 'text on stdin to a JSON array of token ids',
    options: [['--no-special', 'flag', '', 'special tokens in the text are plain text']],
  },
  detokenize: {
    argument: '< IDS',
    summary: 'a JSON array of token ids on stdin to bytes',
    options: [],
  },
  logits: {
    argument: '--ids 1,2 --out F',
    summary: 'the raw logits after a prompt',
    options: [
      ['--ids', 'text', '1,2,3', 'the prompt as token ids'],
      ['-p', 'text', 'TEXT', 'the prompt as text with special tokens; - reads it from stdin'],
      ['--all', 'flag', '', "every position's logits, not only the last one's"],
      ['--out', 'text', 'F', 'float32 [positions][vocabulary], little-endian'],
      ['--hidden', 'text', 'F', 'float32 [layers + 1][tokens][width]'],
      ...MODEL_OPTIONS,
      ...ENGINE_OPTIONS,
    ],
  },
  ppl: {
    argument: '-f TEXT',
    summary: 'perplexity of a text, and divergence from other logits, as JSON',
    options: [
      ['-f', 'text', 'TEXT', 'a text file; - is stdin'],
      ['-c', 'whole', 'N', 'tokens of a window; default 512', 4, 1 << 20],
      ['--chunks', 'whole', 'N', 'at most so many windows', 1, 1 << 30],
      ['--save-logits', 'text', 'F', 'keep the scored logits in a file'],
      ['--kl-base', 'text', 'F', 'compare with logits that --save-logits kept'],
      CACHE,
      ...MODEL_OPTIONS,
    ],
  },
  info: {
    argument: '',
    summary: 'what was loaded, how it runs and why, as JSON',
    options: [...MODEL_OPTIONS, ...ENGINE_OPTIONS],
  },
};

/** @param {string} command */
export function helpFor(command) {
  const { argument, summary, options } = SYNTAX[command];
  const usage = `usage: wick ${command} MODEL ${argument}`.trimEnd();
  const lines = options.map(
    ([name, , value, help]) => `  ${`${name} ${value}`.padEnd(26)} ${help}`,
  );
  return `${usage} [options]\n\n${summary}\n\n${lines.join('\n')}\n`;
}

/**
 * @param {string} command
 * @param {string[]} args What follows the command's name.
 * @returns {{ model: string, values: Values } | null} null: help is wanted.
 */
export function parseArguments(command, args) {
  /** @type {Values} */
  const values = {};
  const models = [];
  let onlyModels = false;
  for (let i = 0; i < args.length; i++) {
    const arg = args[i];
    if (onlyModels || !arg.startsWith('-') || arg === '-') models.push(arg);
    else if (arg === '--') onlyModels = true;
    else if (arg === '--help' || arg === '-h') return null;
    else if (takeOption(command, values, arg, args[i + 1])) i++;
  }
  if (models.length > 1)
    throw new UsageError(`${command}: expected one MODEL, found ${models[1]} too`);
  if (!models.length) throw new UsageError(`${command}: expected a MODEL, found 0 arguments`);
  return { model: models[0], values };
}

/**
 * @param {string} command
 * @param {Values} values
 * @param {string} arg
 * @param {string | undefined} next
 * @returns {boolean} Whether the next argument was its value.
 */
function takeOption(command, values, arg, next) {
  const equals = arg.startsWith('--') ? arg.indexOf('=') : -1;
  const name = equals < 0 ? arg : arg.slice(0, equals);
  const option = SYNTAX[command].options.find((one) => one[0] === name);
  if (!option)
    throw new UsageError(
      `${command}: expected one of its options (wick ${command} --help), found ${name}`,
    );
  const key = name.replace(/^-+/, '');
  const [, kind, argument] = option;
  const inline = equals < 0 ? undefined : arg.slice(equals + 1);
  if (kind === 'flag') {
    if (inline !== undefined)
      throw new UsageError(`${command}: ${name}: expected no value, found ${inline}`);
    values[key] = true;
    return false;
  }
  const text = inline ?? next;
  if (text === undefined)
    throw new UsageError(`${command}: ${name}: expected ${argument} after it, found nothing`);
  if (kind === 'list') (values[key] ??= []).push(text);
  else values[key] = kind === 'text' ? text : numberOf(command, option, text);
  return inline === undefined;
}

/**
 * @param {string} command
 * @param {Option} option
 * @param {string} text
 */
function numberOf(command, [name, kind, , , least = 0, most = 0], text) {
  const pattern = kind === 'whole' ? /^[-+]?\d+$/ : /^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$/;
  const value = pattern.test(text) ? Number(text) : NaN;
  if (value >= least && value <= most) return value;
  const what = kind === 'whole' ? 'a whole number' : 'a number';
  throw new UsageError(
    `${command}: ${name}: expected ${what} from ${least} to ${most}, found ${text}`,
  );
}
