// Slow: opens each backend for each of its tests.

import { once } from 'node:events';

import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Redis as Client } from 'ioredis';

import type { Tenant } from '../../src/access/index.js';
import { StoreUnavailableError } from '../../src/state/index.js';
import type { RedisSettings } from '../../src/state/redis/connection-options.js';
import type { RedisBackend } from '../../src/state/redis/index.js';
import { LuaScript, run } from '../../src/state/redis/script.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { append, contextFrom, contextOf, newTenant, recordOf, TTL_MS } from '../../src/testing/state/records.js';
import { SystemClock } from '../../src/time/index.js';
import { describeRedis } from '../support/redis/describe-redis.js';
import { startRedisCluster } from '../support/redis/redis-cluster.js';
import { startRedisSentinels } from './redis-sentinels.js';
import { type RedisServer, startRedis } from '../support/redis/redis-server.js';
import { startService } from '../support/service.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { type BackendCall, ready, testOutages } from './outages.js';
import { type OpenedRedis, openRedis, redisOf } from './redis-fixture.js';
import { whenServed } from './when-served.js';

const clock = new SystemClock();

/** Saves responses in parallel lines, and has something happen after the first `before`. Then it saves until that fails. */
async function saveUntil(
  backend: RedisBackend,
  tenant: Tenant,
  before: number,
  happens: () => Promise<void>,
): Promise<readonly string[]> {
  const saved: string[] = [];
  const enough = Promise.withResolvers<undefined>();
  const expiresAt = clock.now() + TTL_MS;
  const saveLine = async (line: number): Promise<unknown> => {
    for (let index = 0; ;) {
      const id = `r-${line}-${index}`;
      const parentId = index === 0 ? null : `r-${line}-${index - 1}`;
      try {
        await backend.responses.save(tenant, recordOf(id, { parentId, expiresAt, sessionId: `r-${line}-0` }));
      } catch (error) {
        if (saved.length >= before) return error;
        // Until then nothing has happened but that a busy machine has delayed it: it is saved again.
        expect(error).toBeInstanceOf(StoreUnavailableError);
        continue;
      }
      index += 1;
      saved.push(id);
      if (saved.length === before) enough.resolve(undefined);
    }
  };
  const lines = Promise.all(Array.from({ length: 8 }, (_, line) => saveLine(line)));
  await enough.promise;
  await happens();
  for (const failure of await lines) expect(failure).toBeInstanceOf(StoreUnavailableError);
  return saved;
}

/** Every one of them has its chain, as soon as the backend can serve: also where another server has to take over first. */
async function expectAll(backend: RedisBackend, tenant: Tenant, ids: readonly string[]): Promise<void> {
  const chains = await Promise.all(ids.map((id) => whenServed(() => backend.responses.chain(tenant, id))));
  expect(chains.map((chain) => chain?.items.length)).toEqual(ids.map((id) => 2 * (Number(id.split('-').at(-1)) + 1)));
}

