// Slow: opens each backend for each of its tests.

import { execFile } from 'node:child_process';
import { mkdtemp, rename, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';

import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import { Redis as Client } from 'ioredis';

import { Environment } from '../../src/config/index.js';
import { StateStartError, StoreUnavailableError } from '../../src/state/index.js';
import type { RedisSettings } from '../../src/state/redis/connection-options.js';
import { RedisBackend } from '../../src/state/redis/index.js';
import { FakeClock } from '../../src/testing/index.js';
import { SystemClock } from '../../src/time/index.js';
import { ServiceLog } from '../support/service-log.js';
import { describeRedis } from '../support/redis/describe-redis.js';
import { startRedisCluster } from '../support/redis/redis-cluster.js';
import { startRedisSentinels } from './redis-sentinels.js';
import { startRedis } from '../support/redis/redis-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';

/** A certificate for 127.0.0.1 that signs itself. */
interface Certificate {
  readonly certificate: string;
  readonly key: string;
}

/** Makes one in a directory, with `openssl`. */
async function makeCertificate(directory: string): Promise<Certificate> {
  const key = join(directory, 'key.pem');
  const certificate = join(directory, 'certificate.pem');
  const subject = ['-subj', '/CN=127.0.0.1', '-addext', 'subjectAltName=IP:127.0.0.1'];
  const files = ['-keyout', key, '-out', certificate];
  const kind = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-days', '2'];
  await promisify(execFile)('openssl', ['req', '-x509', ...kind, ...subject, ...files]);
  return { certificate, key };
}

describeRedis('the start of a backend over Redis', () => {
  const clock = new SystemClock();
  let backends: RedisBackend[];

  beforeEach(() => {
    Logger.overrideLogger(false);
    backends = [];
  });
  afterEach(async () => {
    await Promise.all(backends.map((backend) => backend.stop()));
  });

  const backendFor = (url: string, overrides: Partial<RedisSettings> = {}): RedisBackend => {
    const backend = new RedisBackend(Object.assign(new Environment(), { REDIS_URL: url }, overrides), clock);
    backends.push(backend);
    return backend;
  };
  const expectServed = async (url: string, overrides?: Partial<RedisSettings>): Promise<void> => {
    const backend = backendFor(url, overrides);
    await backend.start();
    expect(await backend.secrets.getOrCreate('key', 'value')).toBe('value');
    expect(await backend.secrets.find('key')).toBe('value');
  };
  const expectRefused = async (url: string, reason: RegExp): Promise<void> => {
    const start = backendFor(url).start();
    await expect(start).rejects.toBeInstanceOf(StateStartError);
    await expect(start).rejects.toThrow(reason);
    await expect(start).rejects.not.toThrow('secret');
  };
  /** A server that takes connections over TLS at `tlsPort`. */
  const startWithTls = async (certificate: string, key: string) => {
    const files = ['--tls-cert-file', certificate, '--tls-key-file', key, '--tls-ca-cert-file', certificate];
    await using free = await TcpProxy.open(1);
    await free.close();
    const server = await startRedis(...files, '--tls-auth-clients', 'no', '--tls-port', String(free.port));
    expect(server.port).toBeGreaterThan(0);
    return Object.assign(server, { tlsPort: free.port });
  };
  const untilServed = async (backend: RedisBackend): Promise<void> => {
    while (await backend.secrets.find('key').catch((error: unknown) => error)) await clock.sleep(10);
  };

  it('the start over Redis is refused with a wrong password, and without one', async () => {
    await using server = await startRedis('--requirepass', 'right');
    await expectServed(server.url.replace('//', '//:right@'));
    await expectRefused(server.url.replace('//', '//:secret@'), /^REDIS_URL: .*WRONGPASS/);
    await expectRefused(server.url.replace('//', '//nobody:secret@'), /^REDIS_URL: .*WRONGPASS/);
    await expectRefused(server.url, /^REDIS_URL: .*NOAUTH/);
  });

  it.each(['-eval', '-publish', '-info', '~other:*'])(
    'the start over Redis is refused with a user whose rules are %s',
    async (rule) => {
      await using server = await startRedis();
      const admin = new Client(server.port);
      const keys = rule.startsWith('~') ? rule : '~*';
      await admin.acl('SETUSER', 'limited', 'on', '>secret', '&*', '+@all', keys, ...(keys === rule ? [] : [rule]));
      admin.disconnect();
      await expectRefused(server.url.replace('//', '//limited:secret@'), /^REDIS_URL: .*(?:NOPERM|permission)/);
    },
  );

  it('the start over Redis is refused with a database that is not there', async () => {
    await using server = await startRedis();
    await expectRefused(`${server.url}/99`, /^REDIS_URL: .*DB index/);
  });

  it('a backend over Redis keeps what it stores in the database that is named', async () => {
    await using server = await startRedis();
    await expectServed(`${server.url}/3`, { REDIS_PREFIX: 'p' });
    const client = new Client(server.port, { db: 3 });
    expect(await client.get('p:secret:key')).toBe('value');
    client.disconnect();
  });

  it.each(['allkeys-lru', 'volatile-ttl'])(
    'the start over Redis is refused when Redis would evict by %s',
    async (policy) => {
      await using server = await startRedis('--maxmemory-policy', policy);
      await expectRefused(server.url, new RegExp(`maxmemory-policy is ${policy}.*noeviction`));
    },
  );

  it('a replica of Redis refuses the start', async () => {
    await using primary = await startRedis();
    await using replica = await startRedis('--replicaof', '127.0.0.1', String(primary.port));
    await expectRefused(replica.url, /is a replica/);
  });

  it('a node of a cluster that is not said to be one refuses the start', async () => {
    await using server = await startRedis('--cluster-enabled', 'yes');
    await expectRefused(server.url, /redis\+cluster:\/\//);
  });

  it('a server that is said to be a cluster and is none refuses the start', async () => {
    await using server = await startRedis();
    await expectRefused(
      server.url.replace('redis:', 'redis+cluster:'),
      /^REDIS_URL: the server is not part of a cluster; use redis:\/\/\.$/,
    );
  });

  it('Sentinels that do not know the primary refuse the start', async () => {
    await using sentinels = await startRedisSentinels();
    await expectRefused(
      sentinels.url.replace(/main$/, 'other'),
      /^REDIS_URL: the Sentinels do not know a primary named 'other'\.$/,
    );
  });

  it('the start over Redis waits for Sentinels that are away, and says why, once', async () => {
    const warnings = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    await using proxy = await TcpProxy.open(1);
    await proxy.cut();
    const backend = backendFor(`redis+sentinel://127.0.0.1:${proxy.port}/main`);
    await backend.start();
    for (let failures = 0; failures < 3; failures += 1) {
      await expect(backend.secrets.find('key')).rejects.toBeInstanceOf(StoreUnavailableError);
      await clock.sleep(100);
    }
    const lines = warnings.mock.calls.map(String).filter((line) => line.startsWith('Redis is not available yet'));
    warnings.mockRestore();
    expect(lines).toEqual([
      `Redis is not available yet: no Sentinel names the primary: 127.0.0.1:${proxy.port}: the connection was lost`,
    ]);
  });

  it('a backend over Redis warns once when Redis is told to evict while it serves', async () => {
    const warnings = jest.spyOn(Logger.prototype, 'warn').mockImplementation(() => undefined);
    await using server = await startRedis();
    const time = new FakeClock();
    const backend = new RedisBackend(Object.assign(new Environment(), { REDIS_URL: server.url }), time);
    backends.push(backend);
    await backend.start();
    const client = new Client(server.port);
    await client.config('SET', 'maxmemory-policy', 'allkeys-lru');
    const looks = async (): Promise<number> =>
      Number(/cmdstat_info:calls=(\d+)/.exec(await client.info('commandstats'))?.[1]);
    for (let minute = 0; minute < 3; minute += 1) {
      time.advance(60_000);
      let last = await looks();
      // Each question of ours is counted as well.
      for (let next = await looks(); next === last + 1; next = await looks()) {
        last = next;
        time.advance(60_000);
      }
    }
    const lines = (): readonly string[] => warnings.mock.calls.map(String).filter((line) => /maxmemory/.test(line));
    while (lines().length === 0) await clock.sleep(10);
    expect(lines()).toEqual([expect.stringMatching(/^maxmemory-policy is allkeys-lru: .*noeviction\.$/)]);
    expect(await backend.secrets.getOrCreate('key', 'value')).toBe('value');
    warnings.mockRestore();
    client.disconnect();
  });

  it('the service starts with a cluster, and with the primary that Sentinels name', async () => {
    await using cluster = await startRedisCluster();
    await expectServed(cluster.url);
    await using sentinels = await startRedisSentinels();
    await expectServed(sentinels.url, { REDIS_WAIT_REPLICAS: 1 });
  });

  it('the service starts over TLS with a server whose authority is named, and with no other', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'antiphon-tls-'));
    const { certificate, key } = await makeCertificate(directory);
    await using server = await startWithTls(certificate, key);
    const url = `rediss://127.0.0.1:${server.tlsPort}`;
    await expectServed(`${url}?ca=${certificate}`);
    expect(() => backendFor(`${url}?ca=${certificate}.missing`)).toThrow(/^REDIS_URL: the file of 'ca' cannot be read/);
    expect(() => backendFor(`${url}?ca=${key}`)).toThrow(
      /^REDIS_URL: the file of 'ca' has no certificate in PEM format/,
    );
    await expectRefused(url, /^REDIS_URL: .*self.signed certificate/i);
    await rm(directory, { recursive: true });
  });

  it('a backend over Redis goes on while the file of its authority is replaced', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'antiphon-tls-'));
    const { certificate, key } = await makeCertificate(directory);
    await using server = await startWithTls(certificate, key);
    await using proxy = await TcpProxy.open(server.tlsPort);
    const backend = backendFor(`rediss://127.0.0.1:${proxy.port}?ca=${certificate}`);
    await backend.start();
    await untilServed(backend);
    using log = ServiceLog.begin();
    const until = async (lines: readonly string[], wanted: string): Promise<void> => {
      while (!lines.some((line) => line.includes(wanted))) await setImmediate();
    };
    await rename(certificate, `${certificate}.old`);
    await proxy.cut();
    await until(log.complaints, 'notices of other replicas are not received');
    await proxy.restore();
    await rename(`${certificate}.old`, certificate);
    await until(log.notes, 'notices of other replicas are received again');
    await untilServed(backend);
    await rm(directory, { recursive: true });
  });

  it('the start over Redis waits for a server that is away', async () => {
    await using server = await startRedis();
    await server.crash();
    const backend = backendFor(server.url);
    await backend.start();
    await expect(backend.secrets.find('key')).rejects.toBeInstanceOf(StoreUnavailableError);
    await server.resume();
    await untilServed(backend);
  });

  it('the start over Redis waits for a server that is silent', async () => {
    await using server = await startRedis();
    await using proxy = await TcpProxy.open(server.port);
    proxy.stall();
    const backend = backendFor(`redis://127.0.0.1:${proxy.port}`, { REDIS_COMMAND_TIMEOUT_MS: 500 });
    await backend.start();
    await expect(backend.secrets.find('key')).rejects.toBeInstanceOf(StoreUnavailableError);
    await proxy.restore();
    await untilServed(backend);
  });

  it('the start over Redis leaves no connection behind after the end', async () => {
    await using server = await startRedis();
    const backend = backendFor(server.url);
    await backend.start();
    await backend.secrets.find('key');
    await backend.stop();
    const client = new Client(server.port);
    while (/name=antiphon/.test(String(await client.client('LIST')))) await clock.sleep(10);
    client.disconnect();
    await expect(backend.secrets.find('key')).rejects.toBeInstanceOf(StoreUnavailableError);
  });
});
