const REFERENCE = /\$\$|\$\{(?<name>[A-Za-z_]\w*)\}/g;

/** A value with resolved references, and the substituted values. */
export interface Resolved {
  readonly value: unknown;
  readonly substitutes: readonly string[];
}

/**
 * Replaces `${NAME}` in all strings of a value with environment variables; `$$` is a dollar sign. Throws an Error that names the
 * location of a reference to an unset variable.
 */
export function resolveReferences(value: unknown, variables: Readonly<Record<string, string | undefined>>): Resolved {
  const substitutes: string[] = [];
  const resolve = (part: unknown, place: string): unknown => {
    if (typeof part === 'string') {
      return part.replaceAll(REFERENCE, (match, name: string | undefined) => {
        if (name === undefined) return '$';
        const substitute = variables[name] ?? '';
        if (substitute === '') throw new Error(`${place} refers to ${name}, which is not set`);
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