describeRedis('a backend whose Redis goes away', () => {
  const tenant = newTenant();
  // Its own: other suites keep their connections to that of the test run.
  let server: RedisServer;
  let opened: OpenedRedis;
  let proxy: TcpProxy;
  let throughProxy: Partial<RedisSettings>;
  let backend: RedisBackend;

  beforeAll(async () => {
    server = await startRedis();
    opened = await openRedis(server.url);
    proxy = await TcpProxy.open(server.port);
    throughProxy = { REDIS_URL: `redis://127.0.0.1:${proxy.port}` };
    backend = await opened.replica(throughProxy, clock);
  });
  afterAll(async () => {
    await opened.close();
    await proxy.close();
    await server.stop();
  });

  const calls: readonly BackendCall<RedisBackend>[] = [
    { name: 'get', call: ({ responses }) => responses.get(tenant, 'a') },
    { name: 'save', call: async ({ responses }) => responses.save(tenant, recordOf('a')) },
    { name: 'chain', call: ({ responses }) => responses.chain(tenant, 'a') },
    { name: 'purge', call: ({ responses }) => responses.purge() },
    { name: 'check', call: ({ responses }) => responses.check() },
    { name: 'tryAcquire', call: ({ locks }) => locks.tryAcquire(tenant, 'session', 1) },
    { name: 'find', call: ({ secrets }) => secrets.find('key') },
    { name: 'claim', call: ({ claims }) => claims.claim(tenant, 'approval', 'a', clock.now() + TTL_MS) },
  ];
  const open = (patienceMs: number): Promise<RedisBackend> =>
    opened.replica({ ...throughProxy, REDIS_COMMAND_TIMEOUT_MS: patienceMs }, clock);

  testOutages('Redis', () => ({ proxy, backend, open }), calls);

  // The server of the test run is of one version only.
  it.each([
    ['Redis 7.0 forbids it', "The user executing the script can't run this command or subcommand"],
    [
      'Redis 7.2 and Valkey forbid it',
      "ACL failure in script: User service has no permissions to run the 'del' command",
    ],
  ])('a backend whose Redis goes away is not available either for a script where %s', async (_, reply) => {
    const script = new LuaScript(`return redis.error_reply("ERR ${reply}")`);
    const forbidden = redisOf(opened.backend).write(run(script, ['any']));
    await expect(forbidden).rejects.toBeInstanceOf(StoreUnavailableError);
  });

  it('a backend whose Redis goes away serves at once when only its connections were cut', async () => {
    await ready(backend);
    const client = new Client(server.url);
    for (const id of ['a', 'b', 'c']) {
      await client.call('CLIENT', 'KILL', 'TYPE', 'NORMAL', 'SKIPME', 'YES');
      const session = `cut-${id}`;
      await append(backend.responses, tenant, session, { expiresAt: clock.now() + TTL_MS });
      expect(await contextOf(backend.responses, tenant, session)).toEqual(contextFrom(session));
    }
    client.disconnect();
  });

  it('a backend whose Redis goes away serves at once what comes between the end of a connection and its close', async () => {
    await ready(backend);
    const { stream } = redisOf(backend).client as Client;
    const saved = once(stream, 'end').then(() => backend.responses.save(tenant, recordOf('between')));
    const client = new Client(server.url);
    await client.call('CLIENT', 'KILL', 'TYPE', 'NORMAL', 'SKIPME', 'YES');
    await saved;
    client.disconnect();
  });

  it('a backend whose Redis goes away drops what it holds of others while it hears nothing of their deletions', async () => {
    const other = await opened.replica({}, clock);
    await ready(backend);
    const told: unknown[] = [];
    const waiters = new Map<string, () => void>();
    const tell = (what: unknown): void => {
      told.push(what);
      waiters.get(JSON.stringify(what))?.();
    };
    const until = (what: unknown): Promise<void> =>
      new Promise((resolve) => {
        waiters.set(JSON.stringify(what), resolve);
        if (told.some((one) => JSON.stringify(one) === JSON.stringify(what))) resolve();
      });
    backend.notices.subscribe({
      deleted: (ids) => ids.forEach(tell),
      interrupted: () => tell('interrupted'),
      resumed: () => tell('resumed'),
    });
    await proxy.cut();
    await until('interrupted');
    await proxy.restore();
    await until('resumed');
    await append(other.responses, tenant, 'to delete', { expiresAt: clock.now() + TTL_MS });
    await other.responses.delete(tenant, 'to delete', { cascade: false });
    await until('to delete');
  });
});

describeRedis('a Redis that is full', () => {
  it('a Redis that is full refuses saves and goes on with reads, and takes saves again', async () => {
    await using server = await startRedis();
    await using opened = await openRedis(server.url);
    const { responses } = opened.backend;
    const tenant = newTenant();
    await append(responses, tenant, 'before');
    const client = new Client(server.port);
    await client.config('SET', 'maxmemory', '1');
    const failure: unknown = await append(responses, tenant, 'full').catch((error: unknown) => error);
    expect((failure as StoreUnavailableError).toApiError()).toMatchObject({ status: 503, code: 'service_unavailable' });
    expect(await contextOf(responses, tenant, 'before')).toEqual(contextFrom('before'));
    expect(await responses.get(tenant, 'full')).toBeUndefined();
    await responses.check();
    await responses.delete(tenant, 'before', { cascade: false });
    await client.config('SET', 'maxmemory', '0');
    client.disconnect();
    await append(responses, tenant, 'after');
  });

  it('a Redis that is busy with a script that is killed refuses what waits for it, and goes on', async () => {
    await using server = await startRedis('--lua-time-limit', '10');
    await using opened = await openRedis(server.url);
    const { responses } = await opened.replica();
    const tenant = newTenant();
    await append(responses, tenant, 'before');
    // The driver asks a server for more than PING when it connects.
    const client = new Client(server.port);
    await client.ping();
    const endless = redisOf(opened.backend).write(run(new LuaScript('while true do end'), ['any']));
    const killed = expect(endless).rejects.toBeInstanceOf(StoreUnavailableError);
    while (!(await client.ping().catch(String)).includes('BUSY'));
    for (const call of [responses.check(), responses.get(tenant, 'before'), append(responses, tenant, 'busy')]) {
      await expect(call).rejects.toBeInstanceOf(StoreUnavailableError);
    }
    await client.script('KILL');
    client.disconnect();
    await killed;
    expect(await contextOf(responses, tenant, 'before')).toEqual(contextFrom('before'));
    await append(responses, tenant, 'after');
  });

  it('a Redis whose password is changed under a backend is not available, until it takes the password again', async () => {
    await using server = await startRedis('--requirepass', 'right');
    await using opened = await openRedis(server.url.replace('//', '//:right@'));
    const { responses } = opened.backend;
    const tenant = newTenant();
    await append(responses, tenant, 'before');
    const client = new Client(server.port, { password: 'right' });
    await client.config('SET', 'requirepass', 'wrong');
    await client.call('CLIENT', 'KILL', 'SKIPME', 'yes');
    for (const id of ['first', 'second']) {
      const failure: unknown = await append(responses, tenant, id).catch((error: unknown) => error);
      expect((failure as StoreUnavailableError).toApiError()).toMatchObject({
        status: 503,
        code: 'service_unavailable',
      });
    }
    await client.config('SET', 'requirepass', 'right');
    client.disconnect();
    await ready(opened.backend);
    await append(responses, tenant, 'after');
    expect(await contextOf(responses, tenant, 'before')).toEqual(contextFrom('before'));
  });
});

