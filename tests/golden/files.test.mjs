// wick info and wick convert as commands: what is printed, what is refused, and SmolLM2 in bfloat16 from
// the folder that wick convert writes against PyTorch's logits. The conversions themselves are
// tested in C (tests/unit/test_convert*.c). Needs build/wick.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..', '..');
const wick = process.env.WICK_COMMAND || path.join(root, 'build', 'wick');
const models = process.env.WICK_MODELS || path.join(root, 'models');
const smallGguf = path.join(root, 'tests', 'unit', 'fixtures', 'small.gguf');
const smallSafetensors = path.join(root, 'tests', 'unit', 'fixtures', 'small.safetensors');
const random = path.join(root, 'tests', 'golden', 'generality', 'type_f32.gguf');
const smollm2 = path.join(models, 'smollm2-135m.gguf');
const golden = path.join(root, 'tests', 'golden', 'smollm2');

const noCommand = existsSync(wick) ? false : 'build/wick is not built';
const noSmollm2 =
  noCommand || (existsSync(smollm2) ? false : 'SmolLM2 is not there (npm run model)');

/** @type {string} */
let scratch;
before(() => {
  scratch = mkdtempSync(path.join(tmpdir(), 'wick-files-'));
});
after(() => rmSync(scratch, { recursive: true }));

/** @param {string[]} args */
function run(args) {
  return spawnSync(wick, args, { cwd: scratch, maxBuffer: 1 << 28, encoding: 'utf8' });
}

/** @param {string[]} args */
function succeed(args) {
  const result = run(args);
  assert.equal(result.status, 0, `${args.join(' ')}: ${result.stderr}`);
  return result.stdout;
}

/** @param {string[]} args @param {RegExp} line */
function refuse(args, line) {
  const result = run(args);
  assert.equal(result.status, 1, `${args.join(' ')}: ${result.stderr}`);
  assert.equal(result.stdout, '');
  assert.match(result.stderr, /^wick: [^\n]+\n$/);
  assert.match(result.stderr, line);
}

test('info: JSON has every value and tensor', { skip: noCommand }, () => {
  const info = JSON.parse(succeed(['info', smallGguf, '--json']));
  assert.equal(info.format, 'gguf');
  assert.equal(info.metadata['general.architecture'], 'llama');
  assert.equal(info.metadata['test.i16'], -30000);
  assert.equal(info.metadata['test.f64'], 1 / 3);
  assert.equal(info.metadata['test.string'], 'naïve\n');
  assert.deepEqual(info.metadata['test.strings'], ['a', '', 'déjà']);
  assert.equal(info.tensors.length, 11);
  assert.deepEqual(info.tensors[3], {
    name: 'tensor.Q4_0',
    type: 'Q4_0',
    shape: [3, 256],
    offset: 7264,
    bytes: 432,
  });
  const other = JSON.parse(succeed(['info', smallSafetensors, '--json']));
  assert.deepEqual(other.metadata, { format: 'pt' });
  assert.deepEqual(other.tensors.at(-1).shape, [2, 3, 4]);
});

test('info: control characters of a file never reach the terminal', { skip: noCommand }, () => {
  const bytes = readFileSync(smallGguf);
  const at = bytes.indexOf('naïve');
  bytes.write('\x1b[2J\u009b', at, 'utf8'); // clear the screen; the one-character CSI
  const file = path.join(scratch, 'rude.gguf');
  writeFileSync(file, bytes);
  for (const args of [
    ['info', file],
    ['info', file, '--json'],
  ]) {
    const text = succeed(args);
    assert.match(text, /\\u001b\[2J\\u009b/);
    // eslint-disable-next-line no-control-regex
    assert.doesNotMatch(text, /[\x00-\x09\x0b-\x1f\x7f-\x9f]/);
  }
});

test('info and convert: what can not be read is named in one line', { skip: noCommand }, () => {
  const page = path.join(scratch, 'page.gguf');
  writeFileSync(page, '<!DOCTYPE html><title>Not found</title>');
  refuse(['info', page], /page\.gguf: expected the magic "GGUF", found "<!DO"/);
  refuse(['info', scratch], /expected a \.safetensors file in it, found none/);
  refuse(['convert', page, 'out'], /page\.gguf: expected the magic/);
  assert.deepEqual(
    readdirSync(scratch).filter((name) => name.startsWith('out')),
    [],
  );
});

test('convert: a finished folder, never an overwritten one', { skip: noCommand }, () => {
  succeed(['convert', random, 'folder', '--type', 'bf16']);
  assert.deepEqual(readdirSync(path.join(scratch, 'folder')).sort(), [
    'config.json',
    'generation_config.json',
    'model.safetensors',
    'tokenizer.json',
    'tokenizer_config.json',
  ]);
  const config = JSON.parse(readFileSync(path.join(scratch, 'folder', 'config.json'), 'utf8'));
  assert.equal(config.torch_dtype, 'bfloat16');
  assert.equal(config.rms_norm_eps, 1e-5);
  refuse(['convert', random, 'folder'], /folder: expected a new name, found an existing folder/);
  succeed(['convert', random, 'folder', '--force']);
});

test("SmolLM2 in bfloat16: PyTorch's logits within 2e-3", { skip: noSmollm2 }, () => {
  succeed(['convert', smollm2, 'bf16', '--type', 'bf16']);
  const { cases } = JSON.parse(readFileSync(path.join(golden, 'logits_bf16.json'), 'utf8'));
  for (const one of cases) {
    succeed(['logits', 'bf16', '--exact', '--ids', one.ids.join(','), '--out', 'logits.f32']);
    const found = readFloats(path.join(scratch, 'logits.f32'));
    const expected = readFloats(path.join(golden, one.last_logits));
    assert.equal(found.length, expected.length);
    const worst = found.reduce(
      (most, value, i) => Math.max(most, Math.abs(value - expected[i])),
      0,
    );
    assert.ok(worst <= 2e-3, `${one.name}: ${worst}`);
  }
});

/** @param {string} file */
function readFloats(file) {
  const bytes = readFileSync(file);
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
}
