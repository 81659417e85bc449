import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, it } from '@jest/globals';

import { McpServers } from '../../src/tools/mcp/index.js';
import { FakeMcpServer, ScriptedProvider } from '../../src/testing/index.js';
import { freePort } from '../support/ports.js';
import { type Service, startService } from '../support/service.js';
import { calm } from './mcp-service.js';

let folder: string;
let fake: FakeMcpServer;
let service: Service;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'antiphon-mcp-'));
  fake = await FakeMcpServer.start([{ name: 'echo' }]);
  const path = join(folder, 'servers.yaml');
  await writeFile(
    path,
    `servers: { docs: { url: "${fake.url}" }, down: { url: "http://127.0.0.1:${await freePort()}/mcp" } }`,
  );
  const environment = { MCP_SERVERS: path, MCP_CLIENT_URLS: 'any', METRICS: true };
  service = await startService({ environment, providers: [ScriptedProvider] });
});

afterAll(async () => {
  await service.close();
  await fake.close();
  await rm(folder, { recursive: true, force: true });
});

it('the service shows MCP servers and their requests, those of clients as one', async () => {
  const servers = service.app.get(McpServers, { strict: false });
  const docs = servers.find({ type: 'mcp', server_label: 'docs' }, 'acme', 'tools[0]');
  await docs.list(calm);
  for (let n = 0; n < 3; n++) await docs.call('echo', { n }, { signal: calm });
  await servers.find({ type: 'mcp', server_label: 'down' }, 'acme', 'tools[0]').call('x', {}, { signal: calm });
  const own = { type: 'mcp', server_label: 'mine', server_url: `${fake.url}?mine` } as const;
  await servers.find(own, 'acme', 'tools[0]').call('none', {}, { signal: calm });
  const metrics = await (await fetch(`${service.origin}/metrics`)).text();
  expect(metrics.split('\n').filter((line) => line.startsWith('antiphon_mcp_requests_total'))).toEqual([
    'antiphon_mcp_requests_total{server="docs",kind="list",tool="",outcome="ok"} 1',
    'antiphon_mcp_requests_total{server="docs",kind="call",tool="echo",outcome="ok"} 3',
    'antiphon_mcp_requests_total{server="down",kind="call",tool="x",outcome="unreachable"} 1',
    'antiphon_mcp_requests_total{server="client",kind="call",tool="none",outcome="protocol"} 1',
  ]);
  expect(metrics).toContain('antiphon_mcp_request_seconds_count{server="docs",kind="call"} 3');
  expect(await (await fetch(`${service.origin}/readyz?verbose`)).json()).toMatchObject({
    status: 'ready',
    mcp_servers: [
      { name: 'docs', connections: 1, error: null },
      { name: 'down', connections: 0, error: 'The server could not be reached: ECONNREFUSED' },
    ],
  });
});

it('counts approvals that are asked for, and how they are answered', async () => {
  const model = service.app.get(ScriptedProvider, { strict: false });
  const calls = [1, 2, 3].map((n) => ({ type: 'function_call', name: 'docs__echo', callId: `call_${n}` }) as const);
  model.reply(...calls, { type: 'usage', input: 1, output: 1 });
  const tools = [{ type: 'mcp', server_label: 'docs', require_approval: 'always' }];
  const ask = (body: object) => service.client().responses.create({ model: 'm', tools, ...body } as never);
  const { id, output } = await ask({ input: 'Go.' });
  const [approved, refused] = output.filter(({ type }) => type === 'mcp_approval_request');
  const input = [
    { type: 'mcp_approval_response', approval_request_id: approved?.id, approve: true },
    { type: 'mcp_approval_response', approval_request_id: refused?.id, approve: false },
  ];
  await ask({ previous_response_id: id, input });
  const metrics = await (await fetch(`${service.origin}/metrics`)).text();
  expect(metrics.split('\n').filter((line) => line.startsWith('antiphon_mcp_approvals_total'))).toEqual([
    'antiphon_mcp_approvals_total{step="asked"} 3',
    'antiphon_mcp_approvals_total{step="approved"} 1',
    'antiphon_mcp_approvals_total{step="refused"} 1',
  ]);
});