describeRedis('a Redis that is full while a background turn runs', () => {
  it('a background turn waits for room in a Redis that is full, and ends', async () => {
    await using redis = await startRedis();
    await using service = await startService({
      providers: [ScriptedProvider],
      environment: { STATE: 'redis', REDIS_URL: redis.url, BACKGROUND_MAX_ATTEMPTS: 1 },
    });
    const client = new Client(redis.port);
    const provider = service.app.get(ScriptedProvider);
    const started = Promise.withResolvers<undefined>();
    const room = Promise.withResolvers<undefined>();
    provider.play(async function* () {
      started.resolve(undefined);
      await room.promise;
      yield { type: 'text', delta: 'ok' };
      yield { type: 'finish', reason: 'stop' };
    });
    const openai = service.client();
    const { id } = await openai.responses.create({ model: 'any', input: 'Hello', background: true });
    await started.promise;
    await client.config('SET', 'maxmemory', '1');
    room.resolve(undefined);
    const refusals = async (): Promise<number> =>
      Number(/errorstat_OOM:count=(\d+)/.exec(await client.info('errorstats'))?.[1] ?? 0);
    while ((await refusals()) < 3) await clock.sleep(10);
    await client.config('SET', 'maxmemory', '0');
    let { status } = await openai.responses.retrieve(id);
    while (status === 'queued' || status === 'in_progress') ({ status } = await openai.responses.retrieve(id));
    expect(status).toBe('completed');
    client.disconnect();
  });
});

describeRedis('a Redis that crashes', () => {
  it('a Redis that crashed has everything that it confirmed with appendfsync always, and knows the scripts again', async () => {
    await using server = await startRedis('--appendonly', 'yes', '--appendfsync', 'always');
    await using opened = await openRedis(server.url);
    const backend = await opened.replica({}, clock);
    const tenant = newTenant();
    const saved = await saveUntil(backend, tenant, 100, () => server.crash());
    await server.resume();
    await ready(backend);
    await expectAll(backend, tenant, saved);
  });

  it.each([
    { name: 'Sentinels', start: startRedisSentinels },
    { name: 'a cluster', start: () => startRedisCluster(1) },
  ])('a promoted replica of Redis has everything that it confirmed: $name', async ({ start }) => {
    await using servers = await start();
    await using opened = await openRedis(servers.url);
    const backend = await opened.replica({ REDIS_WAIT_REPLICAS: 1, REDIS_COMMAND_TIMEOUT_MS: 2000 }, clock);
    const tenant = newTenant();
    await ready(backend);
    const saved = await saveUntil(backend, tenant, 100, () => servers.losePrimary());
    await expectAll(backend, tenant, saved);
  });

  it('a backend refuses a save that too few replicas confirm', async () => {
    await using primary = await startRedis('--repl-diskless-sync-delay', '0');
    await using replica = await startRedis('--replicaof', '127.0.0.1', String(primary.port));
    await using opened = await openRedis(primary.url);
    const backend = await opened.replica({ REDIS_WAIT_REPLICAS: 1, REDIS_COMMAND_TIMEOUT_MS: 2500 }, clock);
    await ready(backend);
    await whenServed(() => append(backend.responses, newTenant(), 'a'));
    await replica.crash();
    const tenant = newTenant();
    const save = (): Promise<unknown> => append(backend.responses, tenant, 'b').catch((error: unknown) => error);
    let failure = await save();
    // What stands still for half a second meanwhile has waited too long itself.
    while (/timed out/.test(String(failure))) failure = await save();
    expect(failure).toBeInstanceOf(StoreUnavailableError);
    expect(String(failure)).toMatch(/0 replicas .*REDIS_WAIT_REPLICAS is 1/);
    await expect(backend.responses.check()).rejects.toBeInstanceOf(StoreUnavailableError);
    expect(await whenServed(() => backend.responses.get(tenant, 'none'))).toBeUndefined();
  });
});
