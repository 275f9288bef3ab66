/** What every process of this program tells of itself. */
import process from 'node:process';
import { Counter, Gauge, type Registry } from 'prom-client';
import { commit, VERSION } from '../version.ts';

/** Registers the version of the program, as other exporters have it: always 1. */
export function registerBuildInfo(registry: Registry): void {
  const info = new Gauge({
    name: 'nodemaint_build_info',
    help: 'The version of this program; always 1.',
    labelNames: ['version', 'commit', 'node_version'],
    registers: [registry],
  });
  info.set({ version: VERSION, commit: commit(), node_version: process.versions.node }, 1);
}

/** Registers what the process itself uses, with the names that all exporters have. */
export function registerProcess(registry: Registry): void {
  const registers = [registry];
  const memory = new Gauge({
    name: 'process_resident_memory_bytes',
    help: 'Resident memory size in bytes.',
    registers,
    collect: () => {
      memory.set(process.memoryUsage.rss());
    },
  });
  let counted = 0;
  const cpu = new Counter({
    name: 'process_cpu_seconds_total',
    help: 'Total user and system CPU time spent in seconds.',
    registers,
    collect: () => {
      const { user, system } = process.cpuUsage();
      const seconds = (user + system) / 1_000_000;
      cpu.inc(Math.max(0, seconds - counted));
      counted = seconds;
    },
  });
  const start = new Gauge({
    name: 'process_start_time_seconds',
    help: 'Start time of the process since unix epoch in seconds.',
    registers,
  });
  start.set(Math.round(performance.timeOrigin / 1000));
}
