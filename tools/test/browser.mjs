// The installed Chromium or Chrome that tests drive.
import { spawnSync } from 'node:child_process';
import { chromium } from 'playwright-core';
import { ToolError } from '../lib/run.mjs';

const names = ['chromium', 'chromium-browser', 'google-chrome'];
const flags = [
  '--no-sandbox',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--disable-quic',
  '--no-first-run',
];

/** What brings one, for Report.lacking. */
export const browserPackage = 'Chromium, or name one by $CHROMIUM (Debian: chromium)';

/** $CHROMIUM, or the path of what is on PATH, or ''. */
export function findBrowser() {
  if (process.env.CHROMIUM) return process.env.CHROMIUM;
  for (const name of names) {
    const found = spawnSync('sh', ['-c', 'command -v "$1"', 'sh', name], { encoding: 'utf8' });
    if (found.status === 0) return found.stdout.trim();
  }
  return '';
}

/** Starts it, or says within seconds why it cannot. */
export async function launchBrowser() {
  const executablePath = findBrowser();
  if (!executablePath) throw new ToolError(`chromium not found: install ${browserPackage}`);
  try {
    return await chromium.launch({ executablePath, args: flags, timeout: 30_000 });
  } catch (error) {
    const why = error instanceof Error ? error.message.split('\n')[0] : String(error);
    throw new ToolError(`${executablePath}: expected a browser that starts, found: ${why}`);
  }
}
