/** Reads the objects of `lifecycle.k8s.io`: what has another shape or is larger than the API takes is not acted on. */
import * as z from 'zod';
import {
  type Eviction,
  type LifecycleRequest,
  MAX_REQUESTERS,
  MAX_RESPONDER_MESSAGE,
  MAX_RESPONDERS,
} from '../../api/lifecycle.ts';
import type { KubeObject } from '../../api/meta.ts';

/** An object of a copy, with what it says where that can be read. */
export interface Read<T> extends KubeObject {
  readonly read?: T;
}

const MAX_CONDITIONS = 100;
const MAX_TEXT = 32_768;
/** Made at the first object: an agent has none where its cluster does not serve the group. */
function makeSchemas() {
  const name = z.string().min(1).max(320);
  const time = z.string().max(40);

  const condition = z.object({
    type: z.string().max(316),
    status: z.enum(['True', 'False', 'Unknown']),
    reason: z.string().max(1_024),
    message: z.string().max(MAX_TEXT),
    lastTransitionTime: time,
    observedGeneration: z.number().optional(),
  });
  const conditions = z.array(condition).max(MAX_CONDITIONS).optional();
  const observedGeneration = z.number().optional();
  const target = z.object({ pod: z.object({ name: z.string().max(253), uid: z.string().max(128) }).optional() });
  const intent = z.enum(['Eviction', 'Withdrawn']);

  const request = z.object({
    spec: z.object({ target, requester: name, intent }),
    status: z.object({ conditions, observedGeneration }).optional(),
  });

  const targetResponder = z.object({
    name,
    priority: z.number(),
    state: z.enum(['Inactive', 'Active', 'Interrupted', 'Canceled', 'Completed']),
  });
  const responder = z.object({
    name,
    startTime: time.optional(),
    heartbeatTime: time.optional(),
    expectedCompletionTime: time.optional(),
    completionTime: time.optional(),
    message: z
      .string()
      .max(2 * MAX_RESPONDER_MESSAGE)
      .optional(),
  });
  const eviction = z.object({
    spec: z.object({ target }),
    status: z
      .object({
        conditions,
        observedGeneration,
        requesters: z.array(z.object({ name, intent })).max(MAX_REQUESTERS).optional(),
        targetResponders: z.array(targetResponder).max(MAX_RESPONDERS).optional(),
        responders: z.array(responder).max(MAX_RESPONDERS).optional(),
      })
      .optional(),
  });
  return { request, eviction };
}
let made: ReturnType<typeof makeSchemas> | undefined;
function schemas(): ReturnType<typeof makeSchemas> {
  made ??= makeSchemas();
  return made;
}

function read<T extends KubeObject>(object: KubeObject, schema: z.ZodType): Read<T> {
  const { managedFields: _, ...metadata } = object.metadata as KubeObject['metadata'] & { managedFields?: unknown };
  const parsed = schema.safeParse(object);
  return { metadata, ...(parsed.success ? { read: { metadata, ...(parsed.data as object) } as T } : {}) };
}

/** Reads an Eviction as an API server sends it. */
export function readEviction(object: KubeObject): Read<Eviction> {
  return read(object, schemas().eviction);
}

/** Reads an EvictionRequest as an API server sends it. */
export function readLifecycleRequest(object: KubeObject): Read<LifecycleRequest> {
  return read(object, schemas().request);
}
