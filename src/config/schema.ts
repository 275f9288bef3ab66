import path from 'node:path';
import * as z from 'zod';
import { CONFIG_API_VERSION } from '../api/names.ts';
import { PROVIDERS } from '../decide/notice/provider.ts';
import { isInDirectory, parkedPathProblem } from '../decide/static-pod/overlap.ts';
import { DEFAULT_VOLUME_WAIT_MS } from '../decide/volume/wait.ts';

/** As the CRD of NodeMaintenance bounds them: what it refuses would be noticed only in the shutdown. */
const labelKey = z
  .string()
  .max(317)
  .regex(
    /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/,
    'must be the key of a label',
  );
const labelValue = z.string().max(63);

const requirement = z
  .strictObject({
    key: labelKey,
    operator: z.enum(['In', 'NotIn', 'Exists', 'DoesNotExist']),
    values: z.array(labelValue).max(100).exactOptional(),
  })
  .refine(({ operator, values = [] }) => (operator === 'In' || operator === 'NotIn') === values.length > 0, {
    path: ['values'],
    error: 'In and NotIn need values; Exists and DoesNotExist take none',
  });

/** An entry of a drain plan as people write it, in the configuration or in a file; the API server accepts each that this does. */
export const drainPlanEntrySchema = z.strictObject({
  podType: z.enum(['Default', 'DaemonSet', 'Static']).describe('the type of the pods that the entry selects'),
  podPriority: z.int().min(-2_147_483_648).max(2_147_483_647).describe('selects pods with this or a lower priority'),
  podSelector: z
    .strictObject({
      matchLabels: z
        .record(z.string(), labelValue)
        .refine((labels) => Object.keys(labels).length <= 50, 'has more than 50 labels')
        .exactOptional(),
      matchExpressions: z.array(requirement).max(50).exactOptional(),
    })
    .exactOptional()
    .describe('selects pods by their labels'),
});

interface Places {
  readonly staticPodPath?: string;
  readonly parkedPath?: string;
  readonly stateDirectory: string;
  readonly runDirectory: string;
  readonly hooksDirectory: string;
}

/** Refuses places that would harm each other: the kubelet would read the agent's files as manifests, or the agent others. */
function checkPlaces(places: Places, context: z.core.$RefinementCtx): void {
  const refuse = (key: string, message: string): void => {
    context.addIssue({ code: 'custom', path: [key], message });
  };
  const statics = places.staticPodPath === undefined ? undefined : path.resolve(places.staticPodPath);
  const parked = places.parkedPath === undefined ? undefined : path.resolve(places.parkedPath);
  const problem = statics === undefined || parked === undefined ? undefined : parkedPathProblem(statics, parked);
  if (problem !== undefined) {
    refuse('parkedPath', `${problem} (key staticPodPath); name a directory outside of it, or remove the key`);
  }
  for (const key of ['stateDirectory', 'runDirectory', 'hooksDirectory'] as const) {
    const place = places[key];
    if (statics !== undefined && isInDirectory(path.resolve(place), statics)) {
      refuse(
        key,
        `lies in the directory of the static pods, ${statics} (key staticPodPath), where the kubelet takes every file for a manifest; name a place outside of it`,
      );
    }
    if (parked !== undefined && isInDirectory(path.resolve(place), parked)) {
      refuse(key, `lies in the directory of parked manifests, ${parked} (key parkedPath); name a place outside of it`);
    }
  }
}

