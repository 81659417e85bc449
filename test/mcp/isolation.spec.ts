// Slow: 3,000 calls over HTTP.

import { expect, it } from '@jest/globals';
import fc from 'fast-check';

import { FakeMcpServer } from '../../src/testing/index.js';
import { calm, startMcp } from './mcp-service.js';

const SEED = 20_261_126;
const CALLS = 3000;

/** Calls at once: fewer than sets of credentials, so that connections are taken, closed and opened again all the time. */
const AT_ONCE = 24;

const tenants = ['acme', 'globex', 'initech', 'umbrella'];
/** What a call must have brought, by its number. */
interface Sent {
  readonly server: string;
  readonly authorization: string | undefined;
  readonly own: string | undefined;
}

it(`the service lets no credential reach another's call (${CALLS} calls, seed ${SEED})`, async () => {
  const arrived: { readonly server: string; readonly headers: Record<string, unknown>; readonly n: number }[] = [];
  const start = (server: string): Promise<FakeMcpServer> =>
    FakeMcpServer.start(
      [
        {
          name: 'note',
          handler: ({ args, headers }) => {
            arrived.push({ server, headers, n: Number(args['n']) });
            return String(args['n']);
          },
        },
      ],
      { answers: 'json' },
    );
  await using open = await start('open');
  await using own = await start('own');
  await using mixed = await start('mixed');
  await using mcp = await startMcp({
    servers: {
      open: { url: open.url, max_connections: AT_ONCE },
      own: { url: own.url, authorization: 'operator-token-own' },
      mixed: { url: mixed.url, authorization: 'operator-token-mixed', forward: ['authorization', 'x-user'] },
    },
  });
  const one = fc.record({
    tenant: fc.constantFrom(...tenants),
    server: fc.constantFrom('open', 'own', 'mixed'),
    brings: fc.constantFrom('nothing', 'token', 'header', 'both'),
    which: fc.constantFrom(1, 2),
  });
  const sent: Sent[] = [];
  const calls = fc.sample(fc.array(one, { minLength: CALLS, maxLength: CALLS }), { seed: SEED, numRuns: 1 })[0] ?? [];
  for (let from = 0; from < calls.length; from += AT_ONCE) {
    await Promise.all(
      calls.slice(from, from + AT_ONCE).map(async ({ tenant, server, brings, which }, index) => {
        const n = from + index;
        const may = server !== 'own';
        const token = may && (brings === 'token' || brings === 'both') ? `token-${tenant}-${which}` : undefined;
        const user = may && (brings === 'header' || brings === 'both') ? `user-${tenant}-${which}` : undefined;
        const operator = server === 'open' ? undefined : `Bearer operator-token-${server}`;
        sent[n] = { server, authorization: token === undefined ? operator : `Bearer ${token}`, own: user };
        const param = {
          type: 'mcp',
          server_label: server,
          ...(token === undefined ? {} : { authorization: token }),
          ...(user === undefined ? {} : { headers: { 'X-User': user } }),
        } as const;
        const found = mcp.servers.find(param, tenant, 'tools[0]');
        expect(await found.call('note', { n }, { signal: calm })).toEqual({ output: String(n) });
      }),
    );
  }
  const seen = arrived
    .toSorted((a, b) => a.n - b.n)
    .map(({ server, headers }) => ({
      server,
      authorization: headers['authorization'],
      own: headers['x-user'],
    }));
  expect(seen).toEqual(sent);
  // A session, too, has only ever seen one set of credentials.
  for (const fake of [open, own, mixed]) {
    const ofSession = new Map<unknown, unknown>();
    for (const { headers } of fake.requests) {
      const session = headers['mcp-session-id'];
      const credentials = `${headers.authorization} ${headers['x-user'] as string}`;
      if (session !== undefined) expect(ofSession.get(session) ?? credentials).toBe(credentials);
      ofSession.set(session, credentials);
    }
  }
});
