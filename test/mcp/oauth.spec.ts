import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';

import type { McpServer } from '../../src/tools/mcp/index.js';
import { type FakeMcpCall, FakeMcpServer } from '../../src/testing/index.js';
import { calm, findServer, type McpService, startMcp } from './mcp-service.js';

/** What the authorization server was asked for. */
const asked: URLSearchParams[] = [];
let refuses: string | null = null;
/** Further members of its answers. */
let members: object = {};
let issuer: Server;
let fake: FakeMcpServer;
let service: McpService;

beforeAll(async () => {
  issuer = createServer((request, answer) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      asked.push(new URLSearchParams(Buffer.concat(chunks).toString()));
      const isClient = request.headers.authorization === `Basic ${Buffer.from('me:client-secret').toString('base64')}`;
      if (refuses !== null || !isClient) return void answer.writeHead(400).end(refuses);
      const token = `token-${asked.at(-1)?.get('subject_token') ?? 'service'}-${asked.length}`;
      answer.end(JSON.stringify({ access_token: token, token_type: 'Bearer', expires_in: 300, ...members }));
    })();
  }).listen(0, '127.0.0.1');
  await once(issuer, 'listening');
  fake = await FakeMcpServer.start([
    { name: 'who', handler: ({ headers }) => String(headers['x-seen']) },
    { name: 'leak', handler: ({ headers }) => `you are ${headers.authorization?.slice('Bearer '.length)}` },
  ]);
  service = await startMcp({
    servers: {
      service: { url: fake.url, oauth: oauth() },
      caller: {
        url: fake.url,
        oauth: { ...oauth(), grant: 'token_exchange', audience: 'docs' },
        forward: ['authorization'],
      },
      exchanging: { url: `${fake.url}?exchanging`, oauth: { ...oauth(), grant: 'token_exchange' } },
    },
  });
});

afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await fake.close();
  issuer.closeAllConnections();
  issuer.close();
});

beforeEach(() => {
  asked.length = 0;
  refuses = null;
  members = {};
  fake.requests.length = 0;
  fake.behaviour = null;
});

const oauth = (): object => ({
  token_url: `http://127.0.0.1:${(issuer.address() as AddressInfo).port}/token`,
  client_id: 'me',
  client_secret: 'client-secret',
  scope: 'tools',
});

const find = (label: string, callerToken?: string): McpServer =>
  service.servers.find({ type: 'mcp', server_label: label }, 'acme', 'tools[0]', callerToken);

const tokens = (): readonly unknown[] => [...new Set(fake.requests.map(({ headers }) => headers.authorization))];

it('the service asks once for a token of the service, until it expires or is refused', async () => {
  await find('service').list(calm);
  await Promise.all([find('service').list(calm), find('service').call('who', {}, { signal: calm })]);
  expect(asked.map(String)).toEqual(['grant_type=client_credentials&scope=tools']);
  expect(tokens()).toEqual(['Bearer token-service-1']);
  service.clock.advance(271_000);
  await find('service').list(calm);
  expect(asked).toHaveLength(2);
  fake.behaviour = ({ headers }, answer) => {
    if (headers.authorization !== 'Bearer token-service-2') return false;
    answer.writeHead(401).end();
    return true;
  };
  await find('service').list(calm);
  expect(asked).toHaveLength(3);
  expect(fake.requests.at(-1)?.headers.authorization).toBe('Bearer token-service-3');
});

it('the service tries a refused token again only once', async () => {
  fake.behaviour = (_request, answer) => {
    answer.writeHead(401).end();
    return true;
  };
  expect(await find('service').call('who', {}, { signal: calm })).toMatchObject({
    error: { type: 'http_error', code: 401 },
  });
  expect(asked.length).toBeLessThanOrEqual(1);
});

it('the service asks once for another token when several calls are refused at once, and sends each of them again', async () => {
  await using own = await startMcp({ servers: { docs: { url: fake.url, oauth: oauth() } } });
  const server = findServer(own);
  await server.list(calm);
  const [first] = tokens();
  fake.behaviour = ({ headers }, answer) => {
    if (headers.authorization !== first) return false;
    answer.writeHead(401).end();
    return true;
  };
  const calls = [1, 2, 3, 4, 5].map(() => server.call('who', {}, { signal: calm }));
  expect(await Promise.all(calls)).toEqual(calls.map(() => ({ output: 'undefined' })));
  expect(asked).toHaveLength(2);
});

it('the service resumes the stream of a call with another token when the first is refused meanwhile', async () => {
  const heard = Promise.withResolvers<unknown>();
  const handler = async (call: FakeMcpCall): Promise<string> => {
    call.progress(1);
    await heard.promise;
    call.drop();
    return 'late, but there';
  };
  await using breaking = await FakeMcpServer.start([{ name: 'breaks', handler }]);
  await using own = await startMcp({ servers: { docs: { url: breaking.url, oauth: oauth() } } });
  const server = findServer(own);
  await server.list(calm);
  await breaking.listened();
  let resumed = 0;
  breaking.listening = (answer) => {
    resumed += 1;
    if (resumed > 1) return false;
    answer.writeHead(401).end();
    return true;
  };
  const outcome = server.call('breaks', {}, { signal: calm, onProgress: () => heard.resolve(null) });
  const over = outcome.then(() => true);
  const soon = (): Promise<boolean> => new Promise((resolve) => setImmediate(resolve, false));
  // The pauses before the stream is asked for again begin when the break, and the refusal, have been seen.
  while (!(await Promise.race([over, soon()]))) own.clock.advance(10);
  expect(await outcome).toEqual({ output: 'late, but there' });
  expect(asked).toHaveLength(2);
  expect(breaking.count('tools/call')).toBe(1);
});

