/**
 * Loaded into the benched program by `--import`: writes what it takes, once a second, as lines of JSON into the file that the
 * variable NODEMAINT_BENCH_PROBE names. It looks at the event loop every NODEMAINT_BENCH_TICK_MS milliseconds, or never at 0.
 */
import { appendFileSync } from 'node:fs';
import process from 'node:process';

const LINE_MS = 1_000;
const file = process.env['NODEMAINT_BENCH_PROBE'];

function start(to: string, tickMs: number): void {
  let [lateMs, busyMs] = [0, 0];
  let [tickedAt, usedAt] = [performance.now(), process.threadCpuUsage()];
  const tick = (): void => {
    const [now, used] = [performance.now(), process.threadCpuUsage()];
    lateMs = Math.max(lateMs, now - tickedAt - tickMs);
    busyMs = Math.max(busyMs, (used.user + used.system - usedAt.user - usedAt.system) / 1_000);
    [tickedAt, usedAt] = [now, used];
  };
  const write = (): void => {
    const line = {
      at: Date.now(),
      lateMs: Math.round(lateMs),
      busyMs: Math.round(busyMs),
      residentMiB: process.memoryUsage.rss() / 2 ** 20,
    };
    [lateMs, busyMs] = [0, 0];
    appendFileSync(to, `${JSON.stringify(line)}\n`);
  };
  if (tickMs > 0) setInterval(tick, tickMs).unref();
  setInterval(write, LINE_MS).unref();
}

if (file !== undefined) start(file, Number(process.env['NODEMAINT_BENCH_TICK_MS']));
