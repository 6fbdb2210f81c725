/** `npx wick` as its users meet it: the native command's options and manners, on the wasm builds. */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { golden, root, tiny } from './support.mjs';

const scratch = mkdtempSync(path.join(tmpdir(), 'wick-node-'));
after(() => rmSync(scratch, { recursive: true }));
const random = `${golden}generality/type_q4_1.gguf`;

/**
 * @param {string[]} args
 * @param {string | Buffer} [input]
 * @param {Record<string, string>} [env]
 */
function run(args, input = '', env = {}) {
  const command = [`${root}node/cli.js`, ...args];
  const options = { input, cwd: scratch, env: { ...process.env, WICK_MODELS: '', ...env } };
  const { status, stdout, stderr } = spawnSync(process.execPath, command, options);
  return { status, stdout: stdout.toString(), bytes: stdout, stderr: stderr.toString() };
}

/** @param {string[]} args @param {string | Buffer} [input] @param {Record<string, string>} [env] */
function succeed(args, input, env) {
  const result = run(args, input, env);
  assert.equal(result.status, 0, result.stderr);
  assert.equal(result.stderr, '');
  return result;
}

/** @param {number} status @param {string[]} args @param {RegExp} line @param {string} [input] */
function refuse(status, args, line, input) {
  const result = run(args, input);
  assert.match(result.stderr, line, args.join(' '));
  assert.match(result.stderr, /^wick: [^\n]+\n$/, args.join(' '));
  assert.equal(result.status, status, args.join(' '));
  assert.equal(result.stdout, '');
}

test('help and version', () => {
  assert.match(succeed(['--version']).stdout, /^wick \d+\.\d+\.\d+\n$/);
  for (const name of ['run', 'chat', 'tokenize', 'detokenize', 'logits', 'ppl', 'info']) {
    assert.match(succeed(['help']).stdout, new RegExp(`wick ${name} `));
    assert.match(succeed([name, '--help']).stdout, new RegExp(`^usage: wick ${name} `));
  }
  assert.equal(run([]).status, 2);
});

test('wrong usage is one line and status 2', () => {
  refuse(2, ['frobnicate'], /expected a command .* found frobnicate/);
  refuse(2, ['run', tiny], /expected -p TEXT/);
  refuse(2, ['run'], /expected a MODEL/);
  refuse(2, ['run', tiny, 'more', '-p', 'x'], /found more too/);
  refuse(2, ['run', tiny, '-p'], /-p: expected TEXT after it/);
  refuse(2, ['run', tiny, '-p', 'x', '--frob'], /found --frob/);
  refuse(2, ['run', tiny, '-p', 'x', '--raw=1'], /--raw: expected no value/);
  refuse(2, ['run', tiny, '-p', 'x', '-n', '1.5'], /-n: expected a whole number .* found 1\.5/);
  refuse(2, ['run', tiny, '-p', 'x', '--temp', '0x1'], /--temp: expected a number from 0/);
  refuse(2, ['run', tiny, '-p', 'x', '--seed', '-1'], /--seed: expected a whole number/);
  refuse(2, ['run', tiny, '-p', 'x', '--cache', 'f64'], /--cache: .* found f64/);
  refuse(2, ['logits', tiny, '--ids', '1,,2', '--out', 'x'], /--ids: .* found nothing/);
  refuse(2, ['logits', tiny, '--ids', '1'], /expected --out F/);
  refuse(2, ['ppl', tiny], /expected -f TEXT/);
});

