// Slow: starts the built service as several processes.

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { ApiClient } from '../support/api-client.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres/test-database.js';
import { endProcesses } from '../support/process-service.js';
import type { SocketClient } from '../support/socket-client.js';
import { openSocketsOn, startWorkers, type WorkerProcesses } from './worker-processes.js';

describe('an instance of two workers', () => {
  let database: TestDatabase;
  let service: WorkerProcesses;
  let sockets: readonly SocketClient[];
  let api: ApiClient;
  /** The responses of both workers. */
  const ids: string[] = [];

  beforeAll(async () => {
    database = await createTestDatabase();
    // A model that takes longer than the test. The workers outlive their primary process by DRAIN_TIMEOUT_MS.
    service = await startWorkers(database.url, { SIMULATOR_LATENCY: '0/60000', DRAIN_TIMEOUT_MS: '0' });
    sockets = await openSocketsOn(service, service.workers());
    api = new ApiClient(`${service.origin}/v1`);
  });
  afterAll(async () => {
    await endProcesses();
    await database.drop();
  });

  /** A request on a connection of its own, which the primary process gives to one worker after the other. */
  const get = (path: string) => api.with({ connection: 'close' }).get(path);

  it('an instance of two workers tells of the turns, sockets and runs of both, whichever is asked', async () => {
    for (const socket of sockets) {
      socket.create({ model: 'gpt-4.1', input: 'Hi' });
      let event = await socket.next();
      while (event.type !== 'response.created') event = await socket.next();
      ids.push((event as unknown as { readonly response: { readonly id: string } }).response.id);
    }
    for (let count = 0; count < 4; count += 1) {
      const { body } = await get('activity');
      expect(body).toMatchObject({ processes: { answered: 2, silent: 0 } });
      const turns = body['turns'] as readonly { readonly id: string }[];
      expect(turns.map(({ id }) => id).sort()).toEqual([...ids].sort());
      expect((await get('connections')).body['data']).toHaveLength(2);
      for (const id of ids) {
        expect((await get(`responses/${id}/turn`)).body).toMatchObject({ response_id: id, status: 'in_progress' });
      }
    }
  });

  it('an instance of two workers retires sockets of both, whichever is asked', async () => {
    const { data } = (await get('connections')).body as { data: readonly { readonly id: string }[] };
    for (const { id } of data) {
      const answer = await api.with({ connection: 'close' }).delete(`connections/${id}`);
      expect(answer).toMatchObject({ status: 200, body: { id, deleted: true } });
    }
    expect(await api.delete('connections/ws-unknown')).toMatchObject({ status: 404 });
  });

  it('an instance of two workers says that a worker does not answer, and answers without it', async () => {
    const [hanging] = service.workers() as [number];
    process.kill(hanging, 'SIGSTOP');
    try {
      // Connections that it was given wait with it.
      const answers = [1, 2].map(() => get('activity'));
      expect((await Promise.any(answers)).body).toMatchObject({ processes: { answered: 1, silent: 1 } });
      // One has run in the worker that hangs: nobody knows whether it is remembered.
      const turns = ids.map((id) => [1, 2].map(() => get(`responses/${id}/turn`)));
      const told = await Promise.all(turns.map((requests) => Promise.any(requests)));
      expect(told.map(({ status }) => status).sort()).toEqual([200, 503]);
      process.kill(hanging, 'SIGCONT');
      await Promise.all([...answers, ...turns.flat()]);
    } finally {
      process.kill(hanging, 'SIGCONT');
    }
  });
});
