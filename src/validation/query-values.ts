import { compile, type DecoratedClass } from './compile.js';

/** A parsed query string: values are texts, or arrays of texts for repeated keys. */
export type Query = Readonly<Record<string, unknown>>;

/** A value of a query as a number if it is one; other values are unchanged, for the validator to refuse. */
export function toNumber(value: unknown): unknown {
  return typeof value === 'string' && /^-?\d+(\.\d+)?$/.test(value) ? Number(value) : value;
}

/** A value of a query as a boolean if it is one; other values are unchanged, for the validator to refuse. */
export function toBoolean(value: unknown): unknown {
  if (value === 'true') return true;
  return value === 'false' ? false : value;
}

/** An array of a query: `name[]=a&name[]=b` of the SDKs, `name=a&name=b`, or `name=a,b` (protocol §1). */
export function toArray(query: Query, name: string): unknown[] {
  return [query[name], query[`${name}[]`]]
    .flat()
    .flatMap((value) => (typeof value === 'string' ? value.split(',') : value))
    .filter((value) => value !== undefined && value !== '');
}

/**
 * The check of the parameters of a query: it returns the same object, and throws ApiError 400 for the first violation. Unknown ones are
 * refused before, by KnownQuery.
 */
export function queryCheckOf<Parameters extends object>(
  target: DecoratedClass & (new () => Parameters),
): (parameters: object) => Parameters {
  const check = compile(target);
  return (parameters) => {
    check(parameters, { unknownParameters: 'ignore' });
    return parameters as Parameters;
  };
}
