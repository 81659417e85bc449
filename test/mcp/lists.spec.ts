import type { ServerResponse } from 'node:http';

import { afterAll, expect, it } from '@jest/globals';

import { type FakeMcpRequest, FakeMcpServer, ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { writeMcpServers } from '../support/temporary-file.js';
import { startService } from '../support/service.js';

const server = await FakeMcpServer.start([{ name: 'new' }]);
const path = await writeMcpServers({ docs: { url: server.url } });

afterAll(async () => {
  await server.close();
});

const service = useService(
  () => startService({ providers: [ScriptedProvider], environment: { MCP_SERVERS: path } }) as never,
);

it('the service lists the tools of an MCP server again when they have changed while it asked for them', async () => {
  const listens = Promise.withResolvers<ServerResponse>();
  server.listening = (answer) => {
    answer.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    listens.resolve(answer);
    return true;
  };
  const isPong = ({ message }: FakeMcpRequest): boolean => message.id === 'heard' && message.method === undefined;
  const answerLate = async (id: unknown, answer: ServerResponse): Promise<void> => {
    const stream = await listens.promise;
    stream.write('data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n');
    // Who answers this has heard that.
    stream.write('data: {"jsonrpc":"2.0","id":"heard","method":"ping"}\n\n');
    while (!server.requests.some(isPong)) await new Promise(setImmediate);
    const tools = [{ name: 'old', inputSchema: { type: 'object' } }];
    answer.setHeader('content-type', 'application/json');
    answer.end(JSON.stringify({ jsonrpc: '2.0', id, result: { tools } }));
  };
  server.behaviour = ({ message }, answer) => {
    if (message.method !== 'tools/list' || server.count('tools/list') > 1) return false;
    void answerLate(message.id, answer);
    return true;
  };
  const { provider } = service;
  provider.reply({ type: 'text', delta: 'One.' }).reply({ type: 'text', delta: 'Two.' });
  const body = { model: 'm', input: 'Go.', tools: [{ type: 'mcp', server_label: 'docs' }] };
  const { id } = await service.client().responses.create(body as never);
  await service.client().responses.create({ ...body, previous_response_id: id } as never);
  const offered = provider.turns.map(({ settings }) => settings.tools.map((tool) => Object(tool) as { name: string }));
  expect(offered.map((tools) => tools.map(({ name }) => name))).toEqual([['docs__old'], ['docs__new']]);
});
