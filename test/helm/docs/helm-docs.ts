import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { goProgram } from '../../support/go-program.ts';

const CHART = path.join(import.meta.dirname, '..', '..', '..', 'manifests', 'chart');

/** The page of the chart that is made from values.yaml. */
export const README = path.join(CHART, 'README.md');

/** The path of the helm-docs that go.mod pins, built once. */
export async function helmDocsBinary(signal: AbortSignal): Promise<string> {
  return await goProgram('helm-docs', import.meta.dirname, signal);
}

/** The README of the chart as helm-docs makes it from the comments of values.yaml. */
export async function chartReadme(signal: AbortSignal): Promise<string> {
  const helmDocs = await helmDocsBinary(signal);
  const args = ['--chart-search-root', CHART, '--dry-run', '--sort-values-order', 'file', '--log-level', 'warning'];
  const { stdout } = await promisify(execFile)(helmDocs, args, { signal });
  return `${stdout.trim()}\n`;
}
