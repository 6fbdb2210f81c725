// The kernels' own tests, compiled to WebAssembly and run in Node and in Chromium.
import { ToolError } from '../lib/run.mjs';
import { browserPackage } from './browser.mjs';
import { readTap, testPrograms } from './programs.mjs';
import {
  compileKernels,
  findHosts,
  findMiscompiler,
  kernelBuilds,
  linkProgram,
} from './wasm-programs.mjs';

/** @param {import('./report.mjs').Report} report */
export async function wasmKernels(report) {
  const { hosts, hasBrowser } = findHosts();
  if (!hasBrowser) report.lacking('the kernels in a browser', 'chromium', browserPackage);
  for (const build of kernelBuilds) {
    let objects;
    try {
      objects = await compileKernels(build);
    } catch (error) {
      if (!(error instanceof ToolError)) throw error;
      report.fail(`${build.name}: the kernels compile`, error.message);
      continue;
    }
    for (const name of testPrograms(['kernels'])) {
      const linked = await linkProgram(build, name, objects);
      if (linked.status !== 0) {
        report.fail(`${build.name}: ${name} compiles`, linked.output);
        continue;
      }
      for (const host of hosts.filter((h) => h.builds.includes(build.name)))
        readTap(report, `${build.name} ${name} in ${host.name}`, await host.run(linked.program));
      if (build.name === 'relaxed' && name === 'test_pack')
        await checkFallback(report, linked.program);
    }
  }
}

/**
 * Where the relaxed dot product is known to be wrong, the level fails its probe, and everything
 * else passes with what is chosen in its place.
 * @param {import('./report.mjs').Report} report
 * @param {string} program
 */
async function checkFallback(report, program) {
  const name = 'a miscompiled relaxed dot product is noticed';
  const host = findMiscompiler();
  if (!host) return report.skip(name, 'only Node 20 has that fault');
  const { stdout, output } = await host.run(program);
  const failed = stdout.split('\n').filter((line) => line.startsWith('not ok'));
  const right = failed.length === 1 && failed[0].endsWith('relaxed passes its probe');
  report.check(right, name, output);
}
