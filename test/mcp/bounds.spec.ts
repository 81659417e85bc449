import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';

import { ModelProvider } from '../../src/index.js';
import { FakeMcpServer, FakeSearxng, ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { writeMcpServers } from '../support/temporary-file.js';
import { call, say, search } from '../support/scripted-calls.js';
import { itemsOf } from '../support/output.js';
import { startService } from '../support/service.js';
import type { WireResponse } from '../support/transport.js';

const PARALLEL = 2;
const SERVERS = 6;

const dice = await FakeMcpServer.start([{ name: 'roll', handler: () => 'four' }]);
const engine = await FakeSearxng.start([{ title: 'Tides', url: 'https://tides.example/', content: 'High at nine.' }]);
const labels = Array.from({ length: SERVERS }, (_, index) => `dice${index}`);
const path = await writeMcpServers(Object.fromEntries(labels.map((label) => [label, { url: `${dice.url}?${label}` }])));

afterAll(async () => {
  await Promise.all([dice.close(), engine.close()]);
});

/** A model that knows functions alone. */
@ModelProvider('scripted')
class PlainProvider extends ScriptedProvider {
  override readonly hostedTools = [];
}

const service = useService(
  () =>
    startService({
      providers: [PlainProvider],
      environment: {
        ...{ MCP_SERVERS: path, MCP_CLIENT_URLS: 'any', MCP_MAX_PARALLEL_CALLS: PARALLEL },
        ...{ WEB_SEARCH: 'searxng', WEB_SEARCH_URL: engine.url },
      },
    }) as never,
);

beforeEach(() => {
  dice.requests.length = 0;
  dice.behaviour = null;
});

const model = () => service.app.get(PlainProvider, { strict: false });
const toTool = (label: string, more: object = {}) => ({ type: 'mcp', server_label: label, ...more });
const ask = (body: object) =>
  service.client().responses.create({ model: 'm', input: 'Go.', ...body } as never) as unknown as Promise<WireResponse>;

describe('a request with many MCP tools', () => {
  it('a request with many MCP tools is refused beyond 64 servers, before one of them is asked', async () => {
    const many = Array.from({ length: 65 }, (_, index) =>
      toTool(`own${index}`, { server_url: `${dice.url}?${index}`, require_approval: 'never' }),
    );
    await expect(ask({ tools: many })).rejects.toMatchObject({ status: 400, param: 'tools', code: 'invalid_value' });
    expect(dice.requests).toEqual([]);
  });

  it('the service asks no more servers at once for their tools than MCP_MAX_PARALLEL_CALLS', async () => {
    const held: (() => void)[] = [];
    let isHeld = true;
    dice.behaviour = ({ message }, answer) => {
      if (message.method !== 'tools/list') return false;
      const result = { tools: [{ name: 'roll', inputSchema: { type: 'object' } }] };
      const reply = (): void => {
        answer.writeHead(200, { 'content-type': 'application/json' });
        answer.end(JSON.stringify({ jsonrpc: '2.0', id: message.id, result }));
      };
      if (isHeld) held.push(reply);
      else reply();
      return true;
    };
    const asked = ask({ tools: labels.map((label) => toTool(label)) });
    await dice.received('tools/list', PARALLEL);
    // Turns in which the others could have been asked.
    for (let turn = 0; turn < SERVERS; turn += 1) await ask({});
    expect(dice.count('tools/list')).toBe(PARALLEL);
    isHeld = false;
    for (const reply of held) reply();
    expect(itemsOf(await asked, 'mcp_list_tools')).toHaveLength(SERVERS);
  });

  it('the service counts the tokens of a request before an MCP server is asked, also where it chooses a tool of it', async () => {
    const choice = { type: 'mcp', server_label: 'dice0' } as const;
    const body = { model: 'm', input: 'Go.', tools: [toTool('dice0')], tool_choice: choice };
    const { input_tokens: counted } = await service.client().responses.inputTokens.count(body as never);
    expect(counted).toBeGreaterThan(0);
    expect(dice.requests).toEqual([]);
  });

  it('the service runs no more calls than max_tool_calls, of servers and searches together', async () => {
    model()
      .reply(...call('dice0__roll', {}), ...search('tide'))
      .reply(...say('x'));
    const tools = [toTool('dice0', { require_approval: 'never' }), { type: 'web_search' }];
    const response = await ask({ tools, max_tool_calls: 1 });
    expect([...itemsOf(response, 'mcp_call'), ...itemsOf(response, 'web_search_call')]).toHaveLength(1);
    expect(dice.count('tools/call') + engine.searches.length).toBe(1);
  });
});
