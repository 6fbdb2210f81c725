// The native command and its files: errors name a file as it was given, and what is written is whole
// or not there.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { open } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import {
  folder,
  noCommand,
  noTiny,
  random,
  refuse,
  run,
  scratch,
  succeed,
  tiny,
  wick,
} from './cli.mjs';

const generality = path.dirname(random);

/** @param {string} text as a regular expression */
const literally = (text) => text.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');

/** @param {string} file @param {string} rest */
const names = (file, rest) => new RegExp(`^wick: ${literally(file)}: ${rest}`);

/** A copy of the model folder. @param {string} name */
function copyFolder(name) {
  const copy = path.join(scratch, name);
  cpSync(folder, copy, { recursive: true });
  return copy;
}

test('errors name the file as it was given', { skip: noCommand }, () => {
  const model = copyFolder('named');
  const relative = `./named`;
  const commands = [['run', '-p', 'x'], ['tokenize'], ['info'], ['convert', 'out.gguf']];
  /** @param {string} given @param {RegExp} line */
  const refuseAll = (given, line) => {
    for (const [command, ...rest] of commands) refuse(1, [command, given, ...rest], line);
  };
  const config = readFileSync(path.join(model, 'config.json'));
  writeFileSync(path.join(model, 'config.json'), '<html>');
  refuseAll(model, names(path.join(model, 'config.json'), 'expected JSON'));
  refuseAll(relative, names('./named/config.json', 'expected JSON'));
  rmSync(path.join(model, 'config.json'));
  refuseAll(relative, names('./named', 'expected config.json in it, found none'));
  writeFileSync(path.join(model, 'config.json'), config);
  writeFileSync(path.join(model, 'model.safetensors'), 'rubbish');
  refuseAll('named', names('named/model.safetensors', 'expected|named/model.safetensors: '));
  writeFileSync(path.join(model, 'model.safetensors.index.json'), '{}');
  refuseAll('named', names('named/model.safetensors.index.json', 'expected a weight_map'));
  rmSync(path.join(model, 'model.safetensors.index.json'));
  copyFileSync(path.join(folder, 'model.safetensors'), path.join(model, 'model.safetensors'));
  writeFileSync(path.join(model, 'tokenizer.json'), '{"model": 5}');
  refuse(1, ['run', 'named', '-p', 'x'], names('named/tokenizer.json', 'expected'));
  rmSync(path.join(model, 'tokenizer.json'));
  refuse(1, ['run', 'named', '-p', 'x'], names('named', 'expected tokenizer.json in it'));
});

test('a weight file without its folder says what it needs', { skip: noCommand }, () => {
  copyFileSync(path.join(folder, 'model.safetensors'), path.join(scratch, 'b.safetensors'));
  for (const args of [
    ['run', 'b.safetensors', '-p', 'x'],
    ['convert', 'b.safetensors', 'b.gguf'],
  ])
    refuse(1, args, names('b.safetensors', 'expected config.json beside it, found none'));
  assert.match(succeed(['info', 'b.safetensors']).stdout, /^safetensors, \d+ tensors/);
});

/**
 * A copy of same.gguf with another number under a key.
 * @param {string} name @param {string} key @param {(value: number) => number} change
 */
function changed(name, key, change) {
  const bytes = readFileSync(path.join(scratch, 'same.gguf'));
  const at = bytes.indexOf(key) + key.length + 4; // after the type
  assert.equal(bytes.readUInt32LE(at - 4), 4, `${key} is a u32`);
  bytes.writeUInt32LE(change(bytes.readUInt32LE(at)), at);
  writeFileSync(path.join(scratch, name), bytes);
  return name;
}

test('a damaged GGUF file is named as it was given', { skip: noCommand }, () => {
  mkdirSync(path.join(scratch, 'deep'));
  const cut = path.join('deep', 'm.gguf');
  writeFileSync(path.join(scratch, cut), readFileSync(random).subarray(0, 100));
  const count = 'expected \\d+ tensors of at least \\d+ bytes each, found \\d+ bytes before';
  for (const command of ['tokenize', 'info']) refuse(1, [command, cut], names(cut, count));
  const bytes = readFileSync(random);
  bytes.writeBigUInt64LE(70000n, 8);
  writeFileSync(path.join(scratch, cut), bytes);
  refuse(1, ['tokenize', cut], names(cut, 'expected at most 65536 tensors, found 70000'));
  writeFileSync(path.join(scratch, cut), readFileSync(random).subarray(0, 3000));
  const absolute = path.join(scratch, cut);
  refuse(1, ['tokenize', absolute], names(absolute, '.* before the file'));
});

