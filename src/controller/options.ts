import * as z from 'zod';
import { CONTROLLER_NAMESPACE } from '../api/names.ts';
import { DURATION_HINT, parseDuration } from '../decide/duration.ts';
import { DEFAULT_PROMISE_WORDS } from '../decide/eviction/api-answer.ts';
import { DEFAULT_PATIENCE } from '../decide/eviction/imperative.ts';
import { DEFAULT_REBOOT_LIMIT, parseRebootLimit } from '../decide/reboot/limit.ts';
import { DEFAULT_VOLUME_WAIT_MS } from '../decide/volume/wait.ts';

const duration = (words: string): z.ZodType<number> =>
  z
    .string()
    .transform((text, context) => {
      const ms = parseDuration(text);
      if (ms === undefined) context.addIssue(DURATION_HINT);
      return ms ?? z.NEVER;
    })
    .describe(words);

const MAX_LEASE_MS = 3_600_000;

const limit = (words: string): z.ZodType<number | undefined> =>
  z
    .string()
    .regex(/^[1-9]\d{0,5}$/, 'write a number of at least 1')
    .transform(Number)
    .optional()
    .describe(words);

const flags = z.object({
  takeOverTimeout: duration(
    'how long the controller of a pod with the policy ControllerTakeOver has for its eviction',
  ).default(DEFAULT_PATIENCE.takeOverMs),
  promiseTimeout: duration('after how long an eviction that was promised in the background is asked for again').default(
    DEFAULT_PATIENCE.promiseMs,
  ),
  promiseWords: z
    .array(z.string().min(1))
    .describe('words in a 429 that tell a promised eviction from a refused one')
    .prefault([...DEFAULT_PROMISE_WORDS]),
  requestTtl: duration('how long a finished EvictionRequest is kept that nobody deletes').prefault('1h'),
  maxParallelNodes: limit('how many nodes are drained at once; no limit without it'),
  maxParallelReboots: z
    .string()
    .transform((text, context) => {
      const parsed = parseRebootLimit(text);
      if (parsed === undefined)
        context.addIssue('write a number of at least 1, or a percentage of the nodes, such as 10%');
      return parsed ?? z.NEVER;
    })
    .describe(
      'how many machines that are asked to reboot go down at once: a number, or a percentage of the nodes, at least one',
    )
    .prefault(DEFAULT_REBOOT_LIMIT),
  maxEvictionsPerNode: limit('how many evictions of one node are in flight at once; no limit without it'),
  maxEvictionsPerNamespace: limit('how many evictions of one namespace are in flight at once; no limit without it'),
  maxEvictionTime: duration('after how long an eviction in flight no longer counts against these limits').prefault(
    '1h',
  ),
  excludeFromLoadBalancers: z
    .boolean()
    .describe('whether load balancers of the cloud send no new connections to a node that is drained')
    .default(false),
  maxVolumeTime: duration('for how long a drain waits for the volumes of pods that are gone; 0 for not at all').default(
    DEFAULT_VOLUME_WAIT_MS,
  ),
  webhookPort: z
    .string()
    .regex(/^[1-9]\d{0,4}$/, 'write a port')
    .transform(Number)
    .refine((port) => port <= 65_535, 'write a port, at most 65535')
    .describe('where the admission webhook for times is served; nowhere without it')
    .optional(),
  webhookHost: z
    .string()
    .min(1)
    .describe('the host name by which API servers call the webhook')
    .prefault(`nodemaint-webhook.${CONTROLLER_NAMESPACE}.svc`),
  webhookCertificate: z
    .enum(['self', 'secret'], 'write self or secret')
    .describe(
      'who makes the certificate of the webhook: the controller (self), or another program, such as cert-manager, that keeps the Secret nodemaint-webhook and makes API servers trust it (secret)',
    )
    .prefault('self'),
  leaderElect: z
    .enum(['true', 'false'], 'write true or false')
    .transform((word) => word === 'true')
    .describe('whether the replicas agree on a leader by a Lease')
    .prefault('true'),
  leaderElectLeaseDuration: duration('after how long without a renewal another replica leads').prefault('15s'),
  leaderElectRenewDeadline: duration('after how long without a renewal the leader stops').prefault('10s'),
  leaderElectRetryPeriod: duration('how often the leader renews the Lease').prefault('2s'),
  metricsAddress: z
    .string()
    .regex(/^(\[[0-9a-fA-F:]+\]|[\w.-]*):\d{1,5}$/, 'write ADDRESS:PORT, such as :8080')
    .describe('where /metrics, /healthz and /readyz are served; nowhere without it')
    .optional(),
});

/** The flags of `nodemaint controller`, in camel case; times become milliseconds. */
export const controllerOptionsSchema = flags
  .refine((options) => options.leaderElectLeaseDuration > options.leaderElectRenewDeadline, {
    path: ['leaderElectRenewDeadline'],
    message: 'must be less than --leader-elect-lease-duration',
  })
  // The policy nodemaint-controller-own-objects refuses a longer one.
  .refine((options) => options.leaderElectLeaseDuration <= MAX_LEASE_MS, {
    path: ['leaderElectLeaseDuration'],
    message: 'must be at most 1h',
  })
  .refine((options) => options.leaderElectRenewDeadline > options.leaderElectRetryPeriod, {
    path: ['leaderElectRetryPeriod'],
    message: 'must be less than --leader-elect-renew-deadline',
  });

export type ControllerOptions = z.infer<typeof controllerOptionsSchema>;
