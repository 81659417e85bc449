import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { createTestDatabase, type TestDatabase } from '../support/postgres/test-database.js';
import { endProcesses } from '../support/process-service.js';
import { freePort } from '../support/ports.js';
import { openSocketsOn, startWorkers } from './worker-processes.js';

describe('METRICS_PORT of two workers', () => {
  let database: TestDatabase;

  beforeEach(async () => {
    database = await createTestDatabase();
  });
  afterEach(async () => {
    await endProcesses();
    await database.drop();
  });

  it('METRICS_PORT is the port of the first worker, and the second has the next one', async () => {
    const port = await freePort(2);
    const service = await startWorkers(database.url, { METRICS_PORT: String(port), METRICS_HOST: '127.0.0.1' });
    const clients = await openSocketsOn(service, service.workers());
    const open = await Promise.all([port, port + 1].map(socketsOn));
    expect(open).toEqual([1, 1]);
    expect(clients).toHaveLength(2);
  });
});

/** How many sockets a process has open, by its metrics. */
async function socketsOn(port: number): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  return Number(/^antiphon_sockets_open (\d+)$/m.exec(text)?.[1]);
}
