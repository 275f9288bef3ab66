/** The first names of a list, at most `most` of them, and the number of the others: "a, b and 3 more". */
export function firstNames(names: readonly string[], most: number): string {
  const more = names.length - most;
  return `${names.slice(0, most).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

/** As many of the first names as `width` characters have room for, at least one and no more than `most`, and the number of the others. */
export function namesWithin(names: readonly string[], width: number, most: number = names.length): string {
  let count = Math.min(most, names.length);
  while (count > 1 && names.slice(0, count).join(', ').length > width) count -= 1;
  return firstNames(names, count);
}
