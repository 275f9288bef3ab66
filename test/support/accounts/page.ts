/** The part of docs/reference/security.md that says which account has which right. */
import path from 'node:path';
import type { Account, Fence, Right } from './account.ts';
import { ACCOUNTS } from './accounts.ts';
import { qualified } from './manifests.ts';

/** The page, and the lines between which the part is. */
export const PAGE = path.join(import.meta.dirname, '..', '..', '..', 'docs', 'reference', 'security.md');
const BEGIN = '<!-- accounts: "node test/support/accounts/write-page.ts" writes this part -->';
const END = '<!-- end of the accounts -->';

function row(cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

function resourceText({ group, resources, names, namespace }: Right): string {
  const all = resources.map((resource) => qualified(resource, group)).join(', ');
  const only = names === undefined ? '' : `: ${names.map((name) => `\`${name}\``).join(', ')}`;
  return `${all}${only}${namespace === undefined ? '' : `, in \`${namespace}\``}`;
}

/** The files, each as a link with its name. */
function filesText(files: readonly string[]): string {
  return files.map((file) => `[${path.basename(file)}](../../${file})`).join(', ');
}

function fenceText(fence: Fence): string {
  if ('alone' in fence) return `RBAC alone: ${fence.alone}`;
  return `${fence.policies.map((name) => `\`${name}\``).join(', ')}: ${fence.leaves}`;
}

function rightRow(right: Right): string {
  const used = filesText(right.usedBy);
  return row([resourceText(right), right.verbs.join(', '), right.why, used, fenceText(right.fence)]);
}

function section({ title, introduction, rights, thief }: Account): string {
  const table = [
    row(['resource', 'verbs', 'why', 'used by', 'restricted by']),
    '|---|---|---|---|---|',
    ...rights.map(rightRow),
  ].join('\n');
  return [`### ${title}`, introduction, table, ...(thief === '' ? [] : [thief])].join('\n\n');
}

/** The part, with the lines around it. */
export function accountsPart(accounts: readonly Account[] = ACCOUNTS): string {
  // Accounts with the same title have the same rights.
  const shown = accounts.filter(({ title }, place) => accounts.findIndex((each) => each.title === title) === place);
  return [BEGIN, ...shown.map(section), END].join('\n\n');
}

/** The page with this part in place of the one that it has. Throws where it has none. */
export function withAccounts(page: string, part: string): string {
  const [begin, end] = [page.indexOf(BEGIN), page.indexOf(END)];
  if (begin === -1 || end < begin) throw new Error(`the page has no part between ${BEGIN} and ${END}`);
  return `${page.slice(0, begin)}${part}${page.slice(end + END.length)}`;
}
