// Slow: starts the built service as processes, and kills them.

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import { FakeMcpServer } from '../../src/testing/index.js';
import { createResponse, follow, readOn } from '../support/background/background-client.js';
import { SqliteService } from '../support/sqlite-service.js';

/** What a call does next; by default it is answered. */
let work: () => Promise<void> | void = () => undefined;
const handler = async (): Promise<string> => {
  await work();
  return 'done';
};

const server = await FakeMcpServer.start([
  { name: 'read', annotations: { readOnlyHint: true }, handler },
  { name: 'send', handler },
]);
const folder = await mkdtemp(join(tmpdir(), 'antiphon-mcp-kills-'));
const MCP_SERVERS = join(folder, 'servers.json');
await writeFile(MCP_SERVERS, JSON.stringify({ servers: { mail: { url: server.url } } }));

/** A model for each tool, which calls it and then says so. */
const scripts = await Promise.all(
  ['read', 'send'].map(async (name) => {
    const path = join(folder, `${name}.json`);
    const turns = [{ calls: [{ name: `mail__${name}`, arguments: {} }] }, { delay: 1000, text: 'Done.' }];
    await writeFile(path, JSON.stringify({ advance: 'conversation', turns }));
    return path;
  }),
);

afterAll(async () => {
  await server.close();
  await rm(folder, { recursive: true });
});

interface Ended {
  readonly status: string;
  readonly output: readonly Readonly<Record<string, unknown>>[];
}

describe('a background turn with a call of an MCP server, whose process is killed', () => {
  let service: SqliteService;
  beforeAll(async () => {
    service = await SqliteService.start({ MCP_SERVERS, SIMULATOR_SCRIPTS: scripts.join() });
  });
  afterAll(() => service[Symbol.asyncDispose]());
  beforeEach(() => {
    server.requests.length = 0;
    server.behaviour = null;
    work = () => undefined;
  });

  const tools = [{ type: 'mcp', server_label: 'mail', require_approval: 'never' }];

  const create = async (model: string, members: object = {}): Promise<string> =>
    (await createResponse(service.process, { model, input: 'Go.', tools, ...members })).id;

  const endOf = async (id: string): Promise<Ended> => {
    await readOn(service, id);
    const { text } = await service.process.client.send({ path: `/v1/responses/${id}` });
    return JSON.parse(text) as Ended;
  };

  const DONE = [{ type: 'mcp_list_tools' }, { type: 'mcp_call', output: 'done' }, { type: 'message' }];

  it('a turn that is killed before its MCP call is sent makes it once', async () => {
    // The list is never answered.
    server.behaviour = ({ message }) => message.method === 'tools/list';
    const id = await create('send');
    await server.received('tools/list');
    server.behaviour = null;
    await service.restart('SIGKILL');
    expect(await endOf(id)).toMatchObject({ status: 'completed', output: DONE });
    expect(server.count('tools/call')).toBe(1);
  });

  it.each([
    ['does not send it again, and tells the model', 'send', 1],
    ['sends a call again that does no harm twice', 'read', 2],
  ])('a turn that is killed while the MCP server works, %s', async (_, model, calls) => {
    work = () => new Promise(() => undefined);
    const id = await create(model);
    await server.received('tools/call');
    work = () => undefined;
    await service.restart('SIGKILL');
    const { status, output } = await endOf(id);
    expect(status).toBe('completed');
    expect(server.count('tools/call')).toBe(calls);
    const ended = output.filter((item) => item['type'] === 'mcp_call').at(-1);
    if (calls === 2) expect(ended).toMatchObject({ output: 'done' });
    else expect(JSON.stringify(ended?.['error'])).toContain('Whether the server has carried it out is unknown');
  });

  it('a turn that is killed after the answer of the MCP server, while the model is asked again, does not make the call again', async () => {
    const id = await create('send');
    const answer = await follow(service, id);
    await answer.until('event: response.mcp_call.completed');
    await service.restart('SIGKILL');
    expect(await endOf(id)).toMatchObject({ status: 'completed', output: DONE });
    expect(server.count('tools/call')).toBe(1);
  });

  it('a turn that is killed while an approval waits makes the call once when it is approved', async () => {
    const always = [{ ...tools[0], require_approval: 'always' }];
    const first = await create('send', { tools: always });
    const request = (await endOf(first)).output.at(-1);
    expect(request).toMatchObject({ type: 'mcp_approval_request', name: 'send' });
    await service.restart('SIGKILL');
    const answer = { type: 'mcp_approval_response', approval_request_id: request?.['id'], approve: true };
    const id = await create('send', { tools: always, input: [answer], previous_response_id: first });
    expect(await endOf(id)).toMatchObject({ status: 'completed', output: [{ type: 'mcp_call', output: 'done' }, {}] });
    expect(server.count('tools/call')).toBe(1);
  });
});
