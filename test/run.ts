/**
 * Runs test suites with node:test: `node test/run.ts unit property integration`.
 * A suite that needs what this machine lacks fails in CI; elsewhere it says in one line what it lacks and how to get it.
 */
import { accessSync, constants, globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { nodeTestArguments, runFilesApart, runProgram } from './processes.ts';

interface Requirement {
  readonly lacks: string;
  readonly how: string;
  met(): boolean;
}

interface Suite {
  readonly concurrency: number;
  readonly timeoutMs: number;
  readonly requires: readonly Requirement[];
  /** A script that makes, once, what no test should have to wait for. */
  readonly prepare?: string;
  /** Whether each file runs in a process namespace of its own: its agents see no kubelet of another file. */
  readonly apart?: boolean;
  /** The files that take longest, which start first, so that none of them is left over at the end. */
  readonly first?: readonly string[];
  /** Files that run one at a time after the others: they measure times. */
  readonly alone?: readonly string[];
}

function onPath(program: string): boolean {
  const folders = [...(process.env['PATH'] ?? '').split(':'), '/usr/sbin', '/sbin', '/usr/local/go/bin'];
  return folders.some((folder) => {
    try {
      accessSync(path.join(folder, program), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function programs(names: readonly string[], how: string): Requirement {
  return { lacks: names.join(', '), how, met: () => names.every(onPath) };
}

const ROOT: Requirement = { lacks: 'root', how: 'run it as root', met: () => process.getuid?.() === 0 };
const GO = programs(['go'], 'install Go 1.26 or later; it builds the metadata mock of EC2');
const CONTROL_PLANE: Requirement = {
  lacks: 'a Kubernetes control plane',
  how: 'install Go 1.26 or later, or set KUBEBUILDER_ASSETS to a folder with etcd, kube-apiserver and kubectl 1.36',
  met: () => process.env['KUBEBUILDER_ASSETS'] !== undefined || onPath('go'),
};

const QUICK: Suite = { concurrency: 2, timeoutMs: 120_000, requires: [] };
const SUITES: Readonly<Record<string, Suite>> = {
  unit: {
    ...QUICK,
    alone: ['host/kubelet/finder', 'decide/machine/kubelet-graceful-shutdown', 'agent/static-pods/directory'],
  },
  property: { ...QUICK, timeoutMs: 300_000 },
  crash: QUICK,
  integration: {
    prepare: 'test/control-plane/build.ts',
    // They wait more than they work.
    concurrency: 3,
    timeoutMs: 600_000,
    apart: true,
    first: [
      'drain/drain',
      'drain/offline',
      'drain/self',
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
      'notices/notices',
      'shutdown/inhibitor-lock',
      'shutdown/lock',
      'shutdown/logind',
      'shutdown/schedule',
      'shutdown/watchdog',
    ],
    requires: [
      CONTROL_PLANE,
      GO,
      ROOT,
      programs(
        [
          'containerd',
          'runc',
          'dbus-daemon',
          'systemd-inhibit',
          'busybox',
          'openssl',
          'pkill',
          'unshare',
          'zsh',
          'fish',
        ],
        'apt-get install containerd runc dbus systemd busybox-static openssl procps util-linux zsh fish',
      ),
    ],
  },
  e2e: {
    prepare: 'test/control-plane/build.ts',
    concurrency: 1,
    timeoutMs: 2_400_000,
    requires: [
      CONTROL_PLANE,
      ROOT,
      programs(
        ['qemu-system-x86_64', 'debootstrap', 'mke2fs', 'ssh'],
        'apt-get install qemu-system-x86 qemu-utils debootstrap e2fsprogs openssh-client',
      ),
    ],
  },
};

/** The suite's files: those that run together, the slowest first, and those that run alone. */
function planOf(name: string, { first = [], alone = [] }: Suite): readonly [readonly string[], readonly string[]] {
  const files = globSync(`test/${name}/**/*.test.ts`).sort();
  const pathOf = (each: string): string => `test/${name}/${each}.test.ts`;
  const missing = [...first, ...alone].map(pathOf).filter((file) => !files.includes(file));
  if (files.length === 0 || missing.length > 0) throw new Error(`suite ${name} has no file ${missing.join(', ')}`);
  const slow = first.map(pathOf);
  const last = alone.map(pathOf);
  return [[...slow, ...files.filter((file) => !slow.includes(file) && !last.includes(file))], last];
}

/** Resolves to whether all tests of the suite passed. */
async function runSuite(name: string, suite: Suite): Promise<boolean> {
  const groups = planOf(name, suite);
  const reporter = process.stdout.isTTY ? 'spec' : (process.env['TEST_REPORTER'] ?? 'spec');
  let passed = true;
  for (const [index, files] of groups.entries()) {
    const concurrency = index === 0 ? suite.concurrency : 1;
    const options = { concurrency, timeoutMs: suite.timeoutMs, reporter };
    if (files.length === 0) continue;
    const ok =
      suite.apart === true
        ? await runFilesApart(files, options)
        : (await runProgram(process.execPath, [...nodeTestArguments(options), ...files])) === 0;
    passed &&= ok;
  }
  return passed;
}

/** Starts to make what the suites need, each thing once, while others already run. */
function startPreparing(names: readonly string[]): ReadonlyMap<string, Promise<number>> {
  const scripts = new Set(names.map((name) => SUITES[name]?.prepare).filter((script) => script !== undefined));
  // At a low priority, for it takes all processors, and the quick tests measure times too.
  const run = (script: string): Promise<number> =>
    runProgram('nice', ['-n', '10', process.execPath, '--disable-warning=ExperimentalWarning', script]);
  return new Map([...scripts].map((script) => [script, run(script)]));
}

/** What the machine lacks for the suite, with how to get it; empty where it lacks nothing. */
function lacksOf({ requires }: Suite): string {
  const missing = requires.filter((requirement) => !requirement.met());
  return missing.map(({ lacks, how }) => `${lacks} (${how})`).join('; ');
}

/** Runs the suites one after another; resolves to the exit code. */
async function main(names: readonly string[]): Promise<number> {
  const unknown = names.find((name) => SUITES[name] === undefined);
  if (unknown !== undefined) {
    console.error(`no suite ${unknown}; there are ${Object.keys(SUITES).join(', ')}`);
    return 2;
  }
  const suites = names.flatMap((name) => {
    const suite = SUITES[name];
    return suite === undefined ? [] : [{ name, suite, lacks: lacksOf(suite) }];
  });
  const prepared = startPreparing(suites.filter(({ lacks }) => lacks === '').map(({ name }) => name));
  let passed = true;
  for (const { name, suite, lacks } of suites) {
    if (lacks !== '') {
      console.error(`suite ${name} NOT RUN: this machine lacks ${lacks}`);
      passed &&= process.env['CI'] === undefined;
      continue;
    }
    console.error(`suite ${name}`);
    const isReady = suite.prepare === undefined || (await prepared.get(suite.prepare)) === 0;
    passed = isReady && (await runSuite(name, suite)) && passed;
  }
  return passed ? 0 : 1;
}

// Each program of each test compiles the same source: with a cache that takes a third of the time.
const compileCache = mkdtempSync(path.join(tmpdir(), 'nodemaint-compile-cache-'));
process.env['NODE_COMPILE_CACHE'] ??= compileCache;
try {
  process.exitCode = await main(process.argv.slice(2));
} finally {
  rmSync(compileCache, { recursive: true, force: true });
}
