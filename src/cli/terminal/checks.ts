import type { Check } from '../../decide/view/node-checks.ts';
import { formatDocument } from './document.ts';
import { EXIT } from './exit-code.ts';
import type { OutputFormat, Terminal } from './terminal.ts';
import { formatTable } from './text.ts';

function format(checks: readonly Check[], output: OutputFormat): string {
  if (output !== 'table') return formatDocument('CheckList', { items: checks }, output);
  const rows = checks.map(({ name, result, message }) => [result, name, message]);
  const fixes = checks.filter(({ fix }) => fix !== '').map(({ name, fix }) => `  ${name}: ${fix}`);
  const table = formatTable([['RESULT', 'CHECK', 'FINDING'], ...rows]);
  return `${table}\n${fixes.length === 0 ? '' : `\nHow to fix it:\n${fixes.join('\n')}\n`}`;
}

/** Prints the checks of a node or of a cluster; returns the exit code: 1 where one fails. */
export function printChecks(checks: readonly Check[], output: OutputFormat, terminal: Pick<Terminal, 'write'>): number {
  terminal.write(format(checks, output));
  return checks.some(({ result }) => result === 'fail') ? EXIT.failed : EXIT.done;
}
