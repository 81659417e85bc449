// Slow: 3,000 calls over HTTP.

import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

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

/** An authorization server that gives other tokens with each exchange, each of which names the token that it stands for. */
async function startIssuer(): Promise<AsyncDisposable & { readonly url: string }> {
  let exchanges = 0;
  const server = createServer((request, answer) => {
    void text(request).then((form) => {
      const subject = new URLSearchParams(form).get('subject_token');
      answer.end(
        JSON.stringify({ access_token: `exchanged-${subject}#${++exchanges}`, token_type: 'Bearer', expires_in: 300 }),
      );
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/token`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
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
  await using exchange = await start('exchange');
  await using issuer = await startIssuer();
  const refused = new Set<unknown>();
  // Refuses the token of every tenth call once, as if it had expired: it is then replaced while other calls use it.
  exchange.behaviour = ({ message: { method, params } }, answer) => {
    const { n } = Object(params?.['arguments']) as { readonly n?: number };
    if (method !== 'tools/call' || Number(n) % 10 !== 0 || refused.has(n)) return false;
    refused.add(n);
    answer.writeHead(401).end();
    return true;
  };
  await using mcp = await startMcp({
    servers: {
      open: { url: open.url, max_connections: AT_ONCE },
      own: { url: own.url, authorization: 'operator-token-own' },
      mixed: { url: mixed.url, authorization: 'operator-token-mixed', forward: ['authorization', 'x-user'] },
      exchange: {
        url: exchange.url,
        oauth: { token_url: issuer.url, client_id: 'me', client_secret: 'secret', grant: 'token_exchange' },
        forward: ['x-user'],
      },
    },
  });
  const one = fc.record({
    tenant: fc.constantFrom(...tenants),
    server: fc.constantFrom('open', 'own', 'mixed', 'exchange'),
    brings: fc.constantFrom('nothing', 'token', 'header', 'both'),
    which: fc.constantFrom(1, 2),
  });
  const sent: Sent[] = [];
  const made = fc.sample(fc.array(one, { minLength: CALLS, maxLength: CALLS }), { seed: SEED, numRuns: 1 })[0] ?? [];
  for (let from = 0; from < made.length; from += AT_ONCE) {
    await Promise.all(
      made.slice(from, from + AT_ONCE).map(async ({ tenant, server, brings, which }, index) => {
        const n = from + index;
        const may = server !== 'own';
        const isExchanged = server === 'exchange';
        const hasToken = isExchanged || (may && (brings === 'token' || brings === 'both'));
        const token = hasToken ? `token-${tenant}-${which}` : undefined;
        const user = may && (brings === 'header' || brings === 'both') ? `user-${tenant}-${which}` : undefined;
        const operator = server === 'open' ? undefined : `Bearer operator-token-${server}`;
        const shown = `Bearer ${isExchanged ? 'exchanged-' : ''}${token}`;
        sent[n] = { server, authorization: token === undefined ? operator : shown, own: user };
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
      // Without the number of the exchange.
      authorization: (headers['authorization'] as string | undefined)?.replace(/#\d+$/, ''),
      own: headers['x-user'],
    }));
  expect(seen).toEqual(sent);
  expect(refused.size).toBeGreaterThan(0);
  // A session, too, has only ever seen one set of credentials.
  for (const fake of [open, own, mixed, exchange]) {
    const ofSession = new Map<unknown, unknown>();
    for (const { headers } of fake.requests) {
      const session = headers['mcp-session-id'];
      const credentials = `${headers.authorization?.replace(/#\d+$/, '')} ${headers['x-user'] as string}`;
      if (session !== undefined) expect(ofSession.get(session) ?? credentials).toBe(credentials);
      ofSession.set(session, credentials);
    }
  }
});