it.each([
  ['a number', 300, 269, 271],
  ['a string', '600', 569, 571],
  ['short', 20, 9, 11],
  ['not given', undefined, 269, 271],
])(
  'the service keeps a token whose lifetime is %s until shortly before its end',
  async (_name, lifetime, kept, over) => {
    members = { expires_in: lifetime };
    await using own = await startMcp({ servers: { docs: { url: fake.url, oauth: oauth() } } });
    const server = findServer(own);
    await server.list(calm);
    own.clock.advance(kept * 1000);
    await server.list(calm);
    expect(asked).toHaveLength(1);
    own.clock.advance((over - kept) * 1000);
    await server.list(calm);
    expect(asked).toHaveLength(2);
  },
);

it.each([
  ['that no header can hold', { access_token: 'secret-token\r\nx-admin: 1' }],
  ['that is empty', { access_token: '' }],
  ['of another type', { token_type: 'DPoP' }],
])('the service refuses a token %s, and does not quote it', async (_name, odd) => {
  members = odd;
  await using own = await startMcp({ servers: { docs: { url: fake.url, oauth: oauth() } } });
  const message = 'The authorization server gave a token that is no Bearer token.';
  expect(await findServer(own).call('who', {}, { signal: calm })).toEqual({
    error: { type: 'http_error', code: 401, message },
  });
  expect(own.log.complaints.join()).not.toContain('secret-token');
  expect(fake.requests).toEqual([]);
});

it('the service repeats no token to clients, whichever request has got it, also one that was replaced', async () => {
  await using own = await startMcp({
    servers: {
      docs: { url: fake.url, oauth: oauth() },
      exchanging: { url: fake.url, oauth: { ...oauth(), grant: 'token_exchange' } },
    },
  });
  const ask = (description: string): Promise<unknown> => {
    const shared = { type: 'mcp', server_label: 'docs', server_description: description } as const;
    return own.servers.find(shared, 'acme', 'tools[0]').call('leak', {}, { signal: calm });
  };
  expect(await ask('one')).toEqual({ output: 'you are [redacted]' });
  expect(await ask('another')).toEqual({ output: 'you are [redacted]' });
  own.clock.advance(280_000);
  fake.behaviour = ({ message }, answer) => {
    if (message.method !== 'tools/call') return false;
    const content = [{ type: 'text', text: 'first token-service-1, then token-service-2' }];
    answer.setHeader('content-type', 'application/json');
    answer.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result: { content } }));
    return true;
  };
  expect(await ask('a third')).toEqual({ output: 'first [redacted], then [redacted]' });
  fake.behaviour = null;
  members = { access_token: 'exchanged-token' };
  const exchanging = { type: 'mcp', server_label: 'exchanging', authorization: 'alice' } as const;
  for (let request = 0; request < 2; request++) {
    const server = own.servers.find(exchanging, 'acme', 'tools[0]');
    expect(await server.call('leak', {}, { signal: calm })).toEqual({ output: 'you are [redacted]' });
  }
});

it("the service exchanges the caller's token, one for each caller", async () => {
  await find('caller', 'alice-token').list(calm);
  await find('caller', 'bob-token').list(calm);
  await find('caller', 'alice-token').list(calm);
  expect(asked.map((form) => form.get('subject_token'))).toEqual(['alice-token', 'bob-token']);
  expect(asked[0]?.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:token-exchange');
  expect(asked[0]?.get('audience')).toBe('docs');
  expect(tokens()).toEqual(['Bearer token-alice-token-1', 'Bearer token-bob-token-2']);
  expect(() => find('caller')).toThrow("The server 'caller' needs a token of yours");
  const own = { type: 'mcp', server_label: 'caller', authorization: 'my-own-token' } as const;
  await service.servers.find(own, 'acme', 'tools[0]').list(calm);
  expect(asked).toHaveLength(2);
  expect(fake.requests.at(-1)?.headers.authorization).toBe('Bearer my-own-token');
});

it('the service exchanges the authorization of a tool, which its server does not see', async () => {
  const tool = { type: 'mcp', server_label: 'exchanging', authorization: 'carol-token' } as const;
  await service.servers.find(tool, 'acme', 'tools[0]').list(calm);
  expect(asked.at(-1)?.get('subject_token')).toBe('carol-token');
  expect(tokens().at(-1)).toMatch(/^Bearer token-carol-token-/);
});

it.each([
  ['{"error":"invalid_client client-secret"}', 'HTTP 400'],
  ['{"error":"invalid_grant","error_description":"client-secret of carol-token"}', 'HTTP 400, invalid_grant'],
  ['no JSON, but client-secret', 'HTTP 400'],
])('the service says without secrets that there is no token, but %s', async (body, words) => {
  refuses = body;
  const error: unknown = await find('caller', 'carol-token')
    .list(calm)
    .catch((reason: unknown) => reason);
  expect(error).toMatchObject({
    message: `Error retrieving tool list from MCP server: 'caller'. The authorization server gave no token (${words}).`,
  });
  expect(fake.requests).toEqual([]);
  expect(service.log.complaints.join()).not.toMatch(/client-secret|carol-token/);
});
