// Times the kernels in WebAssembly, as tests/kernels/bench_kernels.c does natively:
//
//   node tools/bench-wasm.mjs [HOST [LEVEL [KERNEL]]]
//
// HOST is part of a host's name: this node, $WICK_OTHER_NODE or Chromium; all of them when left
// out or empty. LEVEL (simd128 or relaxed) and KERNEL (part of a kernel's name) are the program's.
import { ensureDependencies } from './dependencies.mjs';
import { runMain, say, ToolError } from './lib/run.mjs';

await runMain(async () => {
  await ensureDependencies();
  const programs = await import('./test/wasm-programs.mjs');
  const [hostName = '', level = '', ...rest] = process.argv.slice(2);
  const hosts = programs.findHosts().hosts.filter((host) => host.name.includes(hostName));
  if (hosts.length === 0) throw new ToolError(`no host's name contains ${hostName}`);
  for (const build of programs.kernelBuilds) {
    // Each build is timed for the level that it adds.
    if (level && build.name !== level) continue;
    const objects = await programs.compileKernels(build);
    const linked = await programs.linkProgram(build, 'bench_kernels', objects);
    if (linked.status !== 0) throw new ToolError(linked.output);
    for (const host of hosts.filter((h) => h.builds.includes(build.name))) {
      const result = await host.run(linked.program, [build.name, ...rest]);
      if (result.status !== 0) throw new ToolError(`${host.name}: ${result.output}`);
      for (const line of result.stdout.trim().split('\n').slice(1)) say(`${host.name},${line}`);
    }
  }
});
