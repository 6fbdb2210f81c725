// What the tests stand on: the packages, the builds and the model.
import { buildNative } from '../build-native.mjs';
import { buildAllWasm } from '../build-wasm.mjs';
import { buildSite } from '../site.mjs';
import { ensureModel } from '../model.mjs';
import { ensureSystemPackages } from '../system-packages.mjs';
import { ToolError } from '../lib/run.mjs';
import { Report, strict } from './report.mjs';

/**
 * Set-up whose failure leaves tests to skip or fail by themselves. Without the optional ones tests
 * skip by name; a build that fails is a failure.
 * @type {{ name: string, prepare: () => Promise<unknown>, optional?: boolean }[]}
 */
const preparations = [
  {
    name: 'packages for tests',
    prepare: () => ensureSystemPackages(['test', 'browser']),
    optional: true,
  },
  { name: 'native build', prepare: buildNative },
  { name: 'wasm build', prepare: buildAllWasm },
  { name: 'what pages need', prepare: buildSite },
  { name: 'model', prepare: () => ensureModel('135M'), optional: true },
];

export async function setUp() {
  const report = new Report('set-up');
  for (const { name, prepare, optional } of preparations) {
    try {
      await prepare();
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      if (optional && !strict) report.skip(name, error.message.split('\n')[0]);
      else report.fail(name, error.message);
    }
  }
  return report;
}
