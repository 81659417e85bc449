import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import {
  cancelResponse,
  createResponse,
  deleteResponse,
  expectWhole,
  follow,
  getResponse,
  readWhole,
} from '../support/background/background-client.js';
import { type HeldModels, openModels } from '../support/background/held-models.js';
import { countLeftovers, NOTHING_LEFT } from './job-table.js';
import { inParallel } from '../support/in-parallel.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres/test-database.js';
import { endProcesses, type ServiceProcess, startProcess } from '../support/process-service.js';

const STALL = { breaks: { after: 4, by: 'stall' } } as const;
const RACES = 50;

describe('a response that is cancelled on two replicas', () => {
  let database: TestDatabase;
  let models: HeldModels<'slow' | 'quick'>;
  let server: ServiceProcess;
  let worker: ServiceProcess;

  beforeAll(async () => {
    database = await createTestDatabase();
    models = await openModels('slow', 'quick');
    const environment = {
      STATE: 'postgres',
      DATABASE_URL: database.url,
      PROVIDERS_FILE: models.providersFile,
      LOG_LEVEL: 'error',
      // A worker finds out by its signs of life too, a quarter of the lease apart.
      BACKGROUND_LEASE: '3600',
    };
    [server, worker] = await Promise.all([
      startProcess({ ...environment, BACKGROUND_MAX_RUNNING: '0' }),
      startProcess(environment),
    ]);
  });

  afterAll(async () => {
    await endProcesses();
    await models[Symbol.asyncDispose]();
    await database.drop();
  });

  it('a cancellation stops the model on the other replica by a notice', async () => {
    const { slow } = models.upstreams;
    const number = slow.requests.length + 1;
    slow.answer({ text: ['half', ' a', ' b', ' c'] }, STALL);
    const { id } = await createResponse(server, { model: 'slow' });
    const stream = await follow(server, id);
    await stream.until('half');
    const request = await slow.received(number);
    const cancelled = cancelResponse(server, id);
    await request.closed;
    const response = await cancelled;
    expect(response).toMatchObject({ status: 'cancelled', completed_at: null, usage: null });
    expect(response.output).toMatchObject([{ status: 'incomplete', content: [{ text: 'half a b' }] }]);
    expect(await getResponse(worker, id)).toEqual(await getResponse(server, id));
    await expectWhole(worker, id, await stream.whole);
    for (const replica of [server, worker]) {
      expect(await cancelResponse(replica, id)).toEqual(response);
      await readWhole(replica, id);
    }
  });

  it('two replicas that cancel a response at once, and at any time, give the same', async () => {
    const { quick } = models.upstreams;
    quick.always({ reasoning: 'Hmm.', text: ['All', ' is', ' said'] });
    const places = [
      'queued',
      'in_progress',
      'reasoning_text.done',
      'output_text.delta',
      'output_item.done',
      'completed',
    ];
    await inParallel(
      Array.from({ length: RACES }, (_, round) => round),
      5,
      async (round) => {
        const { id } = await createResponse(server, { model: 'quick' });
        const stream = await follow(server, id);
        await stream.until(`event: response.${places[round % places.length] ?? ''}`);
        const [one, two] = await Promise.all([cancelResponse(server, id), cancelResponse(worker, id)]);
        expect(two).toEqual(one);
        const { status, output } = await expectWhole(worker, id, await stream.whole);
        expect({ status, output }).toEqual({ status: one.status, output: one.output });
        expect(status === 'cancelled' || output.length === 2).toBe(true);
      },
    );
  });

  it('a cancelled response leaves nothing behind once it is deleted, and a deletion stops its model', async () => {
    const { slow } = models.upstreams;
    const number = slow.requests.length + 1;
    slow.answer({ text: ['half', ' a', ' b', ' c'] }, STALL);
    const { id } = await createResponse(worker, { model: 'slow' });
    const stream = await follow(worker, id);
    await stream.until('half');
    await deleteResponse(server, id);
    await (
      await slow.received(number)
    ).closed;
    const ids = await database.query('SELECT id FROM antiphon.responses');
    await inParallel(ids, 8, (row) => deleteResponse(server, String(row['id'])));
    for (const service of [worker, server]) service.kill('SIGTERM');
    await Promise.all([worker.exited, server.exited]);
    expect(await countLeftovers(database)).toEqual(NOTHING_LEFT);
  });
});
