/** Opens the journal at a start, whatever a crash or a broken disk has left of it. */
import { describeError } from '../../errors.ts';
import type { Disk } from '../disk.ts';
import { type JournalLocation, type JournalStep, readIfThere, readSteps } from './journal.ts';

/** A journal as it was found. */
export interface FoundJournal {
  readonly place: JournalLocation;
  readonly steps: readonly JournalStep[];
  /** What is wrong with it, a sentence each. */
  readonly problems: readonly string[];
}

/** The steps that an earlier process of this boot could not write to the disk; they are all that it knew. */
async function readStandIn(standIn: string | undefined): Promise<readonly JournalStep[] | undefined> {
  if (standIn === undefined) return undefined;
  const text = await readIfThere(standIn).catch(() => undefined);
  return text === undefined ? undefined : readSteps(text).steps;
}

/**
 * Finds the steps. A journal with damaged lines is set aside for a person, and what can be read of it counts; one that
 * cannot be read, or set aside, is left as it is and not written any more.
 */
export async function openJournal(place: JournalLocation, disk: Pick<Disk, 'rename'>): Promise<FoundJournal> {
  const { file, standIn } = place;
  const ahead = await readStandIn(standIn);
  let text: string | undefined;
  try {
    text = await readIfThere(file);
  } catch (error) {
    const sealed = `cannot read the journal ${file}: ${describeError(error)}`;
    return { place: { ...place, sealed }, steps: ahead ?? [], problems: [sealed] };
  }
  const { steps, damaged } = readSteps(text ?? '');
  if (damaged.length === 0) return { place, steps: ahead ?? steps, problems: [] };
  const more = damaged.length > 1 ? `, and ${damaged.length - 1} more,` : '';
  const lines = `line ${damaged[0]}${more} of the journal ${file} is damaged`;
  const aside = `${file}.damaged`;
  try {
    await disk.rename(file, aside);
    const problem = `${lines}; it was moved to ${aside}, and its other lines count: look at the parked manifests`;
    return { place, steps: ahead ?? steps, problems: [problem] };
  } catch (error) {
    const sealed = `${lines} and it cannot be moved aside: ${describeError(error)}`;
    return { place: { ...place, sealed }, steps: ahead ?? steps, problems: [sealed] };
  }
}
