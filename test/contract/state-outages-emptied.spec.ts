import { afterEach, describe, expect, it } from '@jest/globals';
import { Redis as Client } from 'ioredis';

import { ScriptedProvider } from '../../src/testing/index.js';
import { ApiClient } from '../support/api-client.js';
import { HeldTurns } from '../support/held-turns.js';
import { pause } from '../support/pause.js';
import { createTestDatabase } from '../support/postgres/test-database.js';
import { startRedis } from '../support/redis/redis-server.js';
import { type Service, startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';

/** A storage that can be emptied. */
interface Storage extends AsyncDisposable {
  readonly environment: Readonly<Record<string, string>>;
  empty(): Promise<unknown>;
}

async function openDatabase(): Promise<Storage> {
  const database = await createTestDatabase();
  return {
    environment: { STATE: 'postgres', DATABASE_URL: database.url },
    empty: () =>
      database.query(`DO $$ DECLARE names text; BEGIN
        SELECT string_agg(format('%I.%I', schemaname, tablename), ', ') INTO names FROM pg_tables
          WHERE schemaname = 'antiphon' AND tablename <> 'migrations' OR schemaname = 'antiphon_jobs' AND tablename LIKE 'job%';
        EXECUTE 'TRUNCATE ' || names || ' CASCADE'; END $$`),
    [Symbol.asyncDispose]: () => database.drop(),
  };
}

async function openRedis(): Promise<Storage> {
  const server = await startRedis();
  const admin = new Client(server.port);
  return {
    environment: { STATE: 'redis', REDIS_URL: server.url },
    empty: () => Promise.all([admin.flushall(), admin.script('FLUSH')]),
    [Symbol.asyncDispose]: async () => {
      admin.disconnect();
      await server[Symbol.asyncDispose]();
    },
  };
}

const STORAGES = [
  ['PostgreSQL', openDatabase] as const,
  // Redis is there where the test run found a server.
  ...(process.env['TEST_REDIS_URL'] === undefined ? [] : [['Redis', openRedis] as const]),
];

describe('a storage that is emptied while a service uses it', () => {
  let storage: Storage | undefined;
  let service: Service | undefined;

  afterEach(async () => {
    await service?.close();
    await storage?.[Symbol.asyncDispose]();
    storage = service = undefined;
  });

  it.each(STORAGES)('turns over an emptied %s all end, and later ones are stored', async (_, open) => {
    storage = await open();
    service = await startService({
      providers: [ScriptedProvider],
      environment: { ...storage.environment, WS_SESSION_LOCK: true },
    });
    const api = new ApiClient(service.baseURL);
    const parent = await api.create({});
    const { body: conversation } = await api.post('conversations', {});
    const turns = new HeldTurns(service.app.get(ScriptedProvider)).hold(6);
    const ask = (input: string, body: object = {}): Record<string, unknown> => ({ model: 'scripted', input, ...body });
    const post = (body: object): Promise<number> => api.post('responses', body).then(({ status }) => status);
    await using socket = await SocketClient.open(service);
    const statuses = [
      post(ask('alone')),
      post(ask('continued', { previous_response_id: parent.id })),
      post(ask('conversation', { conversation: conversation['id'] })),
      api
        .with({ 'x-session-id': 'one' })
        .post('responses', ask('session'))
        .then(({ status }) => status),
    ];
    const overSocket = socket.turn(ask('socket', { previous_response_id: parent.id })).then(
      () => 200,
      () => 503,
    );
    const { body: background } = await api.post('responses', ask('background', { background: true }));
    await turns.whenBegun(6);
    await storage.empty();
    turns.letAllGo();
    for (const status of await Promise.all([...statuses, overSocket])) expect([200, 503]).toContain(status);
    // Nothing knows of it any more; the attempt that runs ends by itself.
    while (turns.running > 0) await pause();
    expect((await api.get(`responses/${String(background['id'])}`)).status).toBe(404);
    expect((await api.get(`responses/${parent.id}`)).status).toBe(404);
    expect((await fetch(`${service.origin}/readyz`)).status).toBe(200);
    const { id } = await api.create({});
    await api.create({ previous_response_id: id });
    const again = await api.post('conversations', {});
    expect(await post(ask('later', { conversation: again.body['id'] }))).toBe(200);
    const { body: later } = await api.post('responses', ask('later', { background: true }));
    let status = later['status'];
    while (status === 'queued' || status === 'in_progress') {
      await pause();
      status = (await api.get(`responses/${String(later['id'])}`)).body['status'];
    }
    expect(status).toBe('completed');
  });
});
