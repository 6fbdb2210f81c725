// What the pages need beside the files of web/ and the wasm builds:
//
//   dist/vendor/marked.js   the one library that they use, with its types. It is one ES module, so
//                           that no bundler is needed.
//   dist/site.json          what the site consists of, and a version that changes with any of it;
//                           web/sw.js copies those files, so that the site works without a network.
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { inRoot } from './lib/paths.mjs';

/** What is copied: from a package, to dist/vendor/. */
const copies = [
  { from: 'marked/lib/marked.esm.js', to: 'marked.js' },
  { from: 'marked/lib/marked.d.ts', to: 'marked.d.ts' },
  { from: 'marked/LICENSE', to: 'marked.LICENSE.txt' },
];

/** Models are no part of it: the loader keeps them. */
const served = /\.(css|csv|html|js|json|mjs|png|svg|wasm|webmanifest|webp)$/;

export async function buildSite() {
  mkdirSync(inRoot('dist', 'vendor'), { recursive: true });
  for (const { from, to } of copies)
    copyFileSync(inRoot('node_modules', from), inRoot('dist', 'vendor', to));
  writeFileSync(inRoot('dist', 'site.json'), `${JSON.stringify(listSite(), null, 1)}\n`);
}

/**
 * pages: relative to sw.js, wherever the site's root is; built: relative to dist/.
 * @returns {{ version: string, pages: string[], built: string[] }}
 */
function listSite() {
  const pages = filesIn('web');
  const built = ['wasm', 'vendor'].flatMap((folder) =>
    filesIn('dist', folder).map((name) => `${folder}/${name}`),
  );
  const hash = createHash('sha256');
  for (const [folder, names] of /** @type {const} */ ([
    ['web', pages],
    ['dist', built],
  ]))
    for (const name of names) hash.update(`${name}\0`).update(readFileSync(inRoot(folder, name)));
  return { version: hash.digest('hex').slice(0, 16), pages, built };
}

/** @param {...string} folder @returns {string[]} Names relative to it, sorted. */
function filesIn(...folder) {
  const top = inRoot(...folder);
  if (!existsSync(top)) return [];
  return readdirSync(top, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && served.test(entry.name))
    .map((entry) => path.relative(top, path.join(entry.parentPath, entry.name)))
    .map((name) => name.split(path.sep).join('/'))
    .sort();
}