test('control characters of every kind stay out of error lines', { skip: noCommand }, () => {
  writeFileSync(path.join(scratch, 'a\u009b2J\u0085.gguf'), 'rubbish');
  refuse(1, ['tokenize', 'a\u009b2J\u0085.gguf'], /^wick: a\?2J\?\.gguf: /);
  refuse(2, ['frob\u009b\u007f\u001b'], /found frob\?\?\?\n/);
  refuse(1, ['tokenize', 'größe-日本'], /^wick: größe-日本: /);
});

test('info: a folder and a name, as run takes them', { skip: noCommand }, () => {
  const sharded = path.join(generality, 'qwen2_sharded_bf16');
  const shown = JSON.parse(succeed(['info', sharded, '--json']).stdout);
  assert.equal(shown.format, 'folder');
  assert.deepEqual(
    shown.config,
    JSON.parse(readFileSync(path.join(sharded, 'config.json'), 'utf8')),
  );
  const files = readdirSync(sharded).filter((name) => name.endsWith('.safetensors'));
  assert.deepEqual(
    shown.files.map((/** @type {{ name: string }} */ file) => file.name),
    files.sort(),
  );
  for (const { name, content } of shown.files) {
    const alone = JSON.parse(succeed(['info', path.join(sharded, name), '--json']).stdout);
    assert.deepEqual(content, alone);
    assert.ok(content.tensors.length > 0);
  }
  const text = succeed(['info', folder]).stdout;
  assert.match(text, /^config\.json\n {2}"/);
  assert.match(text, /\n"model\.safetensors": safetensors, \d+ tensors\n/);

  const named = run(['info', 'type_q8_0'], { env: { WICK_MODELS: generality } });
  assert.equal(named.stdout, succeed(['info', random]).stdout);
});

test(
  'convert: a configuration that does not fit the tensors is refused',
  { skip: noCommand },
  () => {
    succeed(['convert', folder, 'same.gguf']); // two layers
    /** @type {[string, (value: number) => number, RegExp][]} */
    const cases = [
      [
        'llama.attention.head_count_kv',
        (n) => n * 2,
        /tensor blk\.0\.attn_k\.weight: expected \d+ rows/,
      ],
      ['llama.feed_forward_length', (n) => n + 32, /tensor blk\.0\.ffn_.*: expected \d+ rows/],
      [
        'llama.block_count',
        (n) => n + 1,
        /expected a tensor blk\.\d+\.attn_norm\.weight, found none/,
      ],
      [
        'llama.block_count',
        (n) => n - 1,
        /expected the tensors of a llama model of \d+ layers, found/,
      ],
    ];
    for (const [key, change, line] of cases) {
      const file = changed('changed.gguf', key, change);
      refuse(1, ['convert', file, 'out.gguf'], line);
      refuse(1, ['convert', file, 'out.gguf'], names(file, ''));
      assert.equal(existsSync(path.join(scratch, 'out.gguf')), false);
    }
  },
);

test("convert --force replaces a model's folder, and no other", { skip: noCommand }, () => {
  const other = path.join(scratch, 'other');
  mkdirSync(other);
  writeFileSync(path.join(other, 'diary.txt'), 'dear');
  refuse(
    1,
    ['convert', random, 'other', '--force'],
    /other: expected an empty folder or a model's/,
  );
  assert.deepEqual(readdirSync(other), ['diary.txt']);
  mkdirSync(path.join(scratch, 'empty'));
  refuse(1, ['convert', random, 'empty'], /empty: expected a new name/);
  succeed(['convert', random, 'empty', '--force']);
  succeed(['convert', random, 'empty', '--force']);
  assert.ok(existsSync(path.join(scratch, 'empty', 'model.safetensors')));
});

test('convert: a split model becomes one file, whatever part is named', { skip: noCommand }, () => {
  const split = path.join(generality, '..', 'split');
  /** @param {string} file */
  const shown = (file) => {
    const { metadata, tensors } = JSON.parse(succeed(['info', file, '--json']).stdout);
    const sizes = tensors.map((/** @type {any} */ t) => [t.name, t.type, String(t.shape)]);
    return { metadata, sizes: sizes.sort() };
  };
  succeed(['convert', path.join(split, 'qwen2_untied_q4_1-00002-of-00004.gguf'), 'joined.gguf']);
  assert.deepEqual(shown('joined.gguf'), shown(path.join(generality, 'qwen2_untied_q4_1.gguf')));

  const first = readFileSync(path.join(split, 'qwen2_untied_q4_1-00001-of-00004.gguf'));
  writeFileSync(path.join(scratch, 'first.gguf'), first);
  for (const command of [
    ['run', 'first.gguf', '-p', 'x'],
    ['convert', 'first.gguf', 'x.gguf'],
  ])
    refuse(1, command, /^wick: first\.gguf: expected a model of 4 parts, found 1\n$/);
  writeFileSync(path.join(scratch, 'first-00001-of-00002.gguf'), first);
  refuse(1, ['run', 'first-00001-of-00002.gguf', '-p', 'x'], /first-00002-of-00002\.gguf: No such/);
});

test('ppl: what is no number is null in its JSON', { skip: noCommand }, () => {
  const source = path.join(generality, 'type_f32.gguf');
  const { tensors } = JSON.parse(succeed(['info', source, '--json']).stdout);
  const bytes = readFileSync(source);
  const norm = tensors.find((/** @type {{ name: string }} */ t) => t.name === 'output_norm.weight');
  bytes.writeFloatLE(NaN, norm.offset);
  writeFileSync(path.join(scratch, 'nan.gguf'), bytes);
  writeFileSync(path.join(scratch, 'text.txt'), 'words and words '.repeat(20));
  const args = ['ppl', 'nan.gguf', '-f', 'text.txt', '-c', '16', '--exact'];
  const result = JSON.parse(succeed(args).stdout);
  assert.equal(result.nll, null);
  assert.equal(result.ppl, null);
});

const logits = ['logits', random, '--ids', Array(60).fill('1').join(','), '--all'];

test('a file that cannot be written whole leaves nothing', { skip: noCommand }, () => {
  writeFileSync(path.join(scratch, 'text.txt'), 'words and words '.repeat(20));
  for (const args of [
    [...logits, '--out', 'half.f32'],
    [...logits, '--out', '-', '--hidden', 'half.f32'],
    ['ppl', random, '-f', 'text.txt', '-c', '16', '--save-logits', 'half.f32'],
    ['convert', random, 'half.f32'],
    ['convert', random, 'half.gguf'],
  ]) {
    // A limit on a file's size stands for a disk that is full.
    const script = 'trap "" XFSZ; ulimit -f 1; exec "$0" "$@"';
    const options = { cwd: scratch, stdio: /** @type {const} */ (['ignore', 'pipe', 'pipe']) };
    const result = spawnSync('sh', ['-c', script, wick, ...args], options);
    assert.equal(result.status, 1, args.join(' '));
    assert.match(result.stderr.toString(), /^wick: half\.[^\n]*File too large\n$/);
    assert.deepEqual(
      readdirSync(scratch).filter((name) => name.startsWith('half')),
      [],
    );
  }
  writeFileSync(path.join(scratch, 'whole.f32'), 'old');
  succeed([...logits, '--out', 'whole.f32']);
  assert.ok(readFileSync(path.join(scratch, 'whole.f32')).length > 3);
  assert.equal(existsSync(path.join(scratch, 'whole.f32.partial')), false);
});

test('a signal removes what is unfinished', { skip: noTiny }, async () => {
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    for (const target of ['stopped.gguf', 'stopped']) {
      // In place of the file a pipe that is not emptied: the command waits in the middle of it.
      const partial = path.join(scratch, `${target}.partial`);
      const isFolder = !target.endsWith('.gguf');
      if (isFolder) mkdirSync(partial);
      const pipe = isFolder ? path.join(partial, 'model.safetensors') : partial;
      execFileSync('mkfifo', [pipe]);
      const child = spawn(wick, ['convert', tiny, target], { cwd: scratch, stdio: 'ignore' });
      const ended = once(child, 'exit');
      const reader = await open(pipe, 'r'); // waits for the writer
      child.kill(signal);
      assert.deepEqual(await ended, [null, signal]);
      await reader.close();
      const left = readdirSync(scratch).filter((name) => name.startsWith('stopped'));
      assert.deepEqual(left, [], `${signal}, ${target}`);
    }
  }
});

test(
  'a closed pipe is named by the reason that the system gives',
  { skip: noCommand },
  async () => {
    for (const args of [
      ['tokenize', random],
      ['run', random, '--raw', '-p', '-', '-n', '3'],
      ['detokenize', random],
    ]) {
      const script = 'trap "" PIPE; exec "$0" "$@"';
      const child = spawn('sh', ['-c', script, wick, ...args], { cwd: scratch });
      const ended = once(child, 'close');
      let said = '';
      child.stderr.setEncoding('utf8').on('data', (text) => (said += text));
      const closed = once(child.stdout, 'close');
      child.stdout.destroy();
      await closed;
      child.stdin.end('[1,2]');
      assert.equal((await ended)[0], 1, args.join(' '));
      assert.match(said, /^wick: stdout: [^\n]+ Broken pipe\n$/);
    }
  },
);
