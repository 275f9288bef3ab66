/** Facts that the formatter makes readable line by line: kinds of lines, and members of interfaces. */

export interface Lines {
  readonly code: number;
  readonly comments: number;
  readonly blank: number;
}

/** Counts the lines of a TypeScript file. A line with code and a comment counts as code. */
export function countLines(text: string): Lines {
  let [code, comments, blank] = [0, 0, 0];
  let inComment = false;
  for (const line of text
    .replace(/\n$/, '')
    .split('\n')
    .map((part) => part.trim())) {
    if (line === '') blank += 1;
    else if (inComment || line.startsWith('/*') || line.startsWith('//')) comments += 1;
    else code += 1;
    if (line.startsWith('/*')) inComment = true;
    if (line.includes('*/')) inComment = false;
  }
  return { code, comments, blank };
}
