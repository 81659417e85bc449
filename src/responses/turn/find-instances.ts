import type { DiscoveryService } from '@nestjs/core';

/** Every Nest provider of the application that extends a class, each once, in the order of their modules. */
export function findInstances<T>(
  discovery: DiscoveryService,
  kind: abstract new (...args: never[]) => T,
): readonly T[] {
  const instances = discovery.getProviders().map(({ instance }) => instance as unknown);
  return [...new Set(instances.filter((instance): instance is T => instance instanceof kind))];
}
