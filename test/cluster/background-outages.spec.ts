// Slow: starts the built service as several processes, and ends them.

import { afterEach, describe, expect, it } from '@jest/globals';

import {
  createResponse,
  deleteResponse,
  expectSameAfterEvery,
  expectWhole,
  follow,
  getResponse,
  readWhole,
} from '../support/background/background-client.js';
import { openModels } from '../support/background/held-models.js';
import { countLeftovers, loseWorkers, NOTHING_LEFT } from './job-table.js';
import { startCluster } from '../support/postgres/cluster.js';
import { createEmptyDatabase } from '../support/postgres/test-database.js';
import { pause } from '../support/pause.js';
import { endProcesses, type ServiceProcess, startProcess } from '../support/process-service.js';

const RUNNING = 4;
const PIECES = Array.from({ length: 30 }, (_, index) => ` word${index}`);

afterEach(endProcesses);

/** Resolves when a service can serve. */
async function ready({ client }: ServiceProcess): Promise<void> {
  while ((await client.send({ path: '/readyz' })).status !== 200) await pause();
}

describe('a database that crashes while background turns run and wait', () => {
  it('background turns wait for a database that crashes: their streams have no gap, and every response completes', async () => {
    await using cluster = await startCluster();
    const database = await createEmptyDatabase(cluster.url());
    await using models = await openModels('a');
    const { a } = models.upstreams;
    const environment = {
      STATE: 'postgres',
      DATABASE_URL: database.url,
      PROVIDERS_FILE: models.providersFile,
      LOG_LEVEL: 'error',
      SSE_KEEPALIVE_MS: '600000',
      BACKGROUND_MAX_RUNNING: String(RUNNING),
    };
    const [server, worker] = await Promise.all([
      startProcess({ ...environment, BACKGROUND_MAX_RUNNING: '0' }),
      startProcess(environment),
    ]);
    a.always({ text: PIECES }).hold();
    const ids: string[] = [];
    for (let count = 0; count < RUNNING + 2; count += 1) ids.push((await createResponse(server, { model: 'a' })).id);
    await a.received(RUNNING);
    a.release(RUNNING * 5);
    const readers = await Promise.all(ids.map((id, index) => follow(index % 2 === 0 ? server : worker, id)));
    await Promise.all(readers.slice(0, RUNNING).map((reader) => reader.until('word0')));

    await cluster.crash();
    // The models go on, and end, while nothing can be stored.
    a.release();
    const refused = await server.client.post(JSON.stringify({ model: 'a', input: 'Hi', background: true }));
    expect({ status: refused.status, retry: refused.headers['retry-after'] }).toEqual({
      status: 503,
      retry: expect.stringMatching(/^[1-9]/),
    });
    expect((await server.client.send({ path: `/v1/responses/${ids[0] ?? ''}?stream=true` })).status).toBe(503);
    expect((await server.client.send({ method: 'POST', path: `/v1/responses/${ids[0] ?? ''}/cancel` })).status).toBe(
      503,
    );
    await cluster.resume();
    await Promise.all([ready(server), ready(worker)]);

    const wholes = await Promise.all(readers.map((reader) => reader.whole));
    for (const [index, id] of ids.entries()) {
      const whole = wholes[index] ?? '';
      expect(await expectWhole(worker, id, whole)).toMatchObject({
        status: 'completed',
        output: [{ content: [{ text: PIECES.join('') }] }],
      });
      expect(await getResponse(server, id)).toEqual(await getResponse(worker, id));
    }
    // The models were asked once for each: no run was lost.
    expect(a.requests.length).toBe(ids.length);
    await readWhole(worker, ids[0] ?? '');
    await expectSameAfterEvery([server, worker], ids[0] ?? '', wholes[0] ?? '');
    for (const id of ids) await deleteResponse(server, id);
    for (const service of [server, worker]) service.kill('SIGTERM');
    expect(await Promise.all([server.exited, worker.exited])).toMatchObject([{ code: 0 }, { code: 0 }]);
    expect(await countLeftovers(database)).toEqual(NOTHING_LEFT);
    await database.drop();
  });

  it('a database that crashes takes no turn along when a process ends in order meanwhile', async () => {
    await using cluster = await startCluster();
    const database = await createEmptyDatabase(cluster.url());
    await using models = await openModels('a');
    const { a } = models.upstreams;
    const environment = {
      STATE: 'postgres',
      DATABASE_URL: database.url,
      PROVIDERS_FILE: models.providersFile,
      LOG_LEVEL: 'fatal',
      DRAIN_TIMEOUT_MS: '100',
    };
    const worker = await startProcess(environment);
    a.hold().answer({ text: PIECES }).answer({ text: 'whole' });
    a.release(5);
    const { id } = await createResponse(worker, { model: 'a' });
    await (await follow(worker, id)).until('word0');
    const request = await a.received(1);
    await cluster.crash();
    worker.kill('SIGTERM');
    await request.closed;
    expect(await worker.exited).toMatchObject({ code: 0, stderr: '' });
    a.release();
    await cluster.resume();
    const heir = await startProcess(environment);
    await loseWorkers(database);
    expect(await readWhole(heir, id)).toMatchObject({
      status: 'completed',
      output: [{ content: [{ text: 'whole' }] }],
    });
    heir.kill('SIGTERM');
    await heir.exited;
    await database.drop();
  });
});
