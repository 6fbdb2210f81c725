// The native command as its users meet it: exit codes, one-line errors, what goes to stdout and what
// to stderr, the shapes of its JSON, pipes.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import {
  assertNumbers,
  folder,
  noCommand,
  random,
  refuse,
  run,
  scratch,
  succeed,
  wick,
} from './cli.mjs';

test('version and help', { skip: noCommand }, () => {
  assert.match(succeed(['--version']).stdout, /^wick \d+\.\d+\.\d+\n$/);
  const help = succeed(['help']).stdout;
  for (const command of [
    'run',
    'chat',
    'tokenize',
    'detokenize',
    'logits',
    'ppl',
    'bench',
    'probe',
  ]) {
    assert.match(help, new RegExp(`wick ${command} `));
    assert.match(succeed([command, '--help']).stdout, new RegExp(`^usage: wick ${command}`));
    assert.equal(succeed(['help', command]).stdout, succeed([command, '--help']).stdout);
  }
  const bare = run([]);
  assert.equal(bare.status, 2);
  assert.equal(bare.stdout, '');
  assert.match(bare.stderr, /^usage: wick/);
});

test('wrong usage: one line that says what was expected, status 2', { skip: noCommand }, () => {
  /** @type {[string[], RegExp][]} */
  const cases = [
    [['frobnicate'], /expected a command .* found frobnicate/],
    [['help', 'frobnicate'], /expected a command, found frobnicate/],
    [['help', 'run', 'x'], /help: expected one command, found x too/],
    [['convert', random, 'x', '--type', 'q9'], /convert: --type: expected f32, .* found q9/],
    [['convert', random, 'x', '--type', 'q4_0'], /convert: --type: expected f32, f16 or bf16/],
    [['convert', random, ''], /convert: expected .*, found an empty argument/],
    [['info', ''], /info: expected .*, found an empty argument/],
    [['logits', random, '--ids', '1', '--out', ''], /logits: --out: expected a path/],
    [['ppl', random, '-f', ''], /ppl: -f: expected a path/],
    [['run'], /found 0 arguments/],
    [['run', random], /expected -p TEXT/],
    [['run', random, 'more', '-p', 'x'], /found more too/],
    [['run', random, '-p'], /-p: expected TEXT after it/],
    [['run', random, '-p', 'x', '--frob'], /found --frob/],
    [['run', random, '-p', 'x', '--raw=1'], /--raw: expected no value, found 1/],
    [['run', random, '-p', 'x', '--raw', '--system', 'y'], /--system: expected no --raw/],
    [['run', random, '-p', 'x', '--levels', 'avx9'], /--levels: .* found avx9/],
    [['run', random, '-p', 'x', '--cache', 'f64'], /--cache: .* found f64/],
    [['run', random, '-p', 'x', '--exact', '--cache', 'f16'], /--cache: .* found f16/],
    [['run', random, '-p', 'x', '--logit-bias', '5'], /--logit-bias: expected ID=V .* found 5/],
    [['logits', random, '--out', 'x'], /expected either --ids or -p/],
    [['logits', random, '--ids', '1'], /expected --out F/],
    [['logits', random, '--ids', '1,,2', '--out', 'x'], /--ids: .* found nothing/],
    [['logits', random, '--ids', '1,2x', '--out', 'x'], /--ids: .* found 2x/],
    [['logits', random, '--ids', '99999999', '--out', 'x'], /--ids: .* found 99999999/],
    [['ppl', random], /expected -f TEXT/],
  ];
  for (const number of ['', ' 1', '1 ', '1x', '0x10', 'nan', 'inf', '1e999', '--', '-1']) {
    cases.push([['run', random, '-p', 'x', '--temp', number], /--temp: expected a number from 0/]);
    cases.push([['run', random, '-p', 'x', '-n', number], /-n: expected a whole number from 1/]);
    cases.push([['run', random, '-p', 'x', '--seed', number], /--seed: expected a whole number/]);
  }
  cases.push([['run', random, '-p', 'x', '-n', '1.5'], /-n: .* found 1\.5/]);
  cases.push([['run', random, '-p', 'x', '-n', '99999999999999999999'], /-n: expected/]);
  cases.push([['run', random, '-p', 'x', '--seed', '18446744073709551616'], /--seed: expected/]);
  cases.push([
    ['run', random, '-p', 'x', '--top-p', '1.01'],
    /--top-p: expected a number from 0 to 1/,
  ]);
  for (const [args, line] of cases) refuse(2, args, line);
});

