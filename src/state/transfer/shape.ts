/** Says what is wrong with a value, as a part of a sentence; undefined when it has the shape. */
export type Shape = (value: unknown, path: string) => string | undefined;

type JsonType = 'string' | 'number' | 'boolean' | 'null' | 'array' | 'object';

/** One of some types. */
export function of(...types: readonly JsonType[]): Shape {
  return (value, path) => {
    const type = typeOf(value);
    if (types.some((expected) => expected === type)) return undefined;
    return `expected ${path} to be ${types.join(' or ')}, but got ${type}`;
  };
}

/** An object with these members, and perhaps others. */
export function object(members: Readonly<Record<string, Shape>>): Shape {
  const isObject = of('object');
  return (value, path) => {
    const fault = isObject(value, path);
    if (fault !== undefined) return fault;
    for (const [name, shape] of Object.entries(members)) {
      const member: unknown = Object.hasOwn(value as object, name)
        ? (value as Record<string, unknown>)[name]
        : undefined;
      const found = shape(member, path === '' ? name : `${path}.${name}`);
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

/** A list of such values. */
export function list(shape: Shape): Shape {
  const isList = of('array');
  return (value, path) => {
    const fault = isList(value, path);
    if (fault !== undefined) return fault;
    for (const [index, element] of (value as readonly unknown[]).entries()) {
      const found = shape(element, `${path}[${index}]`);
      if (found !== undefined) return found;
    }
    return undefined;
  };
}

/** Such a value, or null. */
export function nullable(shape: Shape): Shape {
  return (value, path) => (value === null ? undefined : shape(value, path));
}

function typeOf(value: unknown): string {
  if (value === undefined) return 'nothing';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
}
