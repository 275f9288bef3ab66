import { CONSEQUENCES, WITHOUT_CONTROLLER } from './consequences.ts';
import { ATTACKERS, ATTACKS } from './suite.ts';

/** What the tables show of attacks. */
interface Shown {
  readonly attacker: string;
  readonly title: string;
  readonly attacks: readonly { readonly name: string; readonly refusedBy: string }[];
}

const ALL: readonly Shown[] = [...ATTACKS, ...WITHOUT_CONTROLLER, ...CONSEQUENCES];

function row(...cells: readonly string[]): string {
  return `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
}

/** What the tests try, and what refuses each attack: a table for each attacker, which the test prints. */
export function attackTable(): string {
  return `${tablesOf(ATTACKERS, ALL).join('\n\n')}\n`;
}

function tablesOf(attackers: Readonly<Record<string, string>>, families: readonly Shown[]): readonly string[] {
  return Object.entries(attackers).map(([attacker, name]) => {
    const own = families.filter((family) => family.attacker === attacker);
    const rows = own.flatMap(({ title, attacks }) =>
      attacks.map((attack) => row(title, attack.name, attack.refusedBy)),
    );
    return [`## ${name}`, '', row('what', 'attack', 'refused by'), '|---|---|---|', ...rows].join('\n');
  });
}
