/** Every value of every enumerated option of the services, through the command line as a Deployment gives it. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Command } from 'commander';
import * as z from 'zod';
import { createProgram } from '../../../src/cli/program.ts';
import { controllerOptionsSchema } from '../../../src/controller/options.ts';
import { recordTerminal } from '../../support/stand-ins/recorded-terminal.ts';

/** The services: the commands of this group of the help, which run until they are stopped. */
const SERVICES = 'Services:';

function createServices(): readonly Command[] {
  const program = createProgram(recordTerminal('pipe').terminal, () => undefined);
  return program.commands.filter((command) => command.helpGroup() === SERVICES);
}

/** Runs the command line of a service; returns the options that its action has got. */
async function parse(name: string, argv: readonly string[]): Promise<Readonly<Record<string, unknown>>> {
  const program = createProgram(recordTerminal('pipe').terminal, () => undefined);
  const command = program.commands.find((each) => each.name() === name);
  assert.ok(command);
  let got: Readonly<Record<string, unknown>> | undefined;
  command.action(() => {
    got = command.opts();
  });
  await program.parseAsync([name, ...argv], { from: 'user' });
  assert.ok(got);
  return got;
}

interface Property {
  readonly enum?: readonly string[];
  readonly items?: { readonly enum?: readonly string[] };
}

/** The options of the controller that are one, or some, of a few values: each with its values. */
function enumsOfController(): readonly (readonly [key: string, values: readonly string[]])[] {
  const schema = z.toJSONSchema(controllerOptionsSchema, { io: 'input', unrepresentable: 'any' });
  return Object.entries((schema.properties ?? {}) as Readonly<Record<string, Property>>).flatMap(([key, each]) => {
    const values = each.enum ?? each.items?.enum;
    return values === undefined ? [] : [[key, values] as const];
  });
}

describe('the options of the services', () => {
  it('the schema of the controller has enumerated options, and webhookCertificate is among them', () => {
    const keys = enumsOfController().map(([key]) => key);
    for (const key of ['webhookCertificate', 'leaderElect']) assert.ok(keys.includes(key), key);
  });

  for (const [key, values] of enumsOfController()) {
    const flag = `--${key.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
    for (const value of values) {
      it(`the controller takes ${flag} ${value}`, async () => {
        const { logLevel: _, ...options } = await parse('controller', [flag, value]);
        const parsed = controllerOptionsSchema.safeParse(options);
        assert.ok(parsed.success, JSON.stringify(parsed.error?.issues));
        assert.ok(key in options);
      });
    }
  }

  for (const command of createServices()) {
    for (const { long, argChoices = [] } of command.options) {
      for (const value of argChoices) {
        it(`nodemaint ${command.name()} takes ${long ?? ''} ${value}`, async () => {
          const {
            logLevel: _,
            kubeconfig: __,
            logFormat: ___,
            ...options
          } = await parse(command.name(), [long ?? '', value]);
          if (command.name() !== 'controller') return;
          assert.ok(controllerOptionsSchema.safeParse(options).success);
        });
      }
    }
  }

  it('nodemaint controller has an option for each key of its schema, and no other one', async () => {
    const command = createServices().find((each) => each.name() === 'controller');
    const own = new Set(['kubeconfig', 'logLevel', 'logFormat']);
    const named = (command?.options ?? []).map((option) => option.attributeName()).filter((name) => !own.has(name));
    assert.deepEqual(named.toSorted(), Object.keys(controllerOptionsSchema.shape).toSorted());
  });
});
