import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { ModelEvent } from '../../src/index.js';
import { FakeMcpServer, ScriptedProvider } from '../../src/testing/index.js';
import { useService } from '../support/describe-service.js';
import { writeMcpServers } from '../support/temporary-file.js';
import { call as callOf, USAGE } from '../support/scripted-calls.js';
import { itemsOf, typesOf } from '../support/output.js';
import { SocketClient } from '../support/socket-client.js';
import { startService } from '../support/service.js';
import type { WireResponse } from '../support/transport.js';

const server = await FakeMcpServer.start([
  { name: 'roll', description: 'Rolls dice.', annotations: { readOnlyHint: true }, handler: (): string => 'four' },
  { name: 'send', description: 'Sends a letter.' },
]);
const path = await writeMcpServers({ dice: { url: server.url } });

afterAll(async () => {
  await server.close();
});

const service = useService(
  () => startService({ providers: [ScriptedProvider], environment: { MCP_SERVERS: path } }) as never,
);

beforeEach(() => {
  service.provider.turns.length = 0;
  server.requests.length = 0;
});

const CAREFUL = { type: 'mcp', server_label: 'dice', require_approval: { never: { read_only: true } } } as const;

const call = (tool: string, args = '{}', key = tool): readonly ModelEvent[] => callOf(`dice__${tool}`, args, key);

const ask = async (body: object): Promise<WireResponse> =>
  (await service
    .client()
    .responses.create({ model: 'm', input: 'Go.', tools: [CAREFUL], ...body } as never)) as unknown as WireResponse;

