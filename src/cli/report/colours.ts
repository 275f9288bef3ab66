/**
 * The colours of a picture in two schemes. Every renderer shows them: each shape has its light colour as an attribute, style
 * sheets repeat it as a literal, and the dark scheme lies on top where the reader's system asks for it. Variables of CSS are
 * not used, because many renderers draw black in their place.
 */

/** What a colour is used for. */
type Property = 'fill' | 'stroke' | 'color' | 'background' | 'border-bottom-color';

/** A rule of a style sheet for one colour: the selector, what it paints, and the name of the colour. */
export type Paint<Name extends string> = readonly [selector: string, property: Property, colour: Name];

/** The same names of colours in both schemes. */
export interface Scheme<Name extends string> {
  readonly light: Readonly<Record<Name, string>>;
  readonly dark: Readonly<Record<Name, string>>;
}

/** The rules of a style sheet: in light colours, and in dark ones for a reader whose system is dark. */
export function colourRules<Name extends string>(
  { light, dark }: Scheme<Name>,
  paints: readonly Paint<Name>[],
): string {
  const rules = (colours: Readonly<Record<Name, string>>): string =>
    paints.map(([selector, property, name]) => `${selector}{${property}:${colours[name]}}`).join('\n');
  return `${rules(light)}\n@media (prefers-color-scheme:dark){\n${rules(dark)}\n}`;
}
