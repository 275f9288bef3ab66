import process from 'node:process';

/**
 * Whether the tests are to take all the time there is: the gate has an hour, and leaves out, saying so, what differs from
 * other tests only in how long it waits. NODEMAINT_TESTS=all leaves nothing out.
 */
export function isThorough(leftOut: string): boolean {
  if (process.env['NODEMAINT_TESTS'] === 'all') return true;
  console.log(`left out, NODEMAINT_TESTS=all runs it: ${leftOut}`);
  return false;
}