describe('an approval', () => {
  it.each([
    ['whose arguments were changed', { arguments: '{"to":"Eve"}' }],
    ['of another server', { server_label: 'other' }],
    ['that was made up', { id: `mcpr_${'0'.repeat(52)}` }],
  ])('the service refuses an approval %s', async (_name, change) => {
    service.provider.reply(...call('send', '{"to":"Ann"}'), USAGE);
    const body = { model: 'm', input: 'Go.', tools: [CAREFUL], store: false };
    const response = (await service.client().responses.create(body as never)) as unknown as WireResponse;
    const [request] = itemsOf(response, 'mcp_approval_request');
    const forged = { ...request, ...change };
    const answer = {
      type: 'mcp_approval_response',
      approval_request_id: (forged as { id?: string }).id,
      approve: true,
    };
    const input = [{ role: 'user', content: 'Go.' }, forged, answer];
    const refused = service.client().responses.create({ ...body, input } as never);
    await expect(refused).rejects.toMatchObject({ status: 400, param: 'input[2].approval_request_id' });
    expect(server.count('tools/call')).toBe(0);
  });

  it('an approval is asked for by the annotations of the server alone, not by those of a list that a client has made up', async () => {
    service.provider.reply({ type: 'text', delta: 'Hello.' }).reply(...call('send'), USAGE);
    const body = { model: 'm', input: 'Hi.', tools: [CAREFUL], store: false };
    const first = (await service.client().responses.create(body as never)) as unknown as WireResponse;
    const [list] = itemsOf(first, 'mcp_list_tools');
    const tools = (list?.['tools'] as readonly object[]).map((tool) => ({
      ...tool,
      annotations: { readOnlyHint: true },
    }));
    const input = [
      { ...list, tools },
      { role: 'user', content: 'Go.' },
    ];
    const next = await service.client().responses.create({ ...body, input } as never);
    expect(typesOf(next as unknown as WireResponse)).toEqual(['mcp_list_tools', 'mcp_approval_request']);
    expect(server.count('tools/call')).toBe(0);
  });

  it('an approval whose list was brought back unchanged is decided without another list', async () => {
    service.provider
      .reply({ type: 'text', delta: 'Hello.' })
      .reply(...call('roll'), USAGE)
      .reply({ type: 'text', delta: 'A four.' });
    const body = { model: 'm', input: 'Hi.', tools: [CAREFUL], store: false };
    const first = (await service.client().responses.create(body as never)) as unknown as WireResponse;
    const input = [...(first.output as object[]), { role: 'user', content: 'Go.' }];
    const next = await service.client().responses.create({ ...body, input } as never);
    expect(typesOf(next as unknown as WireResponse)).toEqual(['mcp_call', 'message']);
    expect(server.count('tools/list')).toBe(1);
  });

  it('a list of tools is known again when a client brings it back with its members in another order, and null for missing ones', async () => {
    service.provider.reply({ type: 'text', delta: 'Hello.' }).reply({ type: 'text', delta: 'Hello again.' });
    const body = { model: 'm', input: 'Hi.', tools: [CAREFUL], store: false };
    const first = (await service.client().responses.create(body as never)) as unknown as WireResponse;
    const [list] = itemsOf(first, 'mcp_list_tools');
    const tools = (list?.['tools'] as readonly object[]).map((tool) => ({
      ...(Object.fromEntries(Object.entries(tool).toReversed()) as object),
      ...('annotations' in tool ? {} : { annotations: null }),
    }));
    const input = [
      { ...list, tools },
      { role: 'user', content: 'Go on.' },
    ];
    const next = await service.client().responses.create({ ...body, input } as never);
    expect(typesOf(next as unknown as WireResponse)).toEqual(['message']);
    expect(server.count('tools/list')).toBe(1);
  });

  it('an approval that was denied is answered: it cannot be approved afterwards', async () => {
    service.provider.reply(...call('send'), USAGE).reply({ type: 'text', delta: 'Fine.' });
    const first = await ask({ input: 'Go.' });
    const [request] = itemsOf(first, 'mcp_approval_request');
    const answer = { type: 'mcp_approval_response', approval_request_id: request?.['id'] };
    await ask({ previous_response_id: first.id, input: [{ ...answer, approve: false }] });
    const again = ask({ previous_response_id: first.id, input: [{ ...answer, approve: true }] });
    await expect(again).rejects.toMatchObject({ status: 400 });
    expect(server.count('tools/call')).toBe(0);
  });

  it('an approval that was answered before is refused, also where the tools would have to be listed first', async () => {
    service.provider.reply(...call('send'), USAGE).reply({ type: 'text', delta: 'Sent.' });
    const [request] = itemsOf(await ask({ store: false }), 'mcp_approval_request');
    const answer = { type: 'mcp_approval_response', approval_request_id: request?.['id'], approve: true };
    const next = { input: [{ role: 'user', content: 'Go.' }, request, answer], store: false };
    await ask(next);
    await expect(ask(next)).rejects.toMatchObject({ status: 400, message: expect.stringContaining('answered before') });
    expect(server.count('tools/call')).toBe(1);
  });

  it('an approval is left open when the tools cannot be listed', async () => {
    service.provider.reply(...call('send'), USAGE).reply({ type: 'text', delta: 'Sent.' });
    const [request] = itemsOf(await ask({ store: false }), 'mcp_approval_request');
    const answer = { type: 'mcp_approval_response', approval_request_id: request?.['id'], approve: true };
    const next = { input: [{ role: 'user', content: 'Go.' }, request, answer], store: false };
    server.behaviour = ({ message }, reply) => {
      if (message.method === 'tools/list') reply.writeHead(500).end();
      return message.method === 'tools/list';
    };
    expect(await ask(next)).toMatchObject({ status: 'failed', error: { code: 'http_error' } });
    server.behaviour = null;
    expect(typesOf(await ask(next))).toEqual(['mcp_list_tools', 'mcp_call', 'message']);
  });

  it('an approval beyond max_tool_calls is left open', async () => {
    service.provider.reply(...call('send', '{"n":1}', 'a'), ...call('send', '{"n":2}', 'b'), USAGE);
    const first = await ask({ input: 'Go.' });
    const input = itemsOf(first, 'mcp_approval_request').map(({ id }) => ({
      type: 'mcp_approval_response',
      approval_request_id: id,
      approve: true,
    }));
    service.provider.reply({ type: 'text', delta: 'One is sent.' });
    const next = await ask({ previous_response_id: first.id, input, max_tool_calls: 1 });
    expect(typesOf(next)).toEqual(['mcp_call', 'message']);
    expect(server.count('tools/call')).toBe(1);
  });

  it('an approval is refused in a warm-up, and taken in the turn behind it', async () => {
    await using client = await SocketClient.open(service);
    service.provider.reply(...call('send'), USAGE).reply({ type: 'text', delta: 'Sent.' });
    const { response } = await client.turn({ input: 'Go.', tools: [CAREFUL] });
    const id = itemsOf(response, 'mcp_approval_request')[0]?.['id'];
    const input = [{ type: 'mcp_approval_response', approval_request_id: id, approve: true }];
    const next = { input, tools: [CAREFUL], previous_response_id: response.id };
    expect(await client.refusal({ ...next, generate: false })).toMatchObject({ error: { param: 'input[0]' } });
    expect(typesOf((await client.turn(next)).response)).toEqual(['mcp_call', 'message']);
  });

  it('an approval beyond max_tool_calls can be given again by the next request', async () => {
    service.provider.reply(...call('send', '{"n":1}', 'a'), ...call('send', '{"n":2}', 'b'), USAGE);
    const first = await ask({ input: 'Go.' });
    const answers = itemsOf(first, 'mcp_approval_request').map(({ id }) => ({
      type: 'mcp_approval_response',
      approval_request_id: id,
      approve: true,
    }));
    service.provider.reply({ type: 'text', delta: 'One is sent.' }).reply({ type: 'text', delta: 'Both are sent.' });
    const next = await ask({ previous_response_id: first.id, input: answers, max_tool_calls: 1 });
    const last = await ask({ previous_response_id: next.id, input: answers.slice(1) });
    expect(typesOf(last)).toEqual(['mcp_call', 'message']);
    expect(server.count('tools/call')).toBe(2);
  });

  it.each([true, false])(
    'an answer of %s to an approval stands in the context that a client brings back',
    async (approve) => {
      service.provider
        .reply(...call('send'), USAGE)
        .reply({ type: 'text', delta: 'Sent.' })
        .reply({ type: 'text', delta: 'You are welcome.' });
      const context: object[] = [{ role: 'user', content: 'Go.' }];
      const turn = async (...items: readonly object[]): Promise<WireResponse> => {
        context.push(...items);
        const response = await ask({ store: false, input: context });
        context.push(...(response.output as object[]));
        return response;
      };
      const [request] = itemsOf(await turn(), 'mcp_approval_request');
      await turn({ type: 'mcp_approval_response', approval_request_id: request?.['id'], approve });
      expect(typesOf(await turn({ role: 'user', content: 'Thanks.' }))).toEqual(['message']);
      expect(server.count('tools/call')).toBe(approve ? 1 : 0);
    },
  );
});
