import { REFERENCE } from './unread-variables.js';

/** A value with resolved references. */
export interface Resolved {
  readonly value: unknown;
  /** The values that were put in. */
  readonly substitutes: readonly string[];
  /** References to variables that are not set: a line each, with its place. */
  readonly unset: readonly string[];
}

/** Replaces `${NAME}` in all strings of a value with environment variables; `$$` is a dollar sign. */
export function resolveReferences(value: unknown, variables: Readonly<Record<string, string | undefined>>): Resolved {
  const substitutes: string[] = [];
  const unset: string[] = [];
  const resolve = (part: unknown, place: string): unknown => {
    if (typeof part === 'string') {
      return part.replaceAll(REFERENCE, (match, name: string | undefined) => {
        if (name === undefined) return '$';
        const substitute = variables[name] ?? '';
        if (substitute === '') unset.push(`${place} refers to ${name}, which is not set`);
        else substitutes.push(substitute);
        return substitute;
      });
    }
    if (Array.isArray(part)) return part.map((entry, index) => resolve(entry, `${place}[${index}]`));
    if (typeof part !== 'object' || part === null) return part;
    const under = place === '' ? '' : `${place}.`;
    return Object.fromEntries(Object.entries(part).map(([name, entry]) => [name, resolve(entry, under + name)]));
  };
  return { value: resolve(value, ''), substitutes, unset };
}
