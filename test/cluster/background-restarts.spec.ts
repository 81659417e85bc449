// Slow: starts the built service as several processes, and ends them.

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { createResponse, deleteResponse, expectWhole, readOn } from '../support/background/background-client.js';
import { countLeftovers, loseWorkers, NOTHING_LEFT } from './job-table.js';
import { Balancer } from './balancer.js';
import { inParallel } from '../support/in-parallel.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres/test-database.js';
import { pause } from '../support/pause.js';
import { endProcesses, type ServiceProcess, startProcess } from '../support/process-service.js';
import { RawClient } from '../support/raw-client.js';
import { onStablePort } from '../support/ports.js';

type Variables = Readonly<Record<string, string>>;

let database: TestDatabase;

beforeEach(async () => {
  database = await createTestDatabase();
});

afterEach(async () => {
  await endProcesses();
  await database.drop();
});

function start(variables: Variables, port?: number): Promise<ServiceProcess> {
  const startOn = (port: number): Promise<ServiceProcess> =>
    startProcess({
      STATE: 'postgres',
      DATABASE_URL: database.url,
      LOG_LEVEL: 'error',
      SSE_KEEPALIVE_MS: '600000',
      SIMULATOR_BACKGROUND_LATENCY: '100/8',
      BACKGROUND_MAX_RUNNING: '12',
      // A process that stands still for long is not taken for dead.
      BACKGROUND_LEASE: '3600',
      // Less than a turn takes: those that run are handed back.
      DRAIN_TIMEOUT_MS: '100',
      ...variables,
      PORT: String(port),
    });
  return port === undefined ? onStablePort(startOn) : startOn(port);
}

/** How a replica is restarted. */
interface Restart {
  readonly signal: NodeJS.Signals;
  readonly attempts: string;
  /** Responses that are created; when half of them are acknowledged, the first replica is restarted. */
  readonly count: number;
}

describe('two replicas, one of them with two workers, of which one after the other', () => {
  it.each<[string, Restart]>([
    // What is handed back counts as no attempt.
    ['is restarted in order', { signal: 'SIGTERM', attempts: '1', count: 48 }],
    ['is killed and replaced', { signal: 'SIGKILL', attempts: '3', count: 36 }],
  ])(
    '%s: every acknowledged response completes, once, in a stream without a gap',
    async (_, { signal, attempts, count }) => {
      const variables: readonly Variables[] = ['2', '1'].map((WORKERS) => ({
        WORKERS,
        BACKGROUND_MAX_ATTEMPTS: attempts,
      }));
      const restart = async (replica: ServiceProcess, own: Variables): Promise<ServiceProcess> => {
        replica.kill(signal);
        const { code, stderr } = await replica.exited;
        expect({ code, stderr }).toEqual({ code: signal === 'SIGKILL' ? null : 0, stderr: '' });
        const next = await start(own, replica.port);
        if (signal === 'SIGKILL') await loseWorkers(database);
        return next;
      };
      const replicas = await Promise.all(variables.map((own) => start(own)));
      const [one, two] = replicas as [ServiceProcess, ServiceProcess];
      await using balancer = await Balancer.open([one.port, two.port]);
      const clients = Array.from({ length: 6 }, () => new RawClient(balancer.port));
      const reading: Promise<readonly [id: string, text: string]>[] = [];
      const halfway = Promise.withResolvers<undefined>();
      const creating = inParallel(
        Array.from({ length: count }, (_, index) => index),
        clients.length,
        async (index) => {
          const client = clients[index % clients.length] as RawClient;
          for (;;) {
            try {
              const input = `Question ${index}`;
              const { id } = await createResponse({ ...one, client }, { input, text: { verbosity: 'low' } });
              reading.push(readOn(balancer, id).then((text) => [id, text]));
              if (reading.length === count / 2) halfway.resolve(undefined);
              return;
            } catch {
              // Refused by a replica that ends: not acknowledged.
              await pause();
            }
          }
        },
      );
      await halfway.promise;
      const first = await restart(one, variables[0] ?? {});
      await restart(two, variables[1] ?? {});
      await creating;

      const streams = await Promise.all(reading);
      expect(new Set(streams.map(([id]) => id)).size).toBe(count);
      await inParallel(streams, 8, async ([id, text]) => {
        expect(await expectWhole(first, id, text)).toMatchObject({
          status: 'completed',
          output: [{ type: 'message' }],
        });
      });
      for (const client of clients) client.close();

      const left = await database.query('SELECT id FROM antiphon.responses');
      await inParallel(left, 8, ({ id }) => deleteResponse(first, String(id)));
      expect(await countLeftovers(database)).toEqual(NOTHING_LEFT);
    },
  );
});