test('what cannot be had is one line and status 1', () => {
  const text = path.join(scratch, 'text.txt');
  const garbage = path.join(scratch, 'garbage.gguf');
  writeFileSync(text, 'words');
  writeFileSync(garbage, 'not a model');
  refuse(1, ['tokenize', 'nothing-here'], /nothing-here: expected .*, found none$/m);
  refuse(1, ['tokenize', 'a\nb\x1b[2J\x7f\x80\x9b31m\xa0'], /a\?b\?\[2J\?\?\?31m\xa0:/);
  const pipe = path.join(scratch, 'pipe.gguf');
  spawnSync('mkfifo', [pipe]);
  refuse(
    1,
    ['run', pipe, '-p', 'x'],
    /pipe\.gguf: expected a model file or folder, found a pipe$/m,
  );
  refuse(
    1,
    ['run', '/dev/zero', '-p', 'x'],
    /zero: expected a model file or folder, found a device$/m,
  );
  refuse(1, ['tokenize', text], /text\.txt: expected a \.gguf or \.safetensors file or a folder/);
  refuse(1, ['tokenize', garbage], /garbage\.gguf: /);
  refuse(1, ['tokenize', scratch], /expected a file config\.json in it, found none/);
  refuse(1, ['run', random, '-p', 'x'], /expected a known chat template/);
  refuse(1, ['run', tiny, '-p', 'x', '--build', 'huge'], /build: expected st, .* found "huge"/);
  refuse(1, ['ppl', tiny, '-f', 'missing.txt'], /missing\.txt: expected a readable file/);
  refuse(1, ['detokenize', tiny], /stdin: expected a JSON array/, '{}');
  refuse(1, ['detokenize', tiny], /found another value at \[1\]/, '[1, 99999]');
});

test('run answers on stdout and writes nothing else', () => {
  const args = ['run', tiny, '-p', 'Why is the sky blue?', '--temp', '0'];
  const { stdout } = succeed(args);
  assert.match(stdout, /blue light/);
  for (const build of ['st', 'mt']) {
    assert.equal(succeed([...args, '--build', build]).stdout, stdout);
    assert.equal(succeed(args, '', { WICK_BUILD: build }).stdout, stdout);
  }
  assert.equal(
    succeed(['run', tiny, '-p', '-', '--temp=0'], 'Why is the sky blue?').stdout,
    stdout,
  );
  const drawn = ['run', tiny, '-p', 'Tell me a story.', '--temp', '1', '--seed', '7', '-n', '20'];
  assert.equal(succeed(drawn).stdout, succeed(drawn).stdout);
});

test('chat outlives its context and says what it forgets', () => {
  const args = ['chat', tiny, '-c', '128', '-n', '20', '--temp', '0'];
  const result = run(args, 'Hello! Tell me something about the sky.\n'.repeat(6));
  assert.equal(result.status, 0, result.stderr);
  assert.match(result.stderr, /^\(context full: the oldest \d+ messages are forgotten\)$/m);
  assert.equal(result.stdout.split('> ').filter((answer) => /\w/.test(answer)).length, 6);
  const long = run(args, `${'word '.repeat(200)}\n`);
  assert.equal(long.status, 1);
  assert.match(long.stderr, /^wick: message: expected at most 96 tokens .*, found \d+\n$/);
});

test('text to ids and back, byte for byte', () => {
  const text = 'Grüße, 世界! <|im_end|>\n';
  const ids = succeed(['tokenize', tiny], text).stdout;
  assert.match(ids, /^\[[\d,]+\]\n$/);
  assert.ok(JSON.parse(ids).includes(2));
  assert.ok(!JSON.parse(succeed(['tokenize', tiny, '--no-special'], text).stdout).includes(2));
  assert.equal(succeed(['detokenize', tiny], ids).stdout, text);
  const some = JSON.parse(ids).slice(0, 3);
  assert.ok(
    Buffer.from(text)
      .subarray(0, 3)
      .equals(succeed(['detokenize', tiny], JSON.stringify(some)).bytes.subarray(0, 3)),
  );
});

test('logits as raw floats; the last of all positions is the last alone', () => {
  const [all, last, hidden] = ['all.f32', 'last.f32', 'hidden.f32'].map((f) =>
    path.join(scratch, f),
  );
  const ids = Array.from({ length: 70 }, (_, i) => i + 3).join(',');
  succeed(['logits', random, '--ids', ids, '--all', '--out', all]);
  succeed(['logits', random, '--ids', ids, '--out', last, '--hidden', hidden]);
  const [whole, end] = [readFileSync(all), readFileSync(last)];
  assert.equal(whole.length, 70 * end.length);
  assert.ok(whole.subarray(-end.length).equals(end));
  const { model } = JSON.parse(succeed(['info', random]).stdout);
  assert.equal(readFileSync(hidden).length, 4 * (model.nLayers + 1) * 70 * model.nEmbd);
});

test('ppl: no distance from itself, a small one from exact arithmetic; files as the native ones', () => {
  const text = path.join(scratch, 'corpus.txt');
  writeFileSync(text, 'Why is the sky blue? Because air scatters blue light more. '.repeat(40));
  const base = path.join(scratch, 'base.logits');
  const args = ['ppl', tiny, '-f', text, '-c', '64', '--chunks', '3'];
  const exact = JSON.parse(succeed([...args, '--exact', '--save-logits', base]).stdout);
  assert.equal(exact.scored, 3 * 31);
  const same = JSON.parse(succeed([...args, '--exact', '--kl-base', base]).stdout);
  assert.ok(same.mean_kl < 1e-9);
  assert.equal(same.same_top_percent, 100);
  assert.ok(Math.abs(same.ppl_ratio - 1) < 1e-9);
  const fast = JSON.parse(succeed([...args, '--kl-base', base]).stdout);
  assert.ok(fast.mean_kl > 0 && fast.mean_kl < 0.05, String(fast.mean_kl));
  refuse(
    1,
    ['ppl', tiny, '-f', text, '-c', '32', '--kl-base', base],
    /expected 32 tokens in a win/,
  );
  refuse(1, ['ppl', tiny, '-f', text, '-c', '64', '--kl-base', text], /by --save-logits/);
  const native = `${root}build/wick`;
  if (!existsSync(native)) return;
  const theirs = spawnSync(native, [...args, '--exact', '--kl-base', base], { encoding: 'utf8' });
  assert.equal(theirs.status, 0, theirs.stderr);
  assert.ok(JSON.parse(theirs.stdout).mean_kl < 1e-6, theirs.stdout);
});

test('info says what runs and why', () => {
  const info = JSON.parse(succeed(['info', tiny, '--build', 'st']).stdout);
  assert.equal(info.build, 'st');
  assert.equal(info.buildReason, 'forced');
  assert.equal(info.threads, 1);
  assert.equal(info.model.chatFormat, 'chatml');
});
