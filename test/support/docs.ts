import * as z from 'zod';
import { agentConfigSchema } from '../../src/config/schema.ts';

interface Property {
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly const?: string;
  readonly type?: string;
}

function typeOf({ type, enum: values, const: fixed }: Property): string {
  if (fixed !== undefined) return `\`${fixed}\``;
  if (values !== undefined) return values.map((value) => `\`${String(value)}\``).join(', ');
  return type ?? '';
}

/** The table of docs/reference/configuration.md, made from the schema. */
export function configurationTable(): string {
  const { properties = {} } = z.toJSONSchema(agentConfigSchema, { io: 'input' }) as {
    properties?: Record<string, Property>;
  };
  const rows = Object.entries(properties).map(([key, property]) => {
    const fallback = property.default === undefined ? '' : `\`${JSON.stringify(property.default)}\``;
    return `| \`${key}\` | ${typeOf(property)} | ${fallback} | ${property.description ?? ''} |`;
  });
  return ['| key | values | default | meaning |', '|---|---|---|---|', ...rows].join('\n');
}
