const REFERENCE = /\$\$|\$\{(?<name>[A-Za-z_]\w*)\}/g;

/** A value whose references are resolved, and what was put in their place. */
export interface Resolved {
  readonly value: unknown;
  readonly substitutes: readonly string[];
}

/**
 * Puts environment variables in the place of `${NAME}` in every text of a value; `$$` is a dollar. Throws an Error that names the
 * place of a reference to a variable that is not set.
 */
export function resolveReferences(value: unknown, variables: Readonly<Record<string, string | undefined>>): Resolved {
  const substitutes: string[] = [];
  const resolve = (part: unknown, place: string): unknown => {
    if (typeof part === 'string') {
      return part.replaceAll(REFERENCE, (match, name: string | undefined) => {
        if (name === undefined) return '$';
        const substitute = variables[name] ?? '';
        if (substitute === '') throw new Error(`${place} refers to ${name}, which the environment does not have`);
        substitutes.push(substitute);
        return substitute;
      });
    }
    if (Array.isArray(part)) return part.map((entry, index) => resolve(entry, `${place}[${index}]`));
    if (typeof part !== 'object' || part === null) return part;
    const under = place === '' ? '' : `${place}.`;
    return Object.fromEntries(Object.entries(part).map(([name, entry]) => [name, resolve(entry, under + name)]));
  };
  return { value: resolve(value, ''), substitutes };
}
