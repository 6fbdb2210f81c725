/**
 * Markdown as DOM nodes. marked reads it into tokens; what is shown is built here from a list of
 * known kinds, text by text node, so that no string is ever parsed as HTML. Images are shown as
 * links, since fetching one would tell a stranger what was said. Raw HTML is shown as it is written.
 *
 * @import { Token, Tokens } from '../../dist/vendor/marked.js'
 */

import { Lexer } from '../../dist/vendor/marked.js';

/** Longer texts are shown plain: marked's time is not linear in everything. */
export const MOST_CHARACTERS = 100_000;
/** Deeper nesting than anybody writes: below it text is shown as it stands. */
const DEEPEST = 24;

/** @param {string} text @returns {Token[]} Blocks whose raw texts joined are the text. */
export function readBlocks(text) {
  const plain = /** @type {Token[]} */ ([{ type: 'plain', raw: text, text }]);
  if (text.length > MOST_CHARACTERS) return plain;
  try {
    const blocks = new Lexer({ gfm: true }).lex(text);
    // marked makes line ends and tabs uniform first; a stream counts on the very characters.
    return blocks.map(({ raw }) => raw).join('') === text ? blocks : plain;
  } catch {
    return plain; // nested too deep for its stack
  }
}

/**
 * @param {string} text
 * @returns {Node[]}
 */
export function renderMarkdown(text) {
  return readBlocks(text.replace(/\r\n?/g, '\n')).flatMap((block) => renderBlock(block));
}

/**
 * @param {keyof HTMLElementTagNameMap} name
 * @param {Node[]} [children]
 */
function make(name, children = []) {
  const element = document.createElement(name);
  element.append(...children);
  return element;
}

/** @param {string} text */
const textNode = (text) => document.createTextNode(text);

/**
 * @param {Token} token
 * @param {number} [depth]
 * @returns {Node[]}
 */
export function renderBlock(token, depth = 0) {
  if (depth > DEEPEST) return [textNode(token.raw)];
  const inside = () => renderAll(('tokens' in token && token.tokens) || [], depth + 1);
  switch (token.type) {
    case 'space':
    case 'def':
      return [];
    case 'heading':
      // The page has h1 and h2 of its own.
      return [make(headingName(token.depth), inside())];
    case 'paragraph':
      return [make('p', inside())];
    case 'blockquote':
      return [make('blockquote', inside())];
    case 'code':
      return [renderCode(/** @type {Tokens.Code} */ (token))];
    case 'hr':
      return [make('hr')];
    case 'list':
      return [renderList(/** @type {Tokens.List} */ (token), depth)];
    case 'table':
      return [renderTable(/** @type {Tokens.Table} */ (token), depth)];
    case 'plain':
      return [make('p', [textNode(token.raw)])];
    case 'html':
      return 'block' in token && token.block
        ? [make('p', [textNode(token.raw.trimEnd())])]
        : [textNode(token.raw)];
    default:
      return renderInline(token, depth);
  }
}

/** @param {Token[]} tokens @param {number} depth */
function renderAll(tokens, depth) {
  return tokens.flatMap((token) => renderBlock(token, depth));
}

/**
 * @param {Token} token
 * @param {number} depth
 * @returns {Node[]}
 */
function renderInline(token, depth) {
  const inside = () => renderAll(('tokens' in token && token.tokens) || [], depth + 1);
  switch (token.type) {
    case 'text':
      return 'tokens' in token && token.tokens ? inside() : [textNode(unescape(token.text))];
    case 'escape':
      return [textNode(token.text)];
    case 'strong':
      return [make('strong', inside())];
    case 'em':
      return [make('em', inside())];
    case 'del':
      return [make('del', inside())];
    case 'codespan':
      return [make('code', [textNode(token.text)])];
    case 'checkbox':
      return [textNode(token.checked ? '\u2611 ' : '\u2610 ')];
    case 'br':
      return [make('br')];
    case 'link':
      return renderLink(token.href, inside(), token.raw);
    case 'image':
      return renderLink(token.href, [textNode(`Image: ${token.text || token.href}`)], token.raw);
    default:
      return [textNode(token.raw)];
  }
}

/** @param {number} depth @returns {'h3' | 'h4' | 'h5' | 'h6'} */
function headingName(depth) {
  return /** @type {const} */ (['h3', 'h4', 'h5', 'h6'])[Math.min(depth, 4) - 1];
}

/** What marked leaves to HTML: character references. Only these five matter to plain text. */
const ENTITIES = /** @type {Record<string, string>} */ ({
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
});

/** @param {string} text */
function unescape(text) {
  return text.replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity]);
}

/**
 * A link that says where it leads; whatever is no plain address of the web stays text.
 * @param {string} href
 * @param {Node[]} label
 * @param {string} raw
 * @returns {Node[]}
 */
function renderLink(href, label, raw) {
  const url = URL.canParse(href) ? new URL(href) : null;
  if (!url || !['http:', 'https:', 'mailto:'].includes(url.protocol)) return [textNode(raw)];
  const link = document.createElement('a');
  link.href = url.href;
  link.target = '_blank';
  link.rel = 'noopener noreferrer nofollow';
  link.append(...label);
  // The label is the model's: the host is shown unless the label is the address.
  const host = url.host || url.pathname;
  if (link.textContent?.includes(host)) return [link];
  const where = make('span', [textNode(` (${host})`)]);
  where.className = 'note';
  return [link, where];
}

/** @param {Tokens.Code} token */
function renderCode({ text, lang }) {
  const figure = make('figure');
  figure.className = 'code';
  const caption = make('figcaption');
  const name = (lang ?? '').split(/\s/, 1)[0].slice(0, 30);
  caption.append(name || 'code');
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'quiet copy-code';
  button.textContent = 'Copy';
  button.setAttribute('aria-label', name ? `Copy the ${name} code` : 'Copy the code');
  caption.append(button);
  const block = make('pre', [make('code', [textNode(text)])]);
  block.tabIndex = 0; // wide code scrolls by keyboard too
  figure.append(caption, block);
  return figure;
}

/** @param {Tokens.List} token @param {number} depth */
function renderList({ ordered, start, items }, depth) {
  const list = make(ordered ? 'ol' : 'ul');
  if (list instanceof HTMLOListElement && typeof start === 'number' && start !== 1)
    list.start = start;
  list.append(...items.map(({ tokens }) => make('li', renderAll(tokens, depth + 1))));
  return list;
}

/** @param {Tokens.Table} token @param {number} depth */
function renderTable({ header, rows }, depth) {
  /** @param {'th' | 'td'} name @param {Tokens.TableCell[]} cells */
  const row = (name, cells) =>
    make(
      'tr',
      cells.map(({ tokens, align }) => {
        const cell = make(name, renderAll(tokens, depth + 1));
        if (align === 'right' || align === 'center') cell.className = align;
        return cell;
      }),
    );
  const head = make('thead', [row('th', header)]);
  const body = make(
    'tbody',
    rows.map((cells) => row('td', cells)),
  );
  const scroll = make('div', [make('table', [head, body])]);
  scroll.className = 'table';
  scroll.tabIndex = 0;
  scroll.role = 'region';
  scroll.ariaLabel = 'Table';
  return scroll;
}
