import { createServer, type RequestListener } from 'node:http';

import { afterEach, describe, expect, it } from '@jest/globals';

import { Balancer } from './balancer.js';
import { LocalServer } from '../support/local-server.js';
import { RawClient } from '../support/raw-client.js';

const toClose: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of toClose.splice(0).reverse()) await close();
});

/** Opens a balancer in front of backends that answer so. */
async function balance(...backends: readonly RequestListener[]): Promise<{ balancer: Balancer; client: RawClient }> {
  const servers = await Promise.all(backends.map((answer) => new LocalServer(createServer(answer)).listen()));
  const balancer = await Balancer.open(servers.map(({ port }) => port));
  const client = new RawClient(balancer.port);
  toClose.push(async () => {
    client.close();
    await balancer.close();
    for (const server of servers) await server.close();
  });
  return { balancer, client };
}

/** A backend that says which one it is. */
function named(name: string): RequestListener {
  return (request, response) => {
    request.resume();
    response.writeHead(200, { 'x-backend': name }).end();
  };
}

async function namesOf(client: RawClient, count: number): Promise<readonly unknown[]> {
  const names: unknown[] = [];
  for (let sent = 0; sent < count; sent += 1) names.push((await client.send({})).headers['x-backend']);
  return names;
}

describe('Balancer', () => {
  it('Balancer takes the backends in turn for every request, also on one connection', async () => {
    const { client } = await balance(named('a'), named('b'));
    expect(await namesOf(client, 4)).toEqual(['a', 'b', 'a', 'b']);
  });

  it('Balancer answers 502, and asks nobody else, when the backend dies before the head of its answer', async () => {
    const { client } = await balance((request) => request.socket.destroy(), named('b'));
    expect(await client.post('{}')).toMatchObject({ status: 502, text: '{}' });
  });

  it.each(['before', 'after'])(
    'Balancer tells the backend when the client goes %s the head of the answer',
    async (when) => {
      const asked = Promise.withResolvers<undefined>();
      const gone = Promise.withResolvers<boolean>();
      const { balancer } = await balance((_request, response) => {
        response.once('close', () => gone.resolve(response.writableFinished));
        if (when === 'after') response.flushHeaders();
        asked.resolve(undefined);
      });
      const client = new AbortController();
      const answer = fetch(balancer.origin, { signal: client.signal });
      answer.catch(() => undefined);
      await (when === 'after' ? answer : asked.promise);
      client.abort();
      expect(await gone.promise).toBe(false);
    },
  );
});
