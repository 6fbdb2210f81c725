// wick chat, and what SmolLM2 itself says: lines on stdin, a terminal, Ctrl-C.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { noSmollm2, noTiny, run, smollm2, succeed, tiny, wick } from './cli.mjs';

/** Answers that do not end by themselves: without SmolLM2's end token. */
const endless = ['-n', '2000', '--temp', '1', '--seed', '1', '--logit-bias', '2=-1000'];

test('chat: lines on stdin', { skip: noTiny }, () => {
  const args = ['chat', tiny, '-n', '8', '--temp', '0'];
  const once = succeed(args, { input: 'Hello\n' });
  assert.equal(once.stderr, '');
  assert.ok(once.stdout.endsWith('\n'));
  assert.equal(succeed(args, { input: '\n  \nHello' }).stdout, once.stdout);
  assert.equal(succeed(args, { input: '"""Hello"""\n' }).stdout, once.stdout);
  assert.equal(succeed(args, { input: '"""\nHello"""\n/quit\nmore\n' }).stdout, once.stdout);
  const twice = succeed(args, { input: 'Hello\n/reset\nHello\n' });
  assert.equal(twice.stdout, once.stdout.repeat(2));
  assert.match(twice.stderr, /a new conversation/);
  assert.match(succeed(args, { input: '/help\n' }).stderr, /Ctrl-C/);
  assert.match(succeed(args, { input: '/frob\n' }).stderr, /expected \/system/);
  const long = 'Hello there, how are you?\n'.repeat(12);
  const full = succeed([...args, '-c', '160', '--system', 'Be brief.'], { input: long });
  assert.match(full.stderr, /context full: the oldest \d+ messages are forgotten/);
  const huge = run([...args, '-c', '64'], { input: `${'many words '.repeat(100)}\n` });
  assert.equal(huge.status, 1);
  assert.match(huge.stderr, /^wick: expected a message of at most \d+ tokens .*, found \d+/);
});

test('Ctrl-C stops an answer and keeps what was written', { skip: noSmollm2 }, async () => {
  const child = spawn(wick, ['run', smollm2, '-p', 'Tell a long story.', ...endless]);
  let text = '';
  child.stdout.on('data', (piece) => {
    if (text === '') child.kill('SIGINT');
    text += piece;
  });
  /** @type {number | null} */
  const status = await new Promise((resolve) => child.on('close', resolve));
  assert.equal(status, 130);
  assert.ok(text.length > 0 && text.length < 4000);
});

/**
 * The command in a terminal (script, of util-linux), to type into and to wait for text from.
 * @param {string[]} args
 */
function inTerminal(args) {
  const quoted = [wick, ...args].map((arg) => `'${arg}'`).join(' ');
  const env = { ...process.env, TERM: 'xterm', SHELL: '/bin/sh' };
  const child = spawn('script', ['-qefc', `exec ${quoted}`, '/dev/null'], { env });
  let seen = '';
  child.stdout.on('data', (piece) => (seen += piece));
  const ended = new Promise((resolve) => child.on('close', resolve));
  return {
    ended,
    kill: () => child.kill('SIGKILL'),
    /** @param {string} text */
    type: (text) => child.stdin.write(text),
    /**
     * Wait until the pattern stands in what came since the last wait.
     * @param {RegExp} pattern
     */
    async until(pattern) {
      for (let waited = 0; !pattern.test(seen); waited += 20) {
        assert.ok(waited < 60_000, `no ${pattern} in ${JSON.stringify(seen)}`);
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      const all = seen;
      seen = '';
      return all;
    },
  };
}

/** Why a terminal can't be tried: no script, or a build without the line editor (its key binding). */
function reasonAgainstTerminal() {
  if (process.platform !== 'linux') return 'needs script of util-linux';
  if (spawnSync('script', ['--version']).status !== 0) return 'needs script of util-linux';
  return readFileSync(wick).includes('em-kill-line') ? false : 'built without libedit';
}

test(
  'chat in a terminal: editing, paste, Ctrl-C, Ctrl-D',
  { skip: noSmollm2 || reasonAgainstTerminal() },
  async () => {
    const chat = inTerminal(['chat', smollm2, ...endless]);
    try {
      await chat.until(/Ctrl-D leaves.*\n.*> $/s);
      chat.type('Tell me a very long story.\r');
      await chat.until(/story\.\r\n.*\w+ \w+/s);
      chat.type('\x03');
      assert.match(await chat.until(/tokens\/s\).*> $/s), /\(stopped; prompt \d+ tokens/);
      chat.type('/frob\r');
      await chat.until(/expected \/system.*> $/s);
      chat.type('one line\nand another\n');
      await chat.until(/\.\.\. and another\r\n.*\w+ \w+/s);
      chat.type('\x03');
      assert.match(await chat.until(/tokens\/s\).*> $/s), /\d+ tokens \([1-9]\d* reused/);
      chat.type('\x04');
      assert.equal(await chat.ended, 0);
    } finally {
      chat.kill();
    }
  },
);

test('SmolLM2 answers', { skip: noSmollm2 }, () => {
  const args = ['run', smollm2, '-p', 'What is the capital of France?', '--temp', '0', '--exact'];
  assert.equal(succeed(args).stdout, 'The capital of France is Paris.');
});
