/** The metrics of a fleet that drains, as text that promtool makes a database of: for what is to be seen with many nodes. */

const REASONS = ['PodDisruptionBudget', 'NotEnding', 'InterceptorSilent'];
const STATES = ['guarded', 'unguarded', 'outdated', 'going-down', 'back', 'exempt'];
const PHASES = ['watching', 'draining', 'released', 'recovering'];
/** A node is drained for so many minutes, one after another. */
const DRAIN_MINUTES = 12;
/** So many nodes are drained at once. */
const AT_ONCE = 5;

/** Whether a node is drained in this minute, and for how many minutes already. */
function drainMinutes(node: number, minute: number): number | undefined {
  const begins = Math.floor(node / AT_ONCE) * DRAIN_MINUTES;
  return minute >= begins && minute < begins + DRAIN_MINUTES ? minute - begins : undefined;
}

type Samples = (minute: number, seconds: number) => Iterable<readonly [labels: string, value: number]>;

interface Family {
  readonly name: string;
  readonly type: 'gauge' | 'counter' | 'histogram';
  readonly samples: Samples;
}

const CONTROLLER = 'job="nodemaint-controller"';
const REPLICAS = ['replica-a', 'replica-b'].map((instance) => `${CONTROLLER},instance="${instance}"`);

/** What each replica serves alike: a number for each value of a label. */
function ofLabel(
  name: string,
  label: string,
  values: readonly string[],
  at: (place: number, minute: number) => number,
): Family {
  return {
    name,
    type: 'gauge',
    *samples(minute) {
      for (const replica of REPLICAS)
        for (const [place, value] of values.entries()) yield [`${replica},${label}="${value}"`, at(place, minute)];
    },
  };
}

/** What each replica counts alike, by the outcome, and how long it took. */
function histogram(name: string, each: number): Family {
  const bounds = [1, 10, 60, 600, 3600];
  return {
    name,
    type: 'histogram',
    *samples(minute) {
      for (const replica of REPLICAS) {
        for (const [place, le] of [...bounds, '+Inf'].entries())
          yield [
            `_bucket{${replica},outcome="evicted",le="${String(le)}"}`,
            Math.floor((minute * each * (place + 1)) / 6),
          ];
        yield [`_count{${replica},outcome="evicted"}`, minute * each];
        yield [`_sum{${replica},outcome="evicted"}`, minute * each * 40];
      }
    },
  };
}

/** What the agent of each node serves. */
function ofAgents(
  nodes: number,
  name: string,
  at: (node: number, minute: number, seconds: number) => Iterable<readonly [string, number]>,
  type: Family['type'] = 'gauge',
): Family {
  return {
    name,
    type,
    *samples(minute, seconds) {
      for (let node = 0; node < nodes; node += 1) {
        const own = `job="nodemaint-agent",instance="node-${String(node).padStart(3, '0')}"`;
        for (const [labels, value] of at(node, minute, seconds)) yield [`${own}${labels}`, value];
      }
    },
  };
}

function agentFamilies(nodes: number): readonly Family[] {
  const drained = (node: number, minute: number): number => (drainMinutes(node, minute) === undefined ? 0 : 1);
  return [
    ofAgents(nodes, 'nodemaint_phase', (node, minute) =>
      PHASES.map((phase, place) => [`,phase="${phase}"`, place === drained(node, minute) ? 1 : 0] as const),
    ),
    ofAgents(nodes, 'nodemaint_shutdown_held_seconds', (node, minute) => [
      ['', 60 * (drainMinutes(node, minute) ?? 0)],
    ]),
    ofAgents(nodes, 'nodemaint_waiting', (node, minute) => [[',actor="controller"', 3 * drained(node, minute)]]),
    ofAgents(nodes, 'nodemaint_static_pods_in_place', (node, minute) => [['', drained(node, minute) === 1 ? 0 : 1]]),
    ofAgents(nodes, 'nodemaint_static_pods_parked', (node, minute) => [['', drained(node, minute)]]),
    ofAgents(nodes, 'nodemaint_api_server_last_answer_timestamp_seconds', (node, _minute, seconds) => [
      ['', seconds - (node % 30)],
    ]),
    ofAgents(
      nodes,
      'nodemaint_shutdown_steps',
      (node, minute) =>
        ['drained', 'forced'].map(
          (step, place) => [`,step="${step}"`, minute > 30 && node % 50 === place ? 1 : 0] as const,
        ),
      'counter',
    ),
  ];
}

