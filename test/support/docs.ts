import type { Command } from 'commander';
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

/** The two tables of docs/reference/commands.md, made from the command line: the commands, and the options of the controller. */
export function commandTables(program: Command): readonly string[] {
  const shown = program.createHelp().visibleCommands(program);
  const commands = shown.flatMap((each): readonly Command[] => (each.commands.length > 0 ? each.commands : [each]));
  const typed = commands.filter((each) => each.name() !== 'help');
  const { options = [] } = typed.find((each) => each.name() === 'controller') ?? {};
  const rows = typed.map((each) => {
    const group = each.parent === program ? '' : `${each.parent?.name()} `;
    const usage = `nodemaint ${group}${each.name()}${each.usage().replace('[options]', '')}`;
    return `| \`${usage}\` | ${each.description().split('. ')[0]} |`;
  });
  const optionRows = options.map(({ flags, description, argChoices = [], defaultValue }) => {
    const meaning = [description, argChoices.join(', '), defaultValue === undefined ? '' : `default: ${defaultValue}`];
    return `| \`${flags}\` | ${meaning.filter((each) => each !== '').join('; ')} |`;
  });
  return [
    ['| command | what it does |', '|---|---|', ...rows].join('\n'),
    ['| option of `nodemaint controller` | meaning |', '|---|---|', ...optionRows].join('\n'),
  ];
}
