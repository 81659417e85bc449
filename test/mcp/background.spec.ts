import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { Client } from 'pg';

import type { ModelEvent } from '../../src/index.js';
import { StateBackend } from '../../src/state/index.js';
import { FakeMcpServer, ScriptedProvider } from '../../src/testing/index.js';
import { exported } from '../../src/testing/state/moved-state.js';
import { whenEnded } from '../support/background.js';
import { useService } from '../support/describe-service.js';
import { findKeys } from '../support/redis/remove-keys.js';
import { type Service, startService } from '../support/service.js';
import { SocketClient } from '../support/socket-client.js';
import { EVERY_STATE, type TestState } from '../support/state-backends.js';

/** All that a service stores, for tests that look for what must not be there: files, rows or values as they are; an export of a memory. */
async function dumpState({ environment }: TestState, { app }: Service): Promise<string> {
  switch (environment['STATE']) {
    case 'sqlite':
      return dumpFolder(String(environment['STATE_DIR']));
    case 'postgres':
      return dumpDatabase(String(environment['DATABASE_URL']));
    case 'redis':
      return dumpKeys(String(environment['REDIS_URL']), `${environment['REDIS_PREFIX']}:*`);
    default:
      return exported(app.get(StateBackend));
  }
}

async function dumpFolder(folder: string): Promise<string> {
  const files = await Promise.all((await readdir(folder)).map((name) => readFile(join(folder, name), 'latin1')));
  return files.join('\n');
}

async function dumpDatabase(connectionString: string): Promise<string> {
  // Bytes are written as the characters that they are.
  const client = new Client({ connectionString, options: '-c bytea_output=escape' });
  await client.connect();
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      "SELECT format('%I.%I', schemaname, tablename) AS name FROM pg_tables WHERE schemaname LIKE 'antiphon%'",
    );
    const texts: string[] = [];
    for (const { name } of tables) {
      const { rows } = await client.query<{ text: string }>(`SELECT each::text AS text FROM ${name} each`);
      texts.push(...rows.map(({ text }) => text));
    }
    return texts.join('\n');
  } finally {
    await client.end();
  }
}

async function dumpKeys(url: string, pattern: string): Promise<string> {
  const keys = await findKeys(url, pattern);
  const client = new Redis(url);
  try {
    const values = await Promise.all(keys.map((key) => readValue(client, key)));
    return JSON.stringify([keys, values]);
  } finally {
    client.disconnect();
  }
}

async function readValue(client: Redis, key: string): Promise<unknown> {
  switch (await client.type(key)) {
    case 'string':
      return client.get(key);
    case 'hash':
      return client.hgetall(key);
    case 'list':
      return client.lrange(key, 0, -1);
    case 'set':
      return client.smembers(key);
    case 'zset':
      return client.zrange(key, '0', '-1');
    case 'stream':
      return client.xrange(key, '-', '+');
    default:
      // It has expired.
      return null;
  }
}

const TOKEN = 'correct-horse-battery';
const HEADER = 'staple-of-a-caller';
const URL_KEY = 'open-sesame-url-1';
const QUESTION = 'Please wait for it.';

/** Ends the call that waits. */
let release: (text: string) => void = () => undefined;

const server = await FakeMcpServer.start([
  {
    name: 'wait',
    handler: ({ signal }) =>
      new Promise((resolve) => {
        release = resolve;
        signal.addEventListener('abort', () => resolve('cancelled'));
      }),
  },
]);

afterAll(async () => {
  await server.close();
});

const BODY = {
  model: 'm',
  input: QUESTION,
  tools: [
    {
      type: 'mcp',
      server_label: 'slow',
      require_approval: 'never',
      server_url: `${server.url}?apiKey=${URL_KEY}`,
      authorization: TOKEN,
      headers: { 'x-caller': HEADER },
    },
  ],
};
const CALL: readonly ModelEvent[] = [
  { type: 'function_call', name: 'slow__wait', callId: 'call_1' },
  { type: 'usage', input: 1, output: 1 },
];

describe.each(EVERY_STATE)('a call that takes long, with STATE=$state', ({ open }) => {
  let state: TestState;
  beforeAll(async () => {
    state = await open();
  });
  const service = useService(() => {
    const environment = { MCP_CLIENT_URLS: 'any', ...state.environment };
    return startService({ providers: [ScriptedProvider], environment });
  });
  afterAll(() => state.drop());

  beforeEach(() => {
    server.requests.length = 0;
    service.provider.turns.length = 0;
    service.provider.reply(...CALL);
  });

  const create = async (): Promise<string> =>
    (await service.client().responses.create({ ...BODY, background: true } as never)).id;

  /** The state holds the turn, and none of the credentials that its call has brought to the server. */
  async function expectNoCredentials(): Promise<void> {
    const { headers } = await server.received('tools/call');
    expect(headers).toMatchObject({ authorization: `Bearer ${TOKEN}`, 'x-caller': HEADER });
    const dump = await dumpState(state, service);
    expect(dump).toContain(QUESTION);
    expect([TOKEN, HEADER, URL_KEY].filter((secret) => dump.includes(secret))).toEqual([]);
  }

  it('a call that takes long has the credentials of its server, which are nowhere in the state while it runs and afterwards', async () => {
    const id = await create();
    await server.received('tools/call');
    await expectNoCredentials();
    release('waited');
    expect(await whenEnded(service, id)).toMatchObject({ status: 'completed' });
    await expectNoCredentials();
  });

  it('a call that takes long leaves no credentials in the session of a socket', async () => {
    await using client = await SocketClient.open(service);
    const turn = client.turn(BODY);
    await server.received('tools/call');
    release('waited');
    expect((await turn).response).toMatchObject({ status: 'completed' });
    await expectNoCredentials();
  });

  it('a call that takes long tells its server when it is cancelled, and later models that nobody knows what came of it', async () => {
    const id = await create();
    await server.received('tools/call');
    await service.client().responses.cancel(id);
    const { message } = await server.received('notifications/cancelled');
    expect(message.params).toHaveProperty('requestId');
    const { status, output } = await whenEnded(service, id);
    expect({ status, output }).toMatchObject({
      status: 'cancelled',
      output: [{ type: 'mcp_list_tools' }, { type: 'mcp_call', status: 'incomplete', output: null, error: null }],
    });
    expect(service.provider.turns).toHaveLength(1);
    // A cancelled response is not continued; a client may bring its items.
    await service
      .client()
      .responses.create({ ...BODY, input: [...output, { role: 'user', content: 'Well?' }] } as never);
    expect(service.provider.turns[1]?.context).toMatchObject([
      { type: 'function_call', name: 'slow__wait' },
      { type: 'function_call_output', output: expect.stringContaining('is unknown') },
      { role: 'user' },
    ]);
    expect([server.count('tools/list'), server.count('tools/call')]).toEqual([1, 1]);
  });
});
