/**
 * Runs test suites with node:test: `node test/run.ts unit property integration`.
 * A suite that needs what this machine lacks fails in CI; elsewhere it says in one line what it lacks and how to get it.
 */
import { spawn } from 'node:child_process';
import { accessSync, constants, globSync } from 'node:fs';
import path from 'node:path';
import process from 'node:process';

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
  /**
   * Files that run one at a time after the others: they measure times, or have kubelets, which take the processors and
   * which agents of other tests would find.
   */
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
  property: QUICK,
  crash: QUICK,
  integration: {
    prepare: 'test/control-plane/build.ts',
    concurrency: 2,
    timeoutMs: 600_000,
    alone: [
      'shutdown/lock',
      'control-plane/control-plane',
      'controller/flood',
      'machine/cri',
      'daemon-set/gate',
      'daemon-set/gating',
      'controller/deployment',
      'cli/doctor',
      'drain/drain',
      'cli/drain',
      'eviction/imperative',
      'machine/kubelet-unit',
      'controller/leader',
      'drain/offline',
      'shutdown/logind',
      'shutdown/inhibitor-lock',
      'shutdown/schedule',
      'notices/notices',
      'drain/self',
      'drain/pod-surge',
      'static-pods/static-pods',
      'shutdown/watchdog',
      'controller/webhook',
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

/** Runs Node.js with these arguments and resolves to its exit code. */
function runNode(args: readonly string[]): Promise<number> {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], { stdio: 'inherit' });
  return new Promise((resolve) => {
    child.on('exit', (code) => {
      resolve(code ?? 1);
    });
  });
}

/** Resolves to the exit code of `node --test` over the suite's files. */
async function runSuite(name: string, suite: Suite): Promise<number> {
  const files = globSync(`test/${name}/**/*.test.ts`).sort();
  if (files.length === 0) {
    console.error(`suite ${name}: no test files under test/${name}`);
    return 1;
  }
  const prepared = suite.prepare === undefined ? 0 : await runNode([suite.prepare]);
  if (prepared !== 0) return prepared;
  const reporter = `--test-reporter=${process.stdout.isTTY ? 'spec' : (process.env['TEST_REPORTER'] ?? 'spec')}`;
  const run = async (concurrency: number, some: readonly string[]): Promise<number> => {
    const flags = ['--test', `--test-concurrency=${concurrency}`, `--test-timeout=${suite.timeoutMs}`];
    return some.length === 0 ? 0 : await runNode([...flags, reporter, ...some]);
  };
  const isAlone = (file: string): boolean =>
    suite.alone?.some((each) => file === `test/${name}/${each}.test.ts`) === true;
  const together = await run(
    suite.concurrency,
    files.filter((file) => !isAlone(file)),
  );
  return Math.max(together, await run(1, files.filter(isAlone)));
}

/** Runs the suites one after another and returns the worst exit code. */
async function main(names: readonly string[]): Promise<number> {
  let worst = 0;
  for (const name of names) {
    const suite = SUITES[name];
    if (suite === undefined) {
      console.error(`no suite ${name}; there are ${Object.keys(SUITES).join(', ')}`);
      return 2;
    }
    const missing = suite.requires.filter((requirement) => !requirement.met());
    if (missing.length > 0) {
      const text = missing.map(({ lacks, how }) => `${lacks} (${how})`).join('; ');
      console.error(`suite ${name} NOT RUN: this machine lacks ${text}`);
      if (process.env['CI'] !== undefined) worst = 1;
      continue;
    }
    console.error(`suite ${name}`);
    worst = Math.max(worst, await runSuite(name, suite));
  }
  return worst;
}

process.exitCode = await main(process.argv.slice(2));
