/** Values of one label: each is a series for ever, and clients choose the names of models. */
const MOST_VALUES = 200;

/** What stands for all values beyond the bound. */
export const OTHER = 'other';

/** Keeps the number of values of a label bounded: the first 200, then `other`. */
export class BoundedLabel {
  private readonly known = new Set<string>();

  /** The value itself, or `other`. */
  of(value: string): string {
    if (this.known.has(value)) return value;
    if (this.known.size >= MOST_VALUES || value.length > MOST_VALUES) return OTHER;
    this.known.add(value);
    return value;
  }
}
