/** The parts of a node's bundle that are about the kubelet and the container runtime. */
import { nodeNameOf } from '../../agent/node-name.ts';
import type { AgentConfig } from '../../config/schema.ts';
import { describeError } from '../../errors.ts';
import { readBoundedFile } from '../../host/files/bounded-file.ts';
import { createKubeletFinder, USUAL_UNITS } from '../../host/kubelet/finder.ts';
import { servicesOnce } from '../machine/local-node.ts';
import { type BundlePart, journal, part, PART_BYTES } from './part.ts';

/** The units in which container runtimes run; one that runs within the kubelet's unit is in the log of that. */
export const RUNTIME_UNITS = ['containerd.service', 'crio.service', 'docker.service', 'cri-docker.service'] as const;

/** Lines of the last hour; more of a unit that repeats itself say nothing new. */
const MAX_LINES = '10000';

/** The units of the kubelet, or patterns of their names: the configured one, else those in which kubelets usually run. */
export function kubeletUnitsOf(config: AgentConfig | undefined): readonly string[] {
  const unit = config?.kubeletUnit ?? '';
  return unit === '' ? USUAL_UNITS : [unit];
}

function lastHour(units: readonly string[]): BundlePart['read'] {
  return journal([...units.flatMap((unit) => ['-u', unit]), '--since', '-1h', '-n', MAX_LINES]);
}

/** A line for each flag, with `=` before its value: so a secret is seen to have a name. */
function flagLines(argv: readonly string[]): readonly string[] {
  const lines: string[] = [];
  for (const [index, word] of argv.entries()) {
    const before = argv[index - 1] ?? '';
    const isValue = index > 0 && !word.startsWith('-') && /^--[^=]+$/.test(before);
    if (isValue) lines[lines.length - 1] += `=${word}`;
    else lines.push(`#   ${word}`);
  }
  return lines;
}

/** The kubelet's command line and the files of its configuration, each as it is; one that is broken is the one to look at. */
function configurationOf(config: AgentConfig | undefined): BundlePart['read'] {
  return async (signal) => {
    const { source } = createKubeletFinder({
      scope: {
        kubeconfig: config?.kubeconfig ?? '',
        nodeName: config === undefined ? '' : nodeNameOf(config, undefined),
      },
      systemd: config?.lock === 'none' ? undefined : { services: servicesOnce },
      unit: config?.kubeletUnit,
    });
    const found = await source(signal);
    if (found === undefined) throw new Error('no kubelet runs here that the agent would trust');
    const texts = found.files.map(async (name) => {
      const text = await readBoundedFile(name, PART_BYTES).catch(
        (error: unknown) => `[not read: ${describeError(error)}]`,
      );
      return `# ${name}\n${text.trimEnd()}\n`;
    });
    const flags = flagLines(found.argv).join('\n');
    return [`# The command line of the kubelet, process ${found.pid}:\n${flags}\n`, ...(await Promise.all(texts))].join(
      '\n',
    );
  };
}

/** The last hour of the kubelet and the runtime, and the kubelet's configuration; its kubeconfig is not read. */
export function kubeletParts(config: AgentConfig | undefined): readonly BundlePart[] {
  return [
    part('kubelet-config.yaml', "the kubelet's command line and configuration", configurationOf(config)),
    part('kubelet-log.txt', 'the log of the last hour of the kubelet', lastHour(kubeletUnitsOf(config))),
    part('runtime-log.txt', 'the log of the last hour of the container runtime', lastHour(RUNTIME_UNITS)),
  ];
}
