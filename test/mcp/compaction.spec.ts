import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';

import { Environment } from '../../src/config/index.js';
import { FakeClock, FakeMcpServer, ScriptedProvider } from '../../src/testing/index.js';
import { Clock } from '../../src/time/index.js';
import { BACKGROUND_TRANSPORT } from '../support/background.js';
import { EARLY, longText, say, SmallProvider, TRIGGER } from '../support/compaction.js';
import { useService } from '../support/describe-service.js';
import { itemsOf, typesOf } from '../support/output.js';
import { call, USAGE } from '../support/scripted-calls.js';
import { type ServiceOptions, startService } from '../support/service.js';
import { writeMcpServers } from '../support/temporary-file.js';
import type { WireResponse } from '../support/transport.js';
import { TRANSPORTS } from '../support/transports.js';

const server = await FakeMcpServer.start([{ name: 'send', description: 'Sends a letter.' }]);
const path = await writeMcpServers({ dice: { url: server.url } });

afterAll(async () => {
  await server.close();
});

const start = (provider: typeof ScriptedProvider, overrides: ServiceOptions['overrides'] = []): never =>
  startService({ providers: [provider], environment: { MCP_SERVERS: path }, overrides }) as never;

const service = useService(() => start(ScriptedProvider));
const clock = new FakeClock();
const timed = useService(() => start(ScriptedProvider, [[Clock, clock]]));
const small = useService(() => start(SmallProvider));

beforeEach(() => {
  service.provider.turns.length = 0;
  server.requests.length = 0;
});

const BODY = { model: 'm', tools: [{ type: 'mcp', server_label: 'dice', require_approval: 'always' }] };

const ASKED = [...call('dice__send', '{"to":"Ann"}'), USAGE];

function answerTo(response: WireResponse): object {
  const [request] = itemsOf(response, 'mcp_approval_request');
  return { type: 'mcp_approval_response', approval_request_id: request?.['id'], approve: true };
}

describe.each([...TRANSPORTS, BACKGROUND_TRANSPORT])('an approval behind a compaction, over $name', (transport) => {
  it('an approval is answered behind a trigger, although its request was compacted', async () => {
    service.provider.reply(...ASKED).reply(...say('SUMMARY'));
    const asking = await transport.run(service, { ...BODY, input: 'Write to Ann.' });
    const trigger = { ...BODY, previous_response_id: asking.response.id, input: [TRIGGER] };
    const compacted = await transport.run(service, trigger);
    service.provider.reply(...say('Sent.'));
    const answer = { ...BODY, previous_response_id: compacted.response.id, input: [answerTo(asking.response)] };
    const { response } = await transport.run(service, answer);
    expect(typesOf(response)).toEqual(['mcp_list_tools', 'mcp_call', 'message']);
    expect(server.count('tools/call')).toBe(1);
  });

  it('an approval is answered in a turn that is compacted', async () => {
    service.provider
      .reply(...ASKED)
      .reply(...say('SUMMARY'))
      .reply(...say('Sent.'));
    const asking = await transport.run(service, { ...BODY, input: longText('Write', 1500) });
    const answer = { ...BODY, previous_response_id: asking.response.id, input: [answerTo(asking.response)] };
    const { response } = await transport.run(service, { ...answer, context_management: EARLY });
    expect(typesOf(response).toSorted()).toEqual(['compaction', 'mcp_call', 'message']);
  });

  it('an approval is answered after a turn that was compacted', async () => {
    service.provider
      .reply(...ASKED)
      .reply(...say('SUMMARY'))
      .reply(...say('I wait.'))
      .reply(...say('Sent.'));
    const asking = await transport.run(service, { ...BODY, input: longText('Write', 1500) });
    const later = { ...BODY, previous_response_id: asking.response.id, input: 'Wait.', context_management: EARLY };
    const waiting = await transport.run(service, later);
    expect(typesOf(waiting.response)).toEqual(['compaction', 'message']);
    const answer = { ...BODY, previous_response_id: waiting.response.id, input: [answerTo(asking.response)] };
    const { response } = await transport.run(service, answer);
    expect(typesOf(response)).toEqual(['mcp_list_tools', 'mcp_call', 'message']);
  });
});

