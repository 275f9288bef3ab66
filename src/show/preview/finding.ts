/** How serious a finding is: it blocks the drain, it may block it, or it is only information. */
type FindingLevel = 'blocks' | 'may block' | 'note';

/** Something that a person should know before a drain. */
export interface Finding {
  readonly level: FindingLevel;
  readonly message: string;
  /** The flag without which `nodemaint drain` refuses the pod; absent where it needs none. */
  readonly needs?: string;
}
