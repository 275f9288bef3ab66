import { Gauge, type Registry } from 'prom-client';
import type { NodeCounts } from '../show/counts/nodes.ts';
import { setCounts } from './labelled-counts.ts';

/** Registers what the controller counts of nodes: it is served also where no agent serves metrics of its own. */
export function createNodeMetrics(registry: Registry): (counts: NodeCounts) => void {
  const registers = [registry];
  const states = new Gauge({
    name: 'nodemaint_nodes',
    help: 'Nodes by state: guarded, unguarded, outdated, going-down, back, or exempt.',
    labelNames: ['state'],
    registers,
  });
  const shutDown = new Gauge({
    name: 'nodemaint_nodes_shut_down',
    help: 'Nodes whose last shutdown ended within the past hour: drained, forced, undrained, or canceled.',
    labelNames: ['result'],
    registers,
  });
  return (counts) => {
    setCounts(states, 'state', counts.states);
    setCounts(shutDown, 'result', counts.shutDown);
  };
}
