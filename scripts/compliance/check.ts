/** What is asked of a value. Throws, with what is missing, when it is something else. */
export type Check = (value: unknown, path: string) => void;

type Members = Readonly<Record<string, unknown>>;

/** A text, also an empty one. */
export const text: Check = (value, path) => require(typeof value === 'string', path, 'a string', value);
/** A number without a fraction. */
export const whole: Check = (value, path) => require(Number.isInteger(value), path, 'an integer', value);
/** A number. */
export const number: Check = (value, path) => require(typeof value === 'number', path, 'a number', value);
/** True or false. */
export const flag: Check = (value, path) => require(typeof value === 'boolean', path, 'a boolean', value);
/** Whatever it is, it is there, and not null. */
export const something: Check = (value, path) => require(value !== undefined && value !== null, path, 'present', value);

/** Null, or what the check says. A member that is missing is neither. */
export function nullOr(check: Check): Check {
  return (value, path) => {
    if (value !== null) check(value, path);
  };
}

/** Missing, null, or what the check says. */
export function optional(check: Check): Check {
  return (value, path) => {
    if (value !== undefined && value !== null) check(value, path);
  };
}

/** One of these texts. */
export function oneOf(...texts: readonly string[]): Check {
  return (value, path) => require(texts.includes(value as string), path, `one of ${texts.join(', ')}`, value);
}

/** A list, each of whose entries the check likes. */
export function listOf(check: Check): Check {
  return (value, path) => {
    require(Array.isArray(value), path, 'an array', value);
    for (const [index, entry] of (value as readonly unknown[]).entries()) check(entry, `${path}[${index}]`);
  };
}

/** An object with these members at least. */
export function object(checks: Readonly<Record<string, Check>> = {}): Check {
  return (value, path) => {
    require(typeof value === 'object' && value !== null && !Array.isArray(value), path, 'an object', value);
    for (const [name, check] of Object.entries(checks)) check((value as Members)[name], `${path}.${name}`);
  };
}

/** Throws unless something is so: `path: expected … , but got …`. */
export function require(isSo: boolean, path: string, expected: string, got: unknown): void {
  if (isSo) return;
  const found = got === undefined ? 'nothing' : JSON.stringify(got).slice(0, 100);
  throw new Error(`${path}: expected ${expected}, but got ${found}`);
}
