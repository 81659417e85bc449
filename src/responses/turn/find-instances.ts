import type { DiscoveryService } from '@nestjs/core';

/**
 * The instances that the program gave, then every Nest provider of its modules that extends the class, each once. Throws an
 * Error for a class that is both: it would be called twice.
 */
export function findInstances<T extends object>(
  discovery: DiscoveryService,
  kind: abstract new (...args: never[]) => T,
  given: readonly T[],
): readonly T[] {
  const instances = discovery.getProviders().map(({ instance }) => instance as unknown);
  const all = new Set([...given, ...instances.filter((instance): instance is T => instance instanceof kind)]);
  for (const other of [...all].slice(new Set(given).size)) {
    const twice = given.find((instance) => instance.constructor === other.constructor)?.constructor.name;
    if (twice === undefined) continue;
    throw new Error(`${twice} is an option and a provider of a module. Pass { useExisting: ${twice} } as the option.`);
  }
  return [...all];
}
