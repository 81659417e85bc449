import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, describe, expect, it } from '@jest/globals';

import { FakeMcpServer, ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';

const SECRET = 'correct-horse-battery';

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
const folder = await mkdtemp(join(tmpdir(), 'antiphon-mcp-background-'));
const path = join(folder, 'servers.json');
await writeFile(path, JSON.stringify({ servers: { slow: { url: server.url } } }));

afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

const TOOL = { type: 'mcp', server_label: 'slow', require_approval: 'never', authorization: SECRET } as const;

describe('a background turn with a call that takes long', () => {
  const data = join(folder, 'data');
  const service = useService({
    providers: [ScriptedProvider],
    environment: { MCP_SERVERS: path, STATE: 'sqlite', STATE_DIR: data },
  });

  const create = async (): Promise<string> => {
    service.provider.reply(
      { type: 'function_call', name: 'slow__wait', callId: 'call_1' },
      { type: 'usage', input: 1, output: 1 },
    );
    const body = { model: 'm', input: 'Wait.', tools: [TOOL], background: true };
    return (await service.client().responses.create(body as never)).id;
  };

  it('has the credentials of its server, which are nowhere in the state', async () => {
    await create();
    const { headers } = await server.received('tools/call');
    expect(headers.authorization).toBe(`Bearer ${SECRET}`);
    const files = await readdir(data);
    expect(files.length).toBeGreaterThan(0);
    for (const name of files) expect((await readFile(join(data, name))).includes(SECRET)).toBe(false);
    service.provider.reply({ type: 'text', delta: 'Done.' });
    release('waited');
  });

  it('tells the server when it is cancelled', async () => {
    const id = await create();
    await server.received('tools/call', 2);
    await service.client().responses.cancel(id);
    const { message } = await server.received('notifications/cancelled');
    expect(message.params).toHaveProperty('requestId');
  });
});
