import { afterEach, describe, expect, it } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Redis as Client } from 'ioredis';

import { ScriptedProvider } from '../../src/testing/index.js';
import { routesOf } from '../access/routes-of.js';
import { grantService } from '../state/postgres-fixture.js';
import { ApiClient } from '../support/api-client.js';
import { createTestDatabase, type TestDatabase } from '../support/postgres/test-database.js';
import { startRedis } from '../support/redis/redis-server.js';
import { pause } from '../support/pause.js';
import { type Service, SLOW_REFUSALS, startService } from '../support/service.js';
import { ServiceLog } from '../support/service-log.js';
import { SocketClient } from '../support/socket-client.js';

const UNAVAILABLE = { type: 'service_unavailable_error', code: 'service_unavailable' };
const ROLE = `unfit_${process.pid}`;

/** A storage whose operator takes something away while a service uses it. */
interface Storage extends AsyncDisposable {
  readonly environment: Readonly<Record<string, string>>;
  take(): Promise<unknown>;
  giveBack(): Promise<unknown>;
}

async function openDatabase(steps: {
  readonly take: readonly string[];
  readonly giveBack: (database: TestDatabase) => Promise<unknown>;
}): Promise<Storage> {
  const database = await createTestDatabase();
  await database.query(`CREATE ROLE ${ROLE} LOGIN PASSWORD 'secret'`);
  await grantService(database, ROLE);
  const url = Object.assign(new URL(database.url), { username: ROLE, password: 'secret' });
  return {
    environment: { STATE: 'postgres', DATABASE_URL: url.href, DATABASE_MIGRATE: 'false' },
    take: async () => {
      for (const step of steps.take) await database.query(step);
    },
    giveBack: () => steps.giveBack(database),
    [Symbol.asyncDispose]: async () => {
      await database.query(`DROP OWNED BY ${ROLE}`);
      await database.query(`DROP ROLE ${ROLE}`);
      await database.drop();
    },
  };
}

/** Tables do not come back with an empty schema: they are moved to another one, and back. */
const moveTables = (from: string, to: string): string => `DO $$ DECLARE one record; BEGIN
  FOR one IN SELECT tablename FROM pg_tables WHERE schemaname = '${from}' LOOP
    EXECUTE format('ALTER TABLE ${from}.%I SET SCHEMA ${to}', one.tablename);
  END LOOP; END $$`;

async function openRedis(rules: readonly string[]): Promise<Storage> {
  const server = await startRedis();
  const admin = new Client(server.port);
  const give = (): Promise<unknown> => admin.acl('SETUSER', 'service', 'reset', 'on', '>secret', '~*', '&*', '+@all');
  await give();
  return {
    environment: { STATE: 'redis', REDIS_URL: server.url.replace('//', '//service:secret@') },
    take: () => admin.acl('SETUSER', 'service', ...rules),
    giveBack: give,
    [Symbol.asyncDispose]: async () => {
      admin.disconnect();
      await server[Symbol.asyncDispose]();
    },
  };
}

type Unfit = readonly [what: string, reason: RegExp, open: () => Promise<Storage>];

/** Redis is there where the test run found a server. */
const REDIS_RULES =
  process.env['TEST_REDIS_URL'] === undefined
    ? []
    : ['resetkeys ~other:*', '-@all', '-eval -evalsha', '-@write', 'resetchannels &other:*'];
/** What can still be read where only this is forbidden is answered. */
const IN_PART = /-eval|-@write|resetchannels/;

const STORAGES: readonly Unfit[] = [
  [
    'PostgreSQL without its tables',
    /the database lacks antiphon\.responses, antiphon\.items/,
    () =>
      openDatabase({
        take: ['CREATE SCHEMA gone', moveTables('antiphon', 'gone')],
        giveBack: (database) => database.query(`${moveTables('gone', 'antiphon')}; DROP SCHEMA gone`),
      }),
  ],
  [
    'PostgreSQL without rights on its tables',
    /the role may not use antiphon\.responses, antiphon\.items/,
    () =>
      openDatabase({
        take: ['antiphon', 'antiphon_jobs'].map(
          (schema) => `REVOKE ALL ON ALL TABLES IN SCHEMA ${schema} FROM ${ROLE}`,
        ),
        giveBack: (database) => grantService(database, ROLE),
      }),
  ],
  [
    'PostgreSQL without rights on its schema',
    /permission denied for schema antiphon/,
    () =>
      openDatabase({
        take: [`REVOKE ALL ON SCHEMA antiphon FROM ${ROLE}`],
        giveBack: (database) => grantService(database, ROLE),
      }),
  ],
  ...REDIS_RULES.map((rules): Unfit => [
    `Redis with ${rules}`,
    /Redis is not available: (?:.*permission|ERR The user executing)/,
    () => openRedis(rules.split(' ')),
  ]),
];

