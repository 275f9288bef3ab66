/**
 * Loaded before the controller by `node --import`: sets its wall clock ahead of the machine's by the number of milliseconds in
 * the file CHAOS_CLOCK, back where it is negative.
 */
import { readFileSync } from 'node:fs';
import process from 'node:process';

const LOOK_MS = 50;
const file = process.env['CHAOS_CLOCK'];
if (file !== undefined) {
  const now = Date.now.bind(Date);
  let aheadMs = 0;
  const look = (): void => {
    const found = Number(readFileSync(file, 'utf8'));
    // The file is empty for a moment while it is written.
    if (Number.isFinite(found)) aheadMs = found;
  };
  look();
  setInterval(look, LOOK_MS).unref();
  Date.now = () => now() + aheadMs;
}
