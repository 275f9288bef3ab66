const WIDTH = 24;

/** How many of how many, as a bar and in numbers; drawn with blocks, or with signs that every terminal and file has. */
export function progressBar(done: number, total: number, style: 'blocks' | 'signs' = 'signs'): string {
  const filled = total === 0 ? WIDTH : Math.floor((done / total) * WIDTH);
  const [full, empty] = style === 'blocks' ? ['█', '░'] : ['#', '.'];
  return `${full.repeat(filled)}${empty.repeat(WIDTH - filled)} ${done}/${total}`;
}