/** Routes that cannot answer without a state. */
const READS = [
  ...['', '/:id', '/:id/input_items', '/:id/children', '/:id/tree'].map((path) => `GET responses${path}`),
  ...['GET conversations/:id', 'DELETE conversations/:id', 'GET sessions/:id/responses', 'DELETE sessions/:id'],
  ...['DELETE responses/:id', 'GET usage', 'GET chat/completions'],
];
/** Those of the library, which Redis does not keep. */
const LIBRARY_READS = ['files', 'files/:id', 'vector_stores', 'vector_stores/:id'].map((path) => `GET ${path}`);

describe('a storage that its operator has made unfit', () => {
  let storage: Storage | undefined;
  let service: Service | undefined;

  afterEach(async () => {
    await service?.close();
    await storage?.[Symbol.asyncDispose]();
    storage = service = undefined;
  });

  it.each(STORAGES)('the service answers 503 for %s, and goes on once it is put right', async (what, reason, open) => {
    Logger.overrideLogger(false);
    storage = await open();
    service = await startService({
      providers: [ScriptedProvider],
      environment: { ...SLOW_REFUSALS, ...storage.environment },
    });
    using log = ServiceLog.begin();
    const { origin, baseURL } = service;
    const api = new ApiClient(baseURL);
    const kept = await api.create({});
    const before = (await api.get(`responses/${kept.id}`)).body;
    await storage.take();

    const ready = await fetch(`${origin}/readyz`);
    expect([ready.status, await ready.text()]).toEqual([503, '{"status":"unavailable"}']);
    expect(log.text).toMatch(reason);
    const statuses: (readonly [route: string, status: number])[] = [];
    for (const route of routesOf(service)) {
      const [method = '', path = ''] = route.split(' ');
      const url = `${baseURL}/${path.replace(/:\w+/g, 'unknown')}`;
      const json = { headers: { 'content-type': 'application/json' }, body: '{}' };
      const answer = await fetch(url, { method, ...(method === 'POST' ? json : {}) });
      await answer.body?.cancel();
      statuses.push([route, answer.status]);
    }
    expect(statuses.filter(([, status]) => status === 500)).toEqual([]);
    const isLibrary = storage.environment['STATE'] === 'postgres';
    const reads = [...READS, ...(isLibrary ? LIBRARY_READS : [])];
    const answers = new Map(statuses);
    const expected = IN_PART.test(what) ? [] : reads.map((route) => [route, 503]);
    expect(expected.map(([route = '']) => [route, answers.get(String(route))])).toEqual(expected);
    const form = new FormData();
    form.set('purpose', 'user_data');
    form.set('file', new Blob(['text']), 'a.txt');
    const writes = [
      api.post('responses', { model: 'scripted', input: 'Hi' }),
      api.post('responses', { model: 'scripted', input: 'Hi', background: true }),
      api.post('conversations', {}),
      api.post('chat/completions', { model: 'scripted', messages: [{ role: 'user', content: 'Hi' }], store: true }),
      ...(isLibrary ? [api.send('POST', 'files', form)] : []),
    ];
    for (const { status, body } of await Promise.all(writes)) {
      if (!what.includes('channels'))
        expect({ status, body }).toEqual({ status: 503, body: { error: expect.objectContaining(UNAVAILABLE) } });
    }
    await using socket = await SocketClient.open(service);
    const refusal = what.includes('channels') ? undefined : await socket.refusal({ model: 'scripted', input: 'Hi' });
    if (refusal !== undefined) expect(refusal).toMatchObject({ status: 503, error: UNAVAILABLE });

    await storage.giveBack();
    while ((await fetch(`${origin}/readyz`)).status !== 200) await pause();
    expect((await api.get(`responses/${kept.id}`)).body).toEqual(before);
    await api.create({ previous_response_id: kept.id });
    await socket.turn({ model: 'scripted', input: 'Hi', previous_response_id: kept.id });
  });
});