const cloud = z.strictObject({
  provider: z
    .enum(['auto', 'none', ...PROVIDERS])
    .default('auto')
    .describe('the provider whose notices are watched; auto: from the firmware'),
  metadataUrl: z
    .string()
    .regex(/^http:\/\/[^/?#\s]+$/, { error: 'must be http://HOST or http://HOST:PORT', abort: true })
    .refine((text) => URL.canParse(text), 'must be http://HOST or http://HOST:PORT, with a port up to 65535')
    .exactOptional()
    .describe('another address of the metadata service'),
  leadSec: z.int().min(0).max(86_400).default(900).describe('how long before an announced reboot the drain begins'),
});

const absolutePath = z.string().regex(/^\/\P{Cc}*$/u, 'must be an absolute path without control characters');

/**
 * The configuration file of the agent: every key with its default, bounds and description. Keys of durations end in their
 * unit.
 */
export const agentConfigSchema = z
  .strictObject({
    apiVersion: z.literal(CONFIG_API_VERSION),
    kind: z.literal('AgentConfiguration'),
    nodeName: z
      .string()
      .max(253)
      .regex(
        /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
        'must be the name of a node: lower case letters, digits, "-" and "."',
      )
      .exactOptional()
      .describe(
        "the node's name; default: who the API server says we are, else as the kubelet was told, else the host name",
      ),
    kubeconfig: z
      .string()
      .regex(/^(\/\P{Cc}*)?$/u, 'must be an absolute path, or ""')
      .default('/etc/kubernetes/kubelet.conf')
      .describe('kubeconfig of the agent, by default the one of the kubelet; "" runs the agent without a cluster'),
    staticPodPath: absolutePath
      .exactOptional()
      .describe("the kubelet's staticPodPath; default: that of the running kubelet, else /etc/kubernetes/manifests"),
    kubeletHealthz: z
      .string()
      .regex(/^(?:http:\/\/\S+)?$/, { error: 'must be http://ADDRESS:PORT/healthz or ""', abort: true })
      .refine(
        (text) => text === '' || URL.canParse(text),
        'must be http://ADDRESS:PORT/healthz, with a port up to 65535',
      )
      .exactOptional()
      .describe(
        'URL of the health endpoint of the kubelet; default: that of the running kubelet; "" assumes that the kubelet is up',
      ),
    kubeletRootPath: absolutePath
      .default('/var/lib/kubelet')
      .describe(
        'root directory of the kubelet (its --root-dir); there the Pods API of Kubernetes 1.37 tells a drain without an API server of the pods',
      ),
    parkedPath: absolutePath
      .exactOptional()
      .describe(
        'directory of parked manifests, on the file system and mount of staticPodPath, outside of it; default: nodemaint-parked beside it',
      ),
    containerRuntimeEndpoint: z
      .string()
      .regex(/^unix:\/\/\//, 'must be unix:///PATH, such as unix:///run/containerd/containerd.sock')
      .default('unix:///run/containerd/containerd.sock')
      .describe('the CRI socket over which the agent proves that containers have ended'),
    kubeletUnit: z
      .string()
      .regex(/^([\w:.@-]+\.service)?$/, 'must be the name of a systemd service, or ""')
      .exactOptional()
      .describe(
        'the unit that a drain without an API server stops, so that pods are not restarted; default: the one in which the kubelet runs, else kubelet.service; with "" such a drain stops static pods only',
      ),
    stateDirectory: absolutePath.default('/var/lib/nodemaint').describe('directory of the record and the journal'),
    runDirectory: absolutePath
      .default('/run/nodemaint')
      .describe('directory of the control socket and the heartbeat file of the lock'),
    bootIdPath: absolutePath
      .default('/proc/sys/kernel/random/boot_id')
      .describe('file with the boot ID, which differs at each boot'),
    lock: z
      .enum(['unit', 'none'])
      .default('unit')
      .describe(
        'what holds the inhibitor lock: the unit nodemaint-inhibitor.service, which survives the agent, or nothing',
      ),
    onBoot: z
      .enum(['complete', 'wait'])
      .default('complete')
      .describe("after a boot: complete the agent's own maintenance, or wait until an administrator completes it"),
    apiWaitSec: z
      .int()
      .min(1)
      .max(3600)
      .default(15)
      .describe(
        'how long a shutdown waits for the API server to take its NodeMaintenance before the drain continues offline',
      ),
    progressWaitSec: z
      .int()
      .min(10)
      .max(3600)
      .default(300)
      .describe(
        'how long a drain with the cluster may get no further before the agent goes on by itself: where a controller that renews its Lease does nothing for the shutdown, or the API server refuses what the drain needs or is away while pods leave',
      ),
    scheduledShutdownLeadSec: z
      .int()
      .min(0)
      .max(86_400)
      .default(0)
      .describe(
        'how long before its time a scheduled shutdown (`shutdown +30`) begins to drain the node; 0: at its time',
      ),
    maxHoldSec: z
      .int()
      .min(60)
      .exactOptional()
      .describe(
        'the longest time for which a shutdown is held: a deadline that its pods share, after which it continues although some still run; default: no limit',
      ),
    maxVolumeWaitSec: z
      .int()
      .min(0)
      .max(86_400)
      .default(DEFAULT_VOLUME_WAIT_MS / 1000)
      .describe(
        'for how long the agent, where it drains its node without a controller, waits for the volumes of pods that are gone; 0: not at all',
      ),
    cloud: cloud
      .prefault({})
      .describe(
        "the cloud's notices of termination and maintenance; see the keys in [reboots and power](../usage/reboots-and-power.md)",
      ),
    metricsAddress: z
      .string('must be ADDRESS:PORT, such as 127.0.0.1:9465')
      .regex(/^(\[[0-9a-fA-F:]+\]|[\w.-]*):\d{1,5}$/, {
        error: 'must be ADDRESS:PORT, such as 127.0.0.1:9465',
        abort: true,
      })
      .refine((text) => Number(text.slice(text.lastIndexOf(':') + 1)) < 65_536, 'must have a port up to 65535')
      .exactOptional()
      .describe('address of /metrics, /healthz and /readyz; default: they are not served'),
    hooksDirectory: absolutePath
      .default('/etc/nodemaint/hooks.d')
      .describe(
        'directory of programs that run when the phase changes, in the folders pre-drain, drained, pre-release and restored',
      ),
    hookTimeoutSec: z
      .int()
      .min(1)
      .max(600)
      .default(10)
      .describe('the total time limit for the programs of one folder; then they are killed'),
    drainPlan: z.array(drainPlanEntrySchema).max(88).default([]).describe('entries added to the default drain plan'),
    logLevel: z.enum(['debug', 'info', 'warn', 'error']).default('info').describe('the lowest level that is logged'),
    logFormat: z
      .enum(['text', 'json'])
      .exactOptional()
      .describe(
        'how a line of the log is written; default: text in the journal and at a terminal, JSON where another program reads it',
      ),
  })
  .refine((config) => config.onBoot === 'complete' || config.kubeconfig !== '', {
    path: ['onBoot'],
    error:
      '"wait" needs a cluster in which the NodeMaintenance is completed; without a cluster only "complete" is possible',
  })
  .superRefine(checkPlaces);

/** The validated configuration. */
export type AgentConfig = Readonly<z.infer<typeof agentConfigSchema>>;
