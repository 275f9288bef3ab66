import process from 'node:process';

/** Whether all tests run: the thorough run. */
export const IS_THOROUGH = process.env['NODEMAINT_TESTS'] === 'all';

/**
 * Whether the tests are to take all the time there is: the gate leaves out, saying so, what differs from
 * other tests only in how long it waits. NODEMAINT_TESTS=all leaves nothing out.
 */
export function isThorough(leftOut: string): boolean {
  if (IS_THOROUGH) return true;
  console.log(`left out, NODEMAINT_TESTS=all runs it: ${leftOut}`);
  return false;
}
