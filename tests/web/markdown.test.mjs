/** Markdown in answers: shown as the specification says, never as HTML, and stable while it streams. */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { launch, openPage, serveSite } from './support.mjs';

/** @type {import('playwright-core').Browser} */
let browser;
/** @type {Awaited<ReturnType<typeof serveSite>>} */
let site;
/** @type {Awaited<ReturnType<typeof openPage>>} */
let opened;
before(async () => {
  [browser, site] = await Promise.all([launch(), serveSite()]);
  opened = await openPage(browser);
  await opened.page.goto(`${site.url}style/`);
});

/** The HTML of what is shown. @param {string} text @returns {Promise<string>} */
const shown = (text) =>
  opened.page.evaluate(async (text) => {
    const { renderMarkdown } = await import(/** @type {any} */ ('/parts/markdown.js'));
    const element = document.createElement('div');
    element.append(...renderMarkdown(text));
    return element.getHTML();
  }, text);

/** Examples of CommonMark 0.31.2, but for headings, which start at h3 here. */
const EXAMPLES = [
  ['# foo', '<h3>foo</h3>'],
  ['***\n---\n___', '<hr><hr><hr>'],
  ['*foo bar*', '<p><em>foo bar</em></p>'],
  ['**foo bar**', '<p><strong>foo bar</strong></p>'],
  ['`foo`', '<p><code>foo</code></p>'],
  ['> # Foo\n> bar\n> baz', '<blockquote><h3>Foo</h3><p>bar\nbaz</p></blockquote>'],
  ['- foo\n- bar\n+ baz', '<ul><li>foo</li><li>bar</li></ul><ul><li>baz</li></ul>'],
  ['123456789. ok', '<ol start="123456789"><li>ok</li></ol>'],
  ['foo  \nbaz', '<p>foo<br>baz</p>'],
  ['\\*not emphasized*', '<p>*not emphasized*</p>'],
];

test("CommonMark's examples", async () => {
  for (const [text, html] of EXAMPLES) assert.equal(await shown(text), html);
});

test('tables and tasks', async () => {
  const table = await shown('| a | b |\n|---|--:|\n| 1 | **2** |');
  assert.match(table, /<th>a<\/th><th class="right">b<\/th>/);
  assert.match(table, /<td>1<\/td><td class="right"><strong>2<\/strong><\/td>/);
  const tasks = await shown('- [x] done\n- [ ] open');
  assert.equal(tasks, '<ul><li>\u2611 done</li><li>\u2610 open</li></ul>');
});

test('no HTML, no script, no image, no odd address', async () => {
  const hostile = [
    '<img src=x onerror=alert(1)>',
    'a <b onclick=alert(1)>b</b> <script>alert(1)</script>',
    '<div>\n<script>alert(1)</script>\n</div>',
    '![cat](https://example.com/cat.png)',
    '![cat](x onerror=alert)',
    '[x](javascript:alert(1))',
    '[x](java&#115;cript:alert(1))',
    '[x](\u0001javascript:alert(1))',
    '[x](data:text/html,<script>alert(1)</script>)',
    '[x](//example.com/a) [y](/models/a) <javascript:alert(1)>',
    '```html"onmouseover=alert(1)\n<script>alert(1)</script>\n```',
    '| <img src=x> |\n|---|\n| <script>alert(1)</script> |',
    '[a](https://example.com/"onmouseover="alert(1))',
  ];
  const found = await opened.page.evaluate(async (texts) => {
    const { renderMarkdown } = await import(/** @type {any} */ ('/parts/markdown.js'));
    const element = document.createElement('div');
    for (const text of texts) element.append(...renderMarkdown(text));
    const all = [...element.querySelectorAll('*')];
    return {
      names: [...new Set(all.map(({ localName }) => localName))],
      attributes: [...new Set(all.flatMap((each) => each.getAttributeNames()))],
      links: [...element.querySelectorAll('a')].map(({ href, rel }) => [new URL(href).origin, rel]),
      text: element.textContent,
    };
  }, hostile);
  for (const name of ['img', 'script', 'b', 'div > script', 'style', 'iframe'])
    assert.ok(!found.names.includes(name), name);
  assert.deepEqual(
    found.attributes.filter((name) => /^on|^style$|^src$/.test(name)),
    [],
  );
  for (const link of found.links)
    assert.deepEqual(link, ['https://example.com', 'noopener noreferrer nofollow']);
  assert.equal(found.links.length, 2, 'the image and the last, each as a link');
  assert.match(found.text ?? '', /<img src=x onerror=alert\(1\)>/, 'raw HTML is text');
});

test('a link tells its host when its label does not', async () => {
  assert.match(
    await shown('[bank](https://example.com/a)'),
    /bank<\/a><span class="note"> \(example/,
  );
  assert.ok(!(await shown('https://example.com/a')).includes('<span'));
});

test('code is shown as it is, with a button that has a name', async () => {
  const html = await shown('```python\nif a < b: pass\n```');
  assert.match(html, /<code>if a &lt; b: pass<\/code>/);
  assert.match(html, /aria-label="Copy the python code"/);
});

test('hostile nesting and a megabyte end in text', async () => {
  const deep = await shown('>'.repeat(20_000) + ' x');
  assert.match(deep, /x/);
  const lists = await shown(
    Array.from({ length: 200 }, (_, i) => ' '.repeat(2 * i) + '- a').join('\n'),
  );
  assert.match(lists, /a/);
  assert.ok((await shown('a*_`['.repeat(200_000))).includes('a*_`['));
});

const STREAMED = [
  '# Title\n\nSome *text* that goes\non.\n\n- one\n- two\n\n  more\n\n1. x\n\n```js\nlet a;\n\nb\n```\n\nend',
  'A [link][1] and more.\n\nSecond.\n\n[1]: https://example.com/',
  'a | b\n--|--\n1 | 2\n\nSetext\n---\n\n> quote\nlazy\n\n\n<div>\n\nx\n\n</div>\n',
  'line\r\nends\r\n\r\n* one\r\n* two\r\n',
];

test('streamed text ends as the whole text would, and settled blocks keep their nodes', async () => {
  for (const text of STREAMED) {
    const { streamed, whole, kept } = await opened.page.evaluate(async (text) => {
      const { renderMarkdown } = await import(/** @type {any} */ ('/parts/markdown.js'));
      const { MarkdownStream } = await import(/** @type {any} */ ('/parts/markdown-stream.js'));
      const element = document.createElement('div');
      const stream = new MarkdownStream(element);
      let first = null;
      let kept = true;
      for (let i = 0; i < text.length; i += 3) {
        stream.append(text.slice(i, i + 3));
        stream.draw();
        if (element.childNodes.length > 2) first ??= element.firstChild;
        if (first) kept &&= element.firstChild === first;
      }
      stream.finish();
      const other = document.createElement('div');
      other.append(...renderMarkdown(text));
      return { streamed: element.getHTML(), whole: other.getHTML(), kept };
    }, text);
    assert.equal(streamed, whole);
    assert.ok(kept, text);
  }
});

test('nothing broke the policy', () => assert.deepEqual(opened.complaints, []));
