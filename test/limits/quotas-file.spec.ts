import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { ServiceLog } from '../support/service-log.js';
import { type Service, startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';

const RULES = `
limits:
  - { tenant: "alp*", model: "gpt-5*", requests_per_minute: 1 }
  - { tenant: alpha, sockets: 1 }
  - { tenant: beta, requests_per_minute: 7 }
`;

describe('LIMITS_FILE', () => {
  let directory: string;
  let path: string;
  let service: Service | undefined;

  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), 'antiphon-limits-'));
    path = join(directory, 'limits.yaml');
  });
  afterEach(async () => {
    await service?.close();
    service = undefined;
    await rm(directory, { recursive: true });
  });

  const start = async (rules: string): Promise<Service> => {
    await writeFile(path, rules);
    const environment = {
      API_KEYS: 'alpha:sk-alpha,beta:sk-beta,gamma:sk-gamma',
      LIMITS_FILE: path,
      LIMIT_REQUESTS_PER_MINUTE: 9,
    };
    return (service = await startService({ providers: [ScriptedProvider], environment }));
  };
  /** The limit of requests that a turn is told, and how many are left. */
  const ask = async (tenant: string, model: string): Promise<readonly (string | null)[]> => {
    const answer = await service
      ?.client({ apiKey: `sk-${tenant}` })
      .responses.create({ model, input: 'hi' })
      .asResponse();
    const names = ['limit', 'remaining'].map((name) => `x-ratelimit-${name}-requests`);
    return names.map((name) => answer?.headers.get(name) ?? null);
  };

  it('LIMITS_FILE has rules for tenants and models: the first that applies counts', async () => {
    await start(RULES);
    expect(await ask('alpha', 'gpt-5-mini')).toEqual(['1', '0']);
    // The counters are those of the rule.
    await expect(ask('alpha', 'gpt-5')).rejects.toMatchObject({ status: 429 });
    // The second rule applies, and limits no requests.
    expect(await ask('alpha', 'o3')).toEqual([null, null]);
    expect(await ask('beta', 'gpt-5')).toEqual(['7', '6']);
    expect(await ask('gamma', 'gpt-5')).toEqual(['9', '8']);
  });

  it('LIMITS_FILE limits the sockets of a tenant', async () => {
    const { port } = await start(RULES);
    const open = (tenant: string): Promise<SocketClient> =>
      SocketClient.open({ port }, { headers: { authorization: `Bearer sk-${tenant}` } });
    await using first = await open('alpha');
    await using second = await open('alpha');
    expect(await second.next()).toMatchObject({
      status: 429,
      error: { code: 'websocket_connection_limit_reached', message: expect.stringContaining('your limit of 1') },
    });
    await using others = [await open('beta'), await open('beta')].reduce((stack, socket) => {
      stack.use(socket);
      return stack;
    }, new AsyncDisposableStack());
    expect(others.disposed).toBe(false);
    expect((await first.turn({ input: 'hi' })).response.status).toBe('completed');
  });

  it('LIMITS_FILE is read again on SIGHUP', async () => {
    await start(RULES);
    expect(await ask('beta', 'm')).toEqual(['7', '6']);
    using log = ServiceLog.begin();
    await writeFile(path, 'limits: [{ tenant: beta, requests_per_minute: 5 }]');
    process.emit('SIGHUP');
    while (log.notes.length === 0) await new Promise(setImmediate);
    expect(log.notes).toEqual(['LIMITS_FILE was read again (rules: 1) Limits']);
    // What was counted before counts on.
    expect(await ask('beta', 'm')).toEqual(['5', '3']);
  });

  it('LIMITS_FILE stays as it was when it is not valid any more', async () => {
    await start(RULES);
    using log = ServiceLog.begin();
    await writeFile(path, 'limits: [{ tenant: beta, requests_per_minute: -5 }]');
    process.emit('SIGHUP');
    while (log.complaints.length === 0) await new Promise(setImmediate);
    expect(log.complaints).toEqual([expect.stringMatching(/limits\[0\]\.requests_per_minute/)]);
    expect(await ask('beta', 'm')).toEqual(['7', '6']);
  });

  it.each([
    ['limits: [{ request_per_minute: 1 }]', /limits\[0\].*request_per_minute/],
    ['limits: [{ tokens_per_minute: -1 }]', /limits\[0\]\.tokens_per_minute must be/],
    ['limits: [{ model: m, sockets: 1 }]', /limits\[0\]\.sockets must stand in a rule without model/],
    ['rules: []', /limits/],
    ['limits: [', /LIMITS_FILE: .*limits\.yaml/],
  ])('LIMITS_FILE stops the start when it is not valid: %s', async (rules, message) => {
    await expect(start(rules)).rejects.toThrow(message);
  });
});
