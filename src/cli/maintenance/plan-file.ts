import { readFile } from 'node:fs/promises';
import * as z from 'zod';
import type { DrainPlanEntry } from '../../api/node-maintenance.ts';
import { drainPlanEntrySchema } from '../../config/schema.ts';
import { effectiveDrainPlan, planFromKubeletPriorities } from '../../decide/maintenance/drain-plan.ts';
import { planComplaint } from '../../decide/maintenance/new-maintenance.ts';
import { describeError, errorCodeOf, NodemaintError } from '../../errors.ts';
import { CONFIG_LIMITS, createYamlReader } from '../../host/files/yaml.ts';

const planSchema = z.array(drainPlanEntrySchema);

const kubeletSchema = z.object({
  shutdownGracePeriodByPodPriority: z.array(z.object({ priority: z.int() })).optional(),
});

interface PlanFile {
  readonly kind?: string;
  readonly drainPlan?: unknown;
  readonly spec?: { readonly drainPlan?: unknown };
}

/**
 * The drain plan of a text in YAML or JSON: a list of entries, an object with `drainPlan`, a NodeMaintenance, or a
 * KubeletConfiguration whose shutdownGracePeriodByPodPriority is converted. Throws USAGE that names the file and the entry, counted from 0.
 */
export function parseDrainPlan(text: string, file: string): readonly DrainPlanEntry[] {
  const refuse = (why: string, cause?: unknown): NodemaintError =>
    new NodemaintError('USAGE', `--plan ${file}: ${why}`, { cause });
  let content: unknown;
  try {
    content = createYamlReader(CONFIG_LIMITS)(text);
  } catch (error) {
    throw refuse(`it is neither YAML nor JSON: ${describeError(error)}`, error);
  }
  if (typeof content !== 'object' || content === null) throw refuse('it has no drainPlan');
  const { kind, drainPlan, spec } = content as PlanFile;
  if (kind === 'KubeletConfiguration') {
    const kubelet = kubeletSchema.safeParse(content);
    const priorities = kubelet.data?.shutdownGracePeriodByPodPriority ?? [];
    if (priorities.length === 0) throw refuse('this KubeletConfiguration has no shutdownGracePeriodByPodPriority');
    return planFromKubeletPriorities(priorities.map(({ priority }) => priority));
  }
  const entries = Array.isArray(content) ? content : (drainPlan ?? spec?.drainPlan);
  const parsed = planSchema.safeParse(entries);
  if (!Array.isArray(entries)) throw refuse('it has no drainPlan');
  if (!parsed.success) throw refuse(`it is not a drain plan:\n${z.prettifyError(parsed.error)}`);
  const plan = parsed.data as readonly DrainPlanEntry[];
  const complaint = planComplaint(plan, effectiveDrainPlan(plan));
  if (complaint !== undefined) throw refuse(complaint);
  return plan;
}

/** Reads the drain plan of a file; "-" is standard input. Throws USAGE. */
export async function readDrainPlan(file: string, signal: AbortSignal): Promise<readonly DrainPlanEntry[]> {
  let text: string;
  try {
    text = await readFile(file === '-' ? '/dev/stdin' : file, { encoding: 'utf8', signal });
  } catch (error) {
    const why = errorCodeOf(error) === 'EISDIR' ? 'it is a directory' : describeError(error);
    throw new NodemaintError('USAGE', `--plan ${file}: ${why}; name a file with a drain plan`, { cause: error });
  }
  return parseDrainPlan(text, file);
}
