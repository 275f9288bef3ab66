/** Which program the tests start. */
import path from 'node:path';
import process from 'node:process';

/** The environment variable by which the runner names the program that the files of a suite start. */
export const PROGRAM_VARIABLE = 'NODEMAINT_TEST_PROGRAM';
/** What ships, in the folder of the checkout. */
export const BUNDLE = path.join(import.meta.dirname, '..', '..', '..', 'dist', 'nodemaint.cjs');

/** The program, as arguments of Node.js: the bundle where the runner has made one, otherwise the sources. */
export const PROGRAM: readonly string[] = [
  '--disable-warning=ExperimentalWarning',
  process.env[PROGRAM_VARIABLE] ?? path.join(import.meta.dirname, '..', '..', '..', 'src', 'main.ts'),
];