test('what cannot be opened: one line, status 1', { skip: noCommand }, () => {
  const garbage = path.join(scratch, 'garbage.gguf');
  const text = path.join(scratch, 'text.txt');
  writeFileSync(garbage, 'not a model');
  writeFileSync(text, 'words');
  const cut = path.join(scratch, 'cut.gguf');
  copyFileSync(random, cut);
  truncateSync(cut, 5000);
  refuse(1, ['tokenize', 'nothing-here'], /nothing-here: expected .* under /);
  refuse(1, ['tokenize', 'x/y.gguf'], /x\/y\.gguf: expected/);
  refuse(1, ['tokenize', garbage], /garbage\.gguf: /);
  refuse(1, ['tokenize', cut], /cut\.gguf: /);
  refuse(1, ['tokenize', text], /text\.txt: expected a \.gguf or \.safetensors file or a folder/);
  refuse(1, ['tokenize', scratch], /expected a \.safetensors file in it, found none/);
  refuse(1, ['tokenize', '/dev/null'], /\/dev\/null/);
  refuse(1, ['tokenize', 'a\nb\x1b[2J'], /a\?b\?\[2J/);
  refuse(1, ['ppl', random, '-f', 'missing.txt', '-c', '16'], /missing\.txt: /);
  refuse(1, ['logits', random, '--ids', '1', '--out', 'no/such/folder'], /no\/such\/folder: /);
});

test('an index names files of its own folder only', { skip: noCommand }, () => {
  const model = path.join(scratch, 'indexed');
  mkdirSync(model);
  for (const name of ['config.json', 'tokenizer.json', 'tokenizer_config.json']) {
    copyFileSync(path.join(folder, name), path.join(model, name));
  }
  copyFileSync(path.join(folder, 'model.safetensors'), path.join(model, 'part.safetensors'));
  const index = path.join(model, 'model.safetensors.index.json');
  /** @type {[string, RegExp][]} */
  const cases = [
    ['', /index\.json: /],
    ['{"weight_map": []}', /expected a weight_map/],
    ['{"weight_map": {}}', /expected a \.safetensors file in it, found none/],
    ['{"weight_map": {"a": "../part.safetensors"}}', /found \.\.\/part/],
    ['{"weight_map": {"a": "/etc/part.safetensors"}}', /found \/etc\/part/],
    ['{"weight_map": {"a": "config.json"}}', /found config\.json/],
    ['{"weight_map": {"a": 1}}', /found another type/],
    ['{"weight_map": {"a": "other.safetensors"}}', /other\.safetensors: No such file/],
  ];
  for (const [text, line] of cases) {
    writeFileSync(index, text);
    refuse(1, ['tokenize', model], line);
  }
  writeFileSync(index, '{"weight_map": {"a": "part.safetensors", "b": "part.safetensors"}}');
  assert.match(succeed(['tokenize', model], { input: 'Hello' }).stdout, /^\[\d/);
});

test('a model by name, by file and by folder', { skip: noCommand }, () => {
  const ids = succeed(['tokenize', random], { input: 'Hello' }).stdout;
  const named = run(['tokenize', 'type_q8_0'], {
    input: 'Hello',
    env: { WICK_MODELS: path.dirname(random) },
  });
  assert.equal(named.stdout, ids);
  const weights = path.join(folder, 'model.safetensors');
  const byFile = succeed(['logits', weights, '--ids', '1,2,3', '--out', '-']).bytes;
  assert.deepEqual(succeed(['logits', folder, '--ids', '1,2,3', '--out', '-']).bytes, byFile);
  assert.deepEqual(succeed(['logits', `${folder}/`, '--ids', '1,2,3', '--out', '-']).bytes, byFile);
  const sharded = path.join(path.dirname(folder), 'qwen2_sharded_bf16');
  const shard = path.join(sharded, 'model-00002-of-00003.safetensors');
  assert.deepEqual(
    succeed(['logits', shard, '--ids', '1,2,3', '--out', '-']).bytes,
    succeed(['logits', sharded, '--ids', '1,2,3', '--out', '-']).bytes,
  );
});

test('tokenize and detokenize', { skip: noCommand }, () => {
  const text = 'Hello, world 123\n\ttabs é 日本 🙂';
  const ids = succeed(['tokenize', random], { input: text }).stdout;
  assert.ok(JSON.parse(ids).length > 0);
  assert.equal(succeed(['detokenize', random], { input: ids }).stdout, text);
  assert.equal(succeed(['tokenize', random]).stdout, '[]\n');
  assert.equal(succeed(['detokenize', random], { input: ' [ ] ' }).stdout, '');
  const special = JSON.parse(succeed(['tokenize', folder], { input: '<|im_end|>' }).stdout);
  const plain = succeed(['tokenize', folder, '--no-special'], { input: '<|im_end|>' }).stdout;
  assert.equal(special.length, 1);
  assert.ok(JSON.parse(plain).length > 1);
  for (const input of ['', '{}', '5', '[1', '[1] x', '[1.5]', '[-1]', '["1"]', '[1e9]', '[null]']) {
    refuse(1, ['detokenize', random], /^wick: stdin: expected/, { input });
  }
  refuse(1, ['detokenize', random], /^wick: stdin: expected/, { input: '['.repeat(1e6) });
});

test('logits: sizes, and the last row whatever is asked for beside it', { skip: noCommand }, () => {
  const nVocab = 288;
  const args = ['logits', random, '--ids', '5,6,7,8', '--out'];
  const last = succeed([...args, '-']).bytes;
  assert.equal(last.length, 4 * nVocab);
  const all = succeed([...args, '-', '--all']).bytes;
  assert.equal(all.length, 4 * 4 * nVocab);
  assert.deepEqual(all.subarray(3 * 4 * nVocab), last);
  const hidden = path.join(scratch, 'hidden.f32');
  assert.deepEqual(succeed([...args, '-', '--hidden', hidden]).bytes, last);
  const size = readFileSync(hidden).length;
  assert.equal(size % (4 * 4), 0);
  const out = path.join(scratch, 'logits.f32');
  succeed([...args, out, '--exact', '-t', '1', '--levels', 'reference']);
  const exact = readFileSync(out);
  for (let i = 0; i < nVocab; i++) {
    const difference = Math.abs(exact.readFloatLE(4 * i) - last.readFloatLE(4 * i));
    assert.ok(difference < 1, `logit ${i}`);
  }
  const ids = succeed(['tokenize', random], { input: 'some text' }).stdout.trim().slice(1, -1);
  assert.deepEqual(
    succeed(['logits', random, '-p', 'some text', '--out', '-']).bytes,
    succeed(['logits', random, '--ids', ids, '--out', '-']).bytes,
  );
  refuse(1, ['logits', random, '--ids', '5,6', '--out', '-', '-c', '1000000'], /context/);
  refuse(1, ['logits', random, '-p', '', '--out', '-'], /expected at least one token/);
});

test('ppl: its JSON, logits kept and compared', { skip: noCommand }, () => {
  const text = path.join(scratch, 'text.txt');
  const kept = path.join(scratch, 'kept.logits');
  writeFileSync(text, 'The quick brown fox jumps over the lazy dog. '.repeat(20));
  const args = ['ppl', random, '-f', text, '-c', '32', '--chunks', '3'];
  const alone = JSON.parse(succeed([...args, '--save-logits', kept]).stdout);
  assertNumbers(alone, ['context', 'windows', 'scored', 'nll', 'ppl']);
  assert.equal(alone.scored, 3 * 15);
  assert.equal(readFileSync(kept).length, 32 + 3 * 15 * 288 * 4);
  const same = JSON.parse(succeed([...args, '--kl-base', kept]).stdout);
  assert.equal(same.ppl, alone.ppl);
  assert.equal(same.ppl_base, alone.ppl);
  assert.equal(same.mean_kl, 0);
  assert.equal(same.kl_p99, 0);
  assert.equal(same.same_top_percent, 100);
  const exact = JSON.parse(succeed([...args, '--exact', '--kl-base', kept]).stdout);
  assert.ok(exact.mean_kl > 0 && exact.mean_kl < 0.1 && exact.exact === true);
  assert.ok(Math.abs(exact.ppl_ratio - exact.ppl / exact.ppl_base) < 1e-5);

  /** @type {(more: string[], line: RegExp) => void} */
  const mismatch = (more, line) => refuse(1, [...args, '--kl-base', kept, ...more], line);
  mismatch(['-c', '16'], /expected 16 tokens in a window, found 32/);
  mismatch(['--chunks', '2'], /expected 2 windows, found 3/);
  writeFileSync(text, 'Another text of the same length as the one before it was. '.repeat(20));
  mismatch([], /expected logits of the same text/);
  refuse(1, [...args, '--kl-base', text], /expected a file by --save-logits/);
  writeFileSync(text, 'The quick brown fox jumps over the lazy dog. '.repeat(20));
  truncateSync(kept, 5000);
  mismatch([], /found the file's end/);
  truncateSync(kept, 10);
  mismatch([], /expected a file by --save-logits/);
  refuse(1, ['ppl', random, '-f', '-', '-c', '32'], /at least one window of 32 tokens, found 0/);
});

test('run: seeds, stdin, stop strings, biases, log-probabilities', { skip: noCommand }, () => {
  const args = ['run', random, '--raw', '-p', 'Hello', '-n', '20', '--temp', '1', '--top-p', '1'];
  const first = succeed([...args, '--seed', '1']);
  assert.equal(first.stderr, '');
  assert.equal(succeed([...args, '--seed', '1']).stdout, first.stdout);
  assert.notEqual(succeed([...args, '--seed', '2']).stdout, first.stdout);
  assert.equal(succeed([...args, '--seed', '1', '-t', '1']).stdout, first.stdout);
  const piped = args.map((arg) => (arg === 'Hello' ? '-' : arg));
  assert.equal(succeed([...piped, '--seed', '1'], { input: 'Hello' }).stdout, first.stdout);

  const [id] = JSON.parse(succeed(['tokenize', random], { input: 'x' }).stdout);
  const forced = ['run', random, '--raw', '-p', 'Hello', '-n', '5', '--logit-bias', `${id}=1000`];
  assert.equal(succeed(forced).stdout, 'xxxxx');
  assert.equal(succeed([...forced, '--stop', 'xxx']).stdout, '');
  assert.equal(succeed([...forced, '--stop', 'xxxxxx']).stdout, 'xxxxx');
  refuse(2, [...forced, '--stop', ''], /run: --stop: expected a text, found none/);
  refuse(1, [...forced, '--stop', 'x'.repeat(5000)], /run: stop\[0\]: expected 1 to 4096 bytes/);
  refuse(2, [...forced, '--logit-bias', '99999=1'], /run: --logit-bias: .* found 99999/);

  const logprobs = succeed([...forced, '--logprobs', '3']);
  assert.equal(logprobs.stdout, 'xxxxx');
  const lines = logprobs.stderr
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  assert.equal(lines.length, 5);
  for (const line of lines) {
    assert.equal(line.id, id);
    assert.equal(line.text, 'x');
    assert.equal(line.top.length, 3);
    assert.ok(line.logprob <= line.top[0].logprob && line.top[0].logprob <= 0);
    assert.ok(line.top[0].logprob >= line.top[1].logprob);
  }
  assert.match(
    succeed([...forced, '-v']).stderr,
    /^\[prompt \d+ tokens .*tokens\/s.*seed \d+\]\n$/,
  );
  refuse(1, ['run', random, '--raw', '-p', ''], /expected a prompt of at least one token/);
  refuse(1, ['run', random, '-p', 'Hello'], /expected a known chat template/);
  refuse(1, ['chat', random], /expected a known chat template/);
  refuse(1, ['run', random, '--raw', '-p', 'Hello '.repeat(40), '-c', '16'], /at most 15 tokens/);
});

test('bench and probe: their JSON', { skip: noCommand }, () => {
  const bench = JSON.parse(
    succeed(['bench', random, '-p', '8', '-n', '4', '-b', '2', '-r', '2', '--json']).stdout,
  );
  for (const part of ['prefill', 'decode']) {
    const { median, min, max } = bench[part].tokens_per_second;
    assert.ok(0 < min && min <= median && median <= max, part);
  }
  assert.ok(bench.read_bandwidth.gigabytes_per_second.median > 0);
  assert.ok(bench.weight_bytes_per_step > 0 && bench.fraction_of_bandwidth > 0);
  assert.equal(bench.batch, 2);
  assert.match(succeed(['bench', random, '-p', '8', '-n', '4', '-r', '1']).stdout, /decode/);

  // One thread waits for nobody; every other stage of both kinds of work takes some time.
  const profiled = ['bench', random, '-p', '8', '-d', '40', '-n', '4', '-r', '2', '-t', '1'];
  const profile = JSON.parse(succeed([...profiled, '--profile', '--json']).stdout);
  for (const part of ['prefill', 'decode']) {
    const stages = /** @type {[string, number][]} */ (
      Object.entries(profile[`${part}_stage_milliseconds`])
    );
    assert.equal(stages.length, 10);
    for (const [name, milliseconds] of stages)
      assert.ok(milliseconds > 0 || name === 'waiting', `${part}, ${name}: ${milliseconds}`);
  }
  assert.match(succeed([...profiled, '--profile']).stdout, /one step of decode: [^]*gate and up/);
  // Two layers of two KV heads of 16 values, K and V, in half floats.
  const perToken = 2 * 2 * 16 * 2 * 2;
  assert.equal(profile.cache_bytes_per_step, (40 + 4 / 2) * perToken);
  const { weights, cache, work, peak } = profile.memory_bytes;
  assert.ok(peak > weights + work && cache === perToken * Math.ceil((2 * 45) / 32) * 32);
  const decodeOnly = JSON.parse(succeed([...profiled, '-p', '0', '--json']).stdout);
  assert.deepEqual(['prefill' in decodeOnly, 'decode' in decodeOnly], [false, true]);

  const probe = JSON.parse(succeed(['probe', '--quick', '--json']).stdout);
  assert.ok(probe.cores >= 1);
  const used = probe.levels.filter((/** @type {{ why: string }} */ level) =>
    level.why.startsWith('used'),
  );
  assert.equal(used.length, 1);
  assert.ok(
    probe.levels.some((/** @type {{ name: string }} */ level) => level.name === 'reference'),
  );
});

test('a reader that goes away ends the command', { skip: noCommand }, () => {
  const text = 'word '.repeat(200_000);
  const result = spawnSync('sh', ['-c', '"$0" tokenize "$1" | head -c 1', wick, random], {
    input: text,
    timeout: 60_000,
  });
  assert.equal(result.status, 0);
  assert.equal(result.stdout.toString(), '[');
  assert.equal(result.stderr.toString(), '');
});

test('a full disk is an error', { skip: noCommand || !existsSync('/dev/full') }, () => {
  for (const args of [
    ['tokenize', random],
    ['run', random, '--raw', '-p', 'Hello', '-n', '3'],
    ['logits', random, '--ids', '1', '--out', '-'],
    ['--version'],
  ]) {
    const result = spawnSync('sh', ['-c', '"$0" "$@" > /dev/full', wick, ...args], { input: 'x' });
    assert.equal(result.status, 1, args.join(' '));
    assert.match(result.stderr.toString(), /^wick: [^\n]+ No space left on device\n$/);
  }
  const full = /^wick: \/dev\/full: .*No space left on device/;
  refuse(1, ['logits', random, '--ids', '1', '--out', '/dev/full'], full);
  assert.ok(statSync('/dev/full').isCharacterDevice());
});
