/** Writes the part of docs/reference/security.md that says which account has which right. */
import { readFile, writeFile } from 'node:fs/promises';
import { accountsPart, PAGE, withAccounts } from './page.ts';

await writeFile(PAGE, withAccounts(await readFile(PAGE, 'utf8'), accountsPart()));