describe('an approval', () => {
  it('an approval is answered by a client that stores nothing and begins with what /responses/compact gave it', async () => {
    service.provider.reply(...ASKED).reply(...say('SUMMARY'));
    const asking = await service.api.create({ ...BODY, input: 'Write to Ann.', store: false });
    const input = [{ role: 'user', content: 'Write to Ann.' }, ...(asking['output'] as object[])];
    const { body } = await service.api.post('responses/compact', { model: 'm', input });
    service.provider.reply(...say('Sent.'));
    const answer = [...(body['output'] as object[]), answerTo(asking)];
    const response = await service.api.create({ ...BODY, input: answer, store: false });
    expect(typesOf(response)).toEqual(['mcp_list_tools', 'mcp_call', 'message']);
  });

  it('an approval is answered in a conversation that was compacted', async () => {
    service.provider
      .reply(...ASKED)
      .reply(...say('SUMMARY'))
      .reply(...say('Sent.'));
    const { id } = await service.client().conversations.create();
    const within = { ...BODY, conversation: id };
    const asking = await service.api.create({ ...within, input: 'Write to Ann.' });
    await service.api.create({ ...within, input: [TRIGGER] });
    const response = await service.api.create({ ...within, input: [answerTo(asking)] });
    expect(typesOf(response)).toEqual(['mcp_list_tools', 'mcp_call', 'message']);
  });

  it('an approval that was denied, or whose call was run, is left to the summary', async () => {
    service.provider
      .reply(...ASKED)
      .reply(...say('Fine.'))
      .reply(...say('SUMMARY'));
    const asking = await service.api.create({ ...BODY, input: 'Write to Ann.' });
    const denied = { ...answerTo(asking), approve: false };
    const { id } = await service.api.create({ ...BODY, previous_response_id: asking.id, input: [denied] });
    const compacted = await service.api.create({ ...BODY, previous_response_id: id, input: [TRIGGER] });
    await service.api.create({ ...BODY, previous_response_id: compacted.id, input: 'Go on.' });
    expect(service.provider.turns.at(-1)?.context.map(({ type }) => type)).toEqual(['message', 'message', 'message']);
  });

  it('an approval that has expired is left to the summary, and the chain goes on', async () => {
    timed.provider
      .reply(...ASKED)
      .reply(...say('SUMMARY'))
      .reply(...say('Hello.'));
    const asking = await timed.api.create({ ...BODY, input: 'Write to Ann.' });
    clock.advance(new Environment().MCP_APPROVAL_TTL * 1000);
    const compacted = await timed.api.create({ ...BODY, previous_response_id: asking.id, input: [TRIGGER] });
    await timed.api.create({ ...BODY, previous_response_id: compacted.id, input: 'Hi.' });
    expect(timed.provider.turns.at(-1)?.context.map(({ type }) => type)).toEqual(['message', 'message', 'message']);
  });

  it('an approval that max_tool_calls has left open outlives a compaction', async () => {
    service.provider
      .reply(...call('dice__send', '{"to":"Ann"}', 'a'), ...call('dice__send', '{"to":"Bob"}', 'b'), USAGE)
      .reply(...say('One is sent.'))
      .reply(...say('SUMMARY'))
      .reply(...say('Both are sent.'));
    const asking = await service.api.create({ ...BODY, input: 'Write to both.' });
    const input = itemsOf(asking, 'mcp_approval_request').map(({ id }) => ({
      ...answerTo(asking),
      approval_request_id: id,
    }));
    const first = { ...BODY, previous_response_id: asking.id, input, max_tool_calls: 1 };
    const { id } = await service.api.create(first);
    const compacted = await service.api.create({ ...BODY, previous_response_id: id, input: [TRIGGER] });
    const last = { ...BODY, previous_response_id: compacted.id, input: input.slice(1) };
    expect(typesOf(await service.api.create(last))).toEqual(['mcp_list_tools', 'mcp_call', 'message']);
    expect(server.count('tools/call')).toBe(2);
  });

  it('an approval is answered although truncation drops what was said when it was asked for', async () => {
    small.app.get(SmallProvider).reply(...ASKED);
    const asking = await small.api.create({ ...BODY, input: 'Write to Ann.' });
    const next = { ...BODY, truncation: 'auto' };
    let previous_response_id = asking.id;
    for (let turn = 0; turn < 6; turn += 1) {
      const input = longText('Wait', 1000);
      ({ id: previous_response_id } = await small.api.create({ ...next, previous_response_id, input }));
    }
    const answer = { ...next, previous_response_id, input: [answerTo(asking)] };
    const response = await small.api.create(answer);
    expect(typesOf(response)).toContain('mcp_call');
  });
});
