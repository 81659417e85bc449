import { Redis as Client } from 'ioredis';

import { Environment } from '../../../src/config/index.js';
import { createClient } from '../../../src/state/redis/connection-options.js';

/** Removes the keys whose names fit a pattern of Redis, on every node of a cluster. */
export async function removeKeys(url: string | undefined, pattern: string): Promise<void> {
  const settings = Object.assign(new Environment(), { REDIS_URL: url });
  const client = createClient(settings, {});
  await client.connect();
  const nodes = client instanceof Client ? [client] : client.nodes('master');
  await Promise.all(nodes.map((node) => removeFrom(node, pattern)));
  client.disconnect();
}

async function removeFrom(node: Client, pattern: string): Promise<void> {
  for await (const names of node.scanStream({ match: pattern, count: 1000 })) {
    await Promise.all((names as readonly string[]).map((name) => node.unlink(name)));
  }
}
