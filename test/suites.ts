/** The suites of tests. */
import { globSync, readFileSync } from 'node:fs';
import { E2E, INTEGRATION, type Requirement } from './requirements.ts';

/** How the files of a suite run, and what they require of the machine. */
export interface Suite {
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly requires: readonly Requirement[];
  /** Where its files are, test/ and its name unless told; and what is in the text of each. */
  readonly part?: { readonly of: string; readonly files: RegExp };
  /** Scripts that run once before all of its files. */
  readonly prepare?: readonly string[];
  /** Whether each file runs in a process of its own, and once more where it fails. */
  readonly apart?: boolean;
  /** Whether each has a process namespace of its own, too: its agents see no kubelet of another file. */
  readonly inNamespaces?: boolean;
  /** The files that take longest, which start first, so that none of them is left over at the end. */
  readonly first?: readonly string[];
  /** Files that run one at a time after the others: they measure times. */
  readonly alone?: readonly string[];
}

/** Some tests install the program as it is released. */
const BUNDLE = '.ci/bundle.ts';
const QUICK: Suite = { concurrency: 2, timeoutMs: 120_000, requires: [] };
export const SUITES: Readonly<Record<string, Suite>> = {
  unit: {
    ...QUICK,
    alone: [
      'host/kubelet/finder',
      'decide/machine/kubelet-graceful-shutdown',
      'agent/static-pods/find-directory',
      'cli/machine/local-node',
    ],
  },
  // Those of the quick suites that differ as root: what only root can do, folders of root, a kubelet of root.
  'as-root': {
    ...QUICK,
    concurrency: 1,
    part: { of: '{unit,property,crash}', files: /NEEDS_ROOT|makeTestFolder|startFakeKubelet|inSandbox|geteuid/ },
  },
  property: { ...QUICK, timeoutMs: 300_000 },
  crash: QUICK,
  integration: {
    prepare: [BUNDLE],
    // Two processors are busy with three; with four, some programs start later than tests bear.
    concurrency: 3,
    timeoutMs: 600_000,
    apart: true,
    inNamespaces: true,
    first: [
      'shutdown/beside-others',
      'drain/drain',
      'drain/offline',
      'drain/self',
      'drain/returning-pods',
      'controller/blind-leader',
      'eviction/budgets-not-asked',
      'drain/volumes',
      'shutdown/story',
      'daemon-set/gating',
      'eviction/crash',
      'machine/install',
      'static-pods/static-pods',
      'machine/broken-disk',
      'eviction/imperative',
      'cli/drain',
      'control-plane/control-plane',
      'eviction/hostile-times',
      'eviction/interceptor-deadline',
    ],
    alone: [
      'controller/deployment',
      'controller/flood',
      'controller/leader',
      'daemon-set/gate',
      'matrix/matrix',
      'notices/notices',
      'shutdown/inhibitor-lock',
      'shutdown/lock',
      'shutdown/logind',
      'shutdown/schedule',
      'shutdown/watchdog',
    ],
    requires: INTEGRATION,
  },
  e2e: {
    prepare: [BUNDLE],
    concurrency: 1,
    timeoutMs: 2_400_000,
    apart: true,
    requires: E2E,
  },
};

/** The suite's files: those that run together, the slowest first, and those that run alone. */
export function planOf(
  name: string,
  { first = [], alone = [], part }: Suite,
): readonly [readonly string[], readonly string[]] {
  const all = globSync(`test/${part?.of ?? name}/**/*.test.ts`).sort();
  const files = part === undefined ? all : all.filter((file) => part.files.test(readFileSync(file, 'utf8')));
  const pathOf = (each: string): string => `test/${name}/${each}.test.ts`;
  const missing = [...first, ...alone].map(pathOf).filter((file) => !files.includes(file));
  if (files.length === 0 || missing.length > 0) throw new Error(`suite ${name} has no file ${missing.join(', ')}`);
  const slow = first.map(pathOf);
  const last = alone.map(pathOf);
  return [[...slow, ...files.filter((file) => !slow.includes(file) && !last.includes(file))], last];
}
