import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

import type { ModelEvent } from '../../src/index.js';
import { FakeMcpServer, ScriptedProvider } from '../../src/testing/index.js';
import { writeMcpServers } from '../support/temporary-file.js';
import { type Replicas, startReplicas } from '../support/state-backends.js';
import type { Service } from '../support/service.js';
import type { WireResponse } from '../support/transport.js';

const TURNS = 50;
/** Answers to one approval at once, half of them on each replica. */
const ANSWERS = 8;

const server = await FakeMcpServer.start([
  { name: 'read', annotations: { readOnlyHint: true }, handler: () => 'read' },
  { name: 'send', handler: () => 'sent' },
]);
const path = await writeMcpServers({ mail: { url: server.url } });

afterAll(async () => {
  await server.close();
});

const TOOLS = [{ type: 'mcp', server_label: 'mail', require_approval: { never: { read_only: true } } }];

const call = (name: string, key = name): readonly ModelEvent[] => [
  { type: 'function_call', name: `mail__${name}`, callId: `call_${key}`, key },
  { type: 'usage', input: 1, output: 1 },
];

describe('MCP servers of two replicas over PostgreSQL', () => {
  let replicas: Replicas;
  beforeAll(async () => {
    replicas = await startReplicas({ providers: [ScriptedProvider], environment: { MCP_SERVERS: path } });
  });
  afterAll(() => replicas.close());
  beforeEach(() => void (server.requests.length = 0));

  const reply = (service: Service, ...events: readonly ModelEvent[]): void =>
    void service.app.get(ScriptedProvider).reply(...events);
  const ask = async (service: Service, body: object): Promise<WireResponse> =>
    (await service.client({ maxRetries: 0 }).responses.create({
      model: 'm',
      input: 'Go.',
      tools: TOOLS,
      ...body,
    } as never)) as unknown as WireResponse;

  it(`MCP servers of two replicas are asked for their tools once in a chain of ${TURNS} turns`, async () => {
    let previous: string | null = null;
    for (let turn = 0; turn < TURNS; turn++) {
      const service = turn % 2 === 0 ? replicas.one : replicas.two;
      reply(service, ...call('read'));
      reply(service, { type: 'text', delta: 'Done.' });
      previous = (await ask(service, { previous_response_id: previous })).id;
    }
    expect(server.count('tools/list')).toBe(1);
    expect(server.count('tools/call')).toBe(TURNS);
  });

  it('two replicas leave an approval open when another one in its request was answered on the other replica', async () => {
    reply(replicas.one, ...call('send', 'a').slice(0, 1), ...call('send', 'b'));
    const { id, output } = await ask(replicas.one, {});
    const [first, second] = (output as readonly { readonly id: string }[]).slice(-2).map((request) => ({
      type: 'mcp_approval_response',
      approval_request_id: request.id,
      approve: true,
    }));
    for (const service of [replicas.one, replicas.two]) reply(service, { type: 'text', delta: 'Sent.' });
    await ask(replicas.two, { previous_response_id: id, input: [second] });
    const both = ask(replicas.one, { previous_response_id: id, input: [first, second] });
    await expect(both).rejects.toMatchObject({ status: 400, message: expect.stringContaining('answered before') });
    await ask(replicas.one, { previous_response_id: id, input: [first] });
    expect(server.count('tools/call')).toBe(2);
  });

  it('two replicas run an MCP call once whose approval is given on both at once', async () => {
    reply(replicas.one, ...call('send'));
    const { id, output } = await ask(replicas.one, {});
    const request = (output as readonly { readonly id: string; readonly type: string }[]).at(-1);
    expect(request?.type).toBe('mcp_approval_request');
    const answer = { type: 'mcp_approval_response', approval_request_id: request?.id, approve: true };
    const answers = Array.from({ length: ANSWERS }, (_, index) => {
      const service = index % 2 === 0 ? replicas.one : replicas.two;
      reply(service, { type: 'text', delta: 'Sent.' });
      return ask(service, { previous_response_id: id, input: [answer] });
    });
    const outcomes = await Promise.allSettled(answers);
    // The replies of those that were refused are left: no test may follow.
    const refused = outcomes.filter(({ status }) => status === 'rejected');
    expect(refused).toHaveLength(ANSWERS - 1);
    for (const each of refused) expect(each).toMatchObject({ reason: { status: 400 } });
    expect(server.count('tools/call')).toBe(1);
  });
});
