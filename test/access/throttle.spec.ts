import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { FakeClock, ScriptedProvider } from '../../src/testing/index.js';
import { ServiceLog } from '../support/service-log.js';
import { type Service, startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { bearer } from './keys.js';

let clock: FakeClock;
let service: Service;

beforeEach(() => {
  clock = new FakeClock();
});

afterEach(() => service.close());

async function start(environment: object = {}): Promise<void> {
  service = await startService({
    environment: { API_KEYS: 'red:red-key,blue:blue-key', AUTH_FAILURES_PER_MINUTE: 3, ...environment },
    providers: [ScriptedProvider],
    overrides: [[Clock, clock]],
  });
}

function ask(key: string, forwardedFor?: string): Promise<Response> {
  const forwarded = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor };
  return fetch(`${service.baseURL}/models`, { headers: { ...bearer(key), ...forwarded } });
}

async function guess(times: number, forwardedFor?: string): Promise<void> {
  for (let guessed = 0; guessed < times; guessed++) {
    expect((await ask(`guess-${guessed}`, forwardedFor)).status).toBe(401);
  }
}

describe('a client that guesses keys', () => {
  it('a client that guesses keys gets 429 after AUTH_FAILURES_PER_MINUTE, also for the right key, until the minute is over', async () => {
    await start();
    await guess(3);
    using log = ServiceLog.begin();
    const refused = await ask('red-key');
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('60');
    expect(await refused.json()).toMatchObject({ error: { type: 'rate_limit_error', code: 'rate_limit_exceeded' } });
    expect(log.complaints).toEqual([]);
    clock.advance(60_000);
    expect((await ask('red-key')).status).toBe(200);
  });

  it('a client that guesses keys does not lock out those who were accepted from its address in the minute before', async () => {
    await start();
    expect((await ask('red-key')).status).toBe(200);
    clock.advance(59_000);
    await guess(3);
    expect([(await ask('red-key')).status, (await ask('blue-key')).status]).toEqual([200, 429]);
    clock.advance(59_000);
    expect((await ask('red-key')).status).toBe(200);
    clock.advance(121_000);
    await guess(3);
    expect((await ask('red-key')).status).toBe(429);
  });

  it('a client that guesses keys does not lock out those who were accepted from its address meanwhile', async () => {
    await start();
    await guess(1);
    expect((await ask('red-key')).status).toBe(200);
    await guess(2);
    expect([(await ask('red-key')).status, (await ask('blue-key')).status]).toEqual([200, 429]);
  });

  it('a client that guesses keys is stopped at upgrades too', async () => {
    await start();
    for (let guessed = 0; guessed < 3; guessed++) {
      expect(await SocketClient.refused(service, { headers: bearer(`guess-${guessed}`) })).toMatchObject({
        status: 401,
      });
    }
    expect(await SocketClient.refused(service, { headers: bearer('red-key') })).toMatchObject({ status: 429 });
  });

  it('a client that guesses keys counts with all others of its proxy where that is not trusted, which one line of the log says', async () => {
    await start();
    using log = ServiceLog.begin();
    await guess(3, '203.0.113.1');
    expect((await ask('red-key', '203.0.113.2')).status).toBe(429);
    expect(log.complaints.filter((line) => line.includes('forwarded'))).toEqual([
      'x-forwarded-for comes from 127.0.0.1, which is not in TRUSTED_PROXIES: it is ignored, and all who come from there count as one client Access',
    ]);
  });

  it('a client that guesses keys is named in one line of the log, without what it guessed', async () => {
    await start();
    using log = ServiceLog.begin();
    await guess(3);
    for (let more = 0; more < 5; more++) await ask('more');
    expect(log.complaints).toEqual([expect.stringMatching(/^127\.0\.0\.1 has sent 3 wrong credentials/)]);
    expect([...log.complaints, ...log.notes].join()).not.toContain('guess-');
  });

  it('a client that guesses keys is not looked at with AUTH_FAILURES_PER_MINUTE=0, nor for requests without a key', async () => {
    await start({ AUTH_FAILURES_PER_MINUTE: 0 });
    await guess(5);
    expect((await ask('red-key')).status).toBe(200);
    await service.close();
    await start();
    for (let missing = 0; missing < 5; missing++) expect((await fetch(`${service.baseURL}/models`)).status).toBe(401);
    expect((await ask('red-key')).status).toBe(200);
  });
});

describe('the address of a client', () => {
  it('the address of a client is what a trusted proxy says, the last one that is no proxy', async () => {
    await start({ TRUSTED_PROXIES: '127.0.0.0/8, 10.1.2.3' });
    await guess(3, '9.9.9.9, 8.8.8.8, 10.1.2.3');
    expect((await ask('red-key', '1.1.1.1, 8.8.8.8')).status).toBe(429);
    expect((await ask('red-key', '8.8.8.8, 9.9.9.9')).status).toBe(200);
  });

  it.each([
    ['203.0.113.1:5555', '203.0.113.1:6666', '198.51.100.2:5555'],
    ['[2001:db8::1]:443', '[2001:db8::1]:444', '[2001:db8::2]:443'],
    ['[2001:db8::1]', '2001:db8::1', '[2001:db8::2]'],
    ['::ffff:203.0.113.1', '203.0.113.1:80', '203.0.113.2'],
  ])(
    'the address of a client is read without port and brackets where a proxy writes %s',
    async (guesser, same, other) => {
      await start({ TRUSTED_PROXIES: '127.0.0.0/8' });
      using log = ServiceLog.begin();
      await guess(3, guesser);
      expect((await ask('red-key', same)).status).toBe(429);
      expect((await ask('red-key', other)).status).toBe(200);
      expect(log.complaints.filter((line) => line.includes('forwarded'))).toEqual([]);
    },
  );

  it('the address of a client is that of the proxy where that says none, which one line of the log says', async () => {
    await start({ TRUSTED_PROXIES: '127.0.0.0/8' });
    using log = ServiceLog.begin();
    await guess(3, 'unknown');
    expect((await ask('red-key', 'unknown')).status).toBe(429);
    expect((await ask('red-key', '8.8.8.8')).status).toBe(200);
    expect(log.complaints.filter((line) => line.includes('forwarded'))).toEqual([
      "x-forwarded-for from 127.0.0.1 has 'unknown' where an address should be: those whose address is not read count as one client Access",
    ]);
  });

  it('the address of a client is that of the connection without trusted proxies, whatever a client claims', async () => {
    await start();
    await guess(3, '9.9.9.9');
    expect((await ask('red-key', '8.8.8.8')).status).toBe(429);
  });

  it('a trusted proxy must be an address or a network', async () => {
    const started = start({ TRUSTED_PROXIES: '127.0.0.1, 10.0.0.0/64' });
    await expect(started).rejects.toThrow('TRUSTED_PROXIES: entry 2 is neither an address nor a network');
    await start();
  });
});