function controllerFamilies(nodes: number): readonly Family[] {
  const done = (minute: number): number => Math.min(nodes, Math.floor(minute / DRAIN_MINUTES) * AT_ONCE);
  return [
    ofLabel(
      'nodemaint_nodes',
      'state',
      STATES,
      (place, minute) => [nodes - 9 - AT_ONCE - done(minute) / 4, 2, done(minute) / 4, AT_ONCE, 0, 7][place] ?? 0,
    ),
    ofLabel(
      'nodemaint_nodes_shut_down',
      'result',
      ['drained', 'forced', 'undrained', 'canceled'],
      (place) => [20, 1, 0, 0][place] ?? 0,
    ),
    ofLabel(
      'nodemaintenance_controller_maintenances',
      'stage',
      ['Idle', 'Cordon', 'Drain', 'Complete'],
      (place, minute) => [0, 0, nodes - done(minute), done(minute)][place] ?? 0,
    ),
    ofLabel(
      'nodemaintenance_controller_drains',
      'state',
      ['draining', 'waiting', 'drained'],
      (place, minute) => [AT_ONCE, nodes - AT_ONCE - done(minute), done(minute)][place] ?? 0,
    ),
    ofLabel(
      'nodemaintenance_controller_pods',
      'state',
      ['waiting', 'leaving', 'blocked'],
      (place, minute) => [60 - (minute % DRAIN_MINUTES) * 5, 12, minute % 7][place] ?? 0,
    ),
    ofLabel('nodemaintenance_controller_blocking_pods', 'reason', REASONS, (place, minute) => (minute + place) % 4),
    // One maintenance for each node.
    ofLabel(
      'nodemaintenance_controller_drain_age_seconds',
      'maintenance',
      Array.from({ length: nodes }, (_, node) => `m-${node}`),
      (node, minute) => 60 * (drainMinutes(node, minute) ?? 0),
    ),
    ofLabel(
      'nodemaintenance_controller_blocked_seconds',
      'maintenance',
      Array.from({ length: nodes }, (_, node) => `m-${node}`),
      (node, minute) => 20 * (drainMinutes(node, minute) ?? 0),
    ),
    ofLabel(
      'evictionrequest_controller_active_interceptor',
      'interceptor',
      ['kubelet.k8s.io', 'imperative-eviction.k8s.io'],
      (place, minute) => 3 + ((minute + place) % 9),
    ),
    ofLabel(
      'evictionrequest_controller_active_requester',
      'requester',
      ['nodemaintenance.k8s.io'],
      (_, minute) => 12 + (minute % 5),
    ),
    ofLabel(
      'workqueue_depth',
      'name',
      ['maintenances', 'requests', 'pods', 'nodes'],
      (place, minute) => (minute * (place + 1)) % 6,
    ),
    {
      name: 'leader_election_master_status',
      type: 'gauge',
      *samples() {
        for (const [place, replica] of REPLICAS.entries())
          yield [`${replica},name="nodemaint-controller"`, place === 0 ? 1 : 0];
      },
    },
    ofLabel('nodemaint_webhook_certificate_expiry_timestamp_seconds', 'kind', ['own'], () => 2_000_000_000),
    histogram('nodemaintenance_controller_drain_duration_seconds', 1),
    histogram('evictionrequest_controller_eviction_duration_seconds', 40),
    {
      name: 'evictionrequest_controller_imperative_evictions',
      type: 'counter',
      *samples(minute) {
        for (const replica of REPLICAS) yield [`${replica},outcome="evicted"`, minute * 30];
      },
    },
  ];
}

/** What every process serves. */
function processFamilies(nodes: number): readonly Family[] {
  const all = function* (): Generator<string> {
    yield* REPLICAS;
    for (let node = 0; node < nodes; node += 1)
      yield `job="nodemaint-agent",instance="node-${String(node).padStart(3, '0')}"`;
  };
  const each = (name: string, at: (minute: number) => number, type: Family['type'] = 'gauge', labels = ''): Family => ({
    name,
    type,
    *samples(minute) {
      for (const own of all()) yield [`${own}${labels}`, at(minute)];
    },
  });
  return [
    each('nodemaint_build_info', () => 1, 'gauge', ',version="0.3.0",commit="0",node_version="24"'),
    each('process_resident_memory_bytes', (minute) => 70_000_000 + minute * 1_000),
    each('process_cpu_seconds', (minute) => minute / 10, 'counter'),
  ];
}

/** A line for each sample of every minute until `endSeconds`, in the form of OpenMetrics. */
export function* fleetMetrics(nodes: number, minutes: number, endSeconds: number): Generator<string> {
  for (const { name, type, samples } of [
    ...controllerFamilies(nodes),
    ...agentFamilies(nodes),
    ...processFamilies(nodes),
  ]) {
    yield `# TYPE ${name} ${type}\n`;
    const suffix = type === 'counter' ? '_total' : '';
    for (let minute = 0; minute <= minutes; minute += 1) {
      const seconds = endSeconds - (minutes - minute) * 60;
      for (const [labels, value] of samples(minute, seconds)) {
        const series = type === 'histogram' ? `${name}${labels}` : `${name}${suffix}{${labels}}`;
        yield `${series} ${value} ${seconds}\n`;
      }
    }
  }
  yield '# EOF\n';
}
