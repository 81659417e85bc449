import { Redis as Client } from 'ioredis';

import { Environment } from '../../../src/config/index.js';
import { createClient } from '../../../src/state/redis/connection-options.js';

/** Removes the keys whose names fit a pattern of Redis, on every node of a cluster. */
export function removeKeys(url: string | undefined, pattern: string): Promise<void> {
  return scan(url, pattern, async (names, node) => {
    await Promise.all(names.map((name) => node.unlink(name)));
  });
}

/** The keys whose names fit a pattern of Redis, of every node of a cluster. */
export async function findKeys(url: string | undefined, pattern: string): Promise<readonly string[]> {
  const found = new Set<string>();
  await scan(url, pattern, async (names) => names.forEach((name) => found.add(name)));
  return [...found];
}

async function scan(
  url: string | undefined,
  pattern: string,
  visit: (names: readonly string[], node: Client) => Promise<void>,
): Promise<void> {
  const settings = Object.assign(new Environment(), { REDIS_URL: url });
  const client = createClient(settings, {});
  try {
    await client.connect();
    const nodes = client instanceof Client ? [client] : client.nodes('master');
    for (const node of nodes) {
      for await (const names of node.scanStream({ match: pattern, count: 1000 })) {
        await visit(names as readonly string[], node);
      }
    }
  } finally {
    client.disconnect();
  }
}
