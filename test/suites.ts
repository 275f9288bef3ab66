/** The suites of tests. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { E2E, INTEGRATION, type Requirement, VIRTUAL_MACHINE } from './requirements.ts';
import { IS_THOROUGH } from './support/thorough.ts';

/** How the files of a suite run, and what they require of the machine. */
export interface Suite {
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly requires: readonly Requirement[];
  /** Where its files are, test/ and its name unless told; and what is in the text of each, or their names. */
  readonly part?: { readonly of: string; readonly files: RegExp | readonly string[] };
  /** Patterns of files that run only with NODEMAINT_TESTS=all: the thorough run. */
  readonly thorough?: readonly string[];
  /** Scripts that run once before all of its files, one after the other. */
  readonly prepare?: readonly string[];
  /** Whether each file runs in a process and a process namespace of its own, and once more where it fails: its agents see no kubelet of another file. */
  readonly apart?: boolean;
  /** The files that take longest, which start first, so that none of them is left over at the end. */
  readonly first?: readonly string[];
  /** Files that run after the others, fewer at a time: the programs that they start have short time-outs of their own. */
  readonly last?: readonly string[];
}

const QUICK: Suite = { concurrency: 3, timeoutMs: 120_000, requires: [] };
const ON_REAL_PARTS = {
  // What tests of real parts start is what ships.
  prepare: ['.ci/bundle.ts', '.ci/image.ts'],
  // Two processors are busy with three; with four, some programs start later than tests bear.
  concurrency: 3,
  timeoutMs: 1_200_000,
  apart: true,
  requires: INTEGRATION,
} as const satisfies Suite;

export const SUITES: Readonly<Record<string, Suite>> = {
  unit: {
    ...QUICK,
    last: [
      'host/kubelet/finder',
      'decide/machine/kubelet-graceful-shutdown',
      'agent/static-pods/find-directory',
      'cli/machine/local-node',
    ],
  },
  // Those of the quick suites that differ as root: what only root can do.
  'as-root': { ...QUICK, part: { of: '{unit,property,crash}', files: /NEEDS_ROOT/ } },
  property: { ...QUICK, timeoutMs: 300_000 },
  crash: QUICK,
  // One or two of each subject on real parts.
  smoke: {
    ...ON_REAL_PARTS,
    part: {
      of: 'integration',
      files: [
        'cli/drain',
        'cli/evict',
        'cli/fleet',
        'control-plane/leadership',
        'controller/leader',
        'controller/rights',
        'controller/webhook',
        'daemon-set/gate',
        'daemon-set/gated-pods',
        'daemon-set/gating',
        'drain/drain',
        'drain/offline',
        'drain/self',
        'drain/volumes',
        'eviction/admission',
        'eviction/crash',
        'eviction/imperative',
        'eviction/request',
        'eviction/status',
        'machine/cri',
        'machine/install',
        'machine/kubelet-unit',
        'maintenance/admission',
        'maintenance/parallel',
        'maintenance/plan',
        'maintenance/progression',
        'maintenance/rights',
        'maintenance/shutdown-maintenance',
        'security/attacks',
        'security/node-identity',
        'shutdown/hooks',
        'shutdown/inhibitor-lock',
        'shutdown/logind',
        'shutdown/story',
        'static-pods/disk',
        'static-pods/static-pods',
      ],
    },
    first: ['drain/offline', 'drain/drain', 'daemon-set/gating', 'drain/self', 'shutdown/story'],
  },
  integration: {
    ...ON_REAL_PARTS,
    thorough: [
      'controller/chart-{pools,values}',
      'machine/{install-places,installer,package}',
      'metrics/prometheus',
      'release/{architectures,plugin,reproducible}',
    ],
    first: [
      'controller/deployment',
      'shutdown/beside-others',
      'drain/drain',
      'drain/offline',
      'drain/self',
      'drain/returning-pods',
      'controller/blind-leader',
      'maintenance/reboot-limit',
      'drain/volumes',
      'shutdown/story',
      'daemon-set/gating',
      'eviction/crash',
      'machine/install',
      'static-pods/static-pods',
      'machine/broken-disk',
      'eviction/imperative',
      'cli/drain',
      'control-plane/leadership',
      'eviction/hostile-times',
      'eviction/interceptor-deadline',
    ],
    last: [
      'notices/notices',
      'controller/leader',
      'controller/flood',
      'shutdown/watchdog',
      'shutdown/inhibitor-lock',
      'shutdown/lock',
    ],
  },
  e2e: {
    ...ON_REAL_PARTS,
    concurrency: 1,
    timeoutMs: 2_400_000,
    thorough: ['!(reboot-all)'],
    requires: IS_THOROUGH ? [...E2E, ...VIRTUAL_MACHINE] : E2E,
  },
};

/** The files of a suite that this run leaves out, and the groups of the others: those that run together, the slowest first, and those that run after them. */
export interface Plan {
  readonly leftOut: readonly string[];
  readonly groups: readonly [readonly string[], readonly string[]];
}

/** Which files of a suite run. */
export function planOf(name: string, { first = [], last = [], part, thorough = [] }: Suite, isThorough: boolean): Plan {
  const folder = `test/${part?.of ?? name}`;
  const pathOf = (each: string): string => `${folder}/${each}.test.ts`;
  const all = globSync(`${folder}/**/*.test.ts`).sort();
  const listed = part?.files instanceof RegExp ? [] : (part?.files ?? []);
  const missing = [...listed, ...first, ...last].map(pathOf).filter((file) => !all.includes(file));
  const unused = thorough.map(pathOf).filter((pattern) => !all.some((file) => path.matchesGlob(file, pattern)));
  if (all.length === 0 || missing.length + unused.length > 0)
    throw new Error(`suite ${name} has no file ${[...missing, ...unused].join(', ')}`);
  const leftOut = isThorough
    ? []
    : all.filter((file) => thorough.some((pattern) => path.matchesGlob(file, pathOf(pattern))));
  const isOf = (file: string): boolean =>
    part === undefined ||
    (part.files instanceof RegExp ? part.files.test(readFileSync(file, 'utf8')) : listed.map(pathOf).includes(file));
  const files = all.filter((file) => isOf(file) && !leftOut.includes(file));
  const slow = first.map(pathOf).filter((file) => files.includes(file));
  const late = last.map(pathOf).filter((file) => files.includes(file));
  return {
    leftOut,
    groups: [[...slow, ...files.filter((file) => !slow.includes(file) && !late.includes(file))], late],
  };
}
