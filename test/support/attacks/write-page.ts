/** Writes docs/reference/security-attacks.md from the attacks that the tests try. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { attackPage } from './table.ts';

await writeFile(path.join(import.meta.dirname, '../../../docs/reference/security-attacks.md'), attackPage());
