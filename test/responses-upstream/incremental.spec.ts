import { describe, expect, it } from '@jest/globals';

import { useFreshService } from '../support/describe-service.js';
import { textsOf } from '../support/output.js';
import {
  customCall,
  functionCall,
  message,
  reasoning,
  type UpstreamItem,
} from '../support/responses-upstream/items.js';
import { ask, MODEL, shareResponsesService } from '../support/responses-upstream/start-responses-service.js';
import { SocketClient } from '../support/socket-client.js';
import type { WireResponse } from '../support/transport.js';

// Each test has it load what it needs.
const load = shareResponsesService();

type Member = Readonly<Record<string, unknown>>;

const user = (text: string): Member => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] });

const TOOL = { type: 'function', name: 'get_weather', parameters: { type: 'object', properties: {} }, strict: false };

const KEY = { prompt_cache_key: 'conversation-one' };

/** What a client that keeps no state sends next: all it sent, all it got, and more. */
const replay = (
  input: readonly unknown[],
  { output }: WireResponse,
  ...more: readonly unknown[]
): readonly unknown[] => [...input, ...(output as readonly unknown[]), ...more];

const outputOf = (call: UpstreamItem, output: string): Member => ({
  type: `${call.type}_output`,
  call_id: call['call_id'],
  output,
});

describe('§4.4 incremental requests of codex-2026-11', () => {
  const service = useFreshService(() => load({ entry: { supports_websockets: true } }));

  const frame = (): Member => service.upstream.lastCall.body;

  it('incremental requests name the last response and carry only new items, for clients that name it too', async () => {
    const first = await ask(service, { input: 'One', instructions: 'Be kind.', tools: [TOOL] });
    const parent = service.upstream.lastCall.responseId;
    expect(frame()['previous_response_id']).toBeUndefined();
    await ask(service, {
      input: 'Two',
      instructions: 'Be kind.',
      tools: [TOOL],
      previous_response_id: first.response.id,
    });
    expect(frame()).toMatchObject({ type: 'response.create', previous_response_id: parent });
    expect(textsOf(frame()['input'] as readonly unknown[])).toEqual(['Two']);
    // Everything else is sent in full.
    expect(frame()).toMatchObject({ model: 'upstream-model', instructions: 'Be kind.', tools: [TOOL] });
    expect(textsOf(service.upstream.lastCall.context)).toEqual(['One', 'ok', 'Two']);
  });

  it('incremental requests name the last response and carry only new items, for clients that replay everything', async () => {
    const call = functionCall('get_weather', { city: 'Paris' });
    const thought = reasoning(['Hm.'], { encrypted_content: 'sealed' });
    service.upstream.say(thought, message('Wait.'), call);
    const input = [user('Weather?')];
    const body = { ...KEY, store: false, tools: [TOOL] };
    const first = await ask(service, { ...body, input });
    const parent = service.upstream.lastCall.responseId;
    await ask(service, { ...body, input: replay(input, first.response, outputOf(call, 'sunny')) });
    expect(frame()).toMatchObject({ previous_response_id: parent, input: [{ output: 'sunny' }] });
    expect(frame()['input']).toHaveLength(1);
    expect(service.upstream.lastCall.context).toHaveLength(5);
  });

  it('incremental requests follow a replay as Codex sends it: without ids and with members that it adds', async () => {
    const call = customCall('apply_patch', '*** Begin Patch');
    service.upstream.say(reasoning(['Hm.'], { encrypted_content: 'sealed' }), message('Wait.'), call);
    const input = [user('Patch!')];
    const first = await ask(service, { ...KEY, store: false, input });
    const parent = service.upstream.lastCall.responseId;
    const [thought, said, made] = first.response['output'] as readonly Member[];
    const again = [
      ...input,
      { ...thought, content: null },
      withoutMember(said, 'id'),
      withoutMember(made, 'status'),
      outputOf(call, 'done'),
    ];
    await ask(service, { ...KEY, store: false, input: again });
    expect(frame()).toMatchObject({ previous_response_id: parent, input: [{ output: 'done' }] });
  });

  it('incremental requests go on over many turns of an agent', async () => {
    const client = await SocketClient.open(service);
    let input: readonly unknown[] = [user('Go.')];
    for (let turn = 0; turn < 20; turn += 1) {
      const call = functionCall('step', { turn });
      service.upstream.say(call);
      const { response } = await client.turn({ model: MODEL, store: false, tools: [TOOL], input, ...KEY });
      input = replay(input, response, outputOf(call, `done ${turn}`));
    }
    await client.close();
    const sizes = service.upstream.calls.map(({ body }) => body.input?.length);
    expect(sizes).toEqual(sizes.map(() => 1));
    expect(service.upstream.lastCall.context).toHaveLength(39);
  });

  it('incremental requests may have no new items at all', async () => {
    const input = [user('One')];
    const first = await ask(service, { ...KEY, store: false, input });
    const parent = service.upstream.lastCall.responseId;
    await ask(service, { ...KEY, store: false, input: replay(input, first.response) });
    expect(frame()).toMatchObject({ previous_response_id: parent, input: [] });
  });

  it.each<[changed: string, before: object, after: object]>([
    ['tools', { tools: [TOOL] }, { tools: [{ ...TOOL, name: 'other' }] }],
    ['instructions', { instructions: 'Be kind.' }, { instructions: 'Be brief.' }],
    ['tool_choice', { tools: [TOOL] }, { tools: [TOOL], tool_choice: 'none' }],
    ['parallel_tool_calls', {}, { parallel_tool_calls: false }],
    ['reasoning', { reasoning: { effort: 'low' } }, { reasoning: { effort: 'high' } }],
    ['text', {}, { text: { verbosity: 'low' } }],
    ['service_tier', {}, { service_tier: 'flex' }],
    ['include', {}, { include: ['message.output_text.logprobs'] }],
  ])('requests are whole when %s changed', async (_, before, after) => {
    const first = await ask(service, { ...KEY, ...before, input: 'One' });
    await ask(service, { ...KEY, ...after, input: 'Two', previous_response_id: first.response.id });
    expect(frame()['previous_response_id']).toBeUndefined();
    expect(textsOf(service.upstream.lastCall.context)).toEqual(['One', 'ok', 'Two']);
    expect(service.upstream.upgrades).toHaveLength(1);
  });

  it.each<[name: string, before: object, after: object]>([
    ['client_metadata', { client_metadata: { turn: '1' } }, { client_metadata: { turn: '2' } }],
    ['stream_options', {}, { stream_options: { include_obfuscation: false } }],
  ])('incremental requests do not mind another %s', async (_, before, after) => {
    const first = await ask(service, { ...KEY, ...before, input: 'One' });
    await ask(service, { ...KEY, ...after, input: 'Two', previous_response_id: first.response.id });
    expect(frame()['previous_response_id']).toBeDefined();
  });

  it('requests are whole when the history was rewritten', async () => {
    const first = await ask(service, { ...KEY, store: false, input: [user('One')] });
    await ask(service, { ...KEY, store: false, input: replay([user('Uno')], first.response, user('Two')) });
    expect(frame()['previous_response_id']).toBeUndefined();
    expect(textsOf(service.upstream.lastCall.context)).toEqual(['Uno', 'ok', 'Two']);
  });

  it('requests are whole for a fork of an earlier response', async () => {
    const first = await ask(service, { ...KEY, input: 'One' });
    const second = await ask(service, { ...KEY, input: 'Two', previous_response_id: first.response.id });
    await ask(service, { ...KEY, input: 'Other', previous_response_id: first.response.id });
    expect(textsOf(service.upstream.lastCall.context)).toEqual(['One', 'ok', 'Other']);
    await ask(service, { ...KEY, input: 'Three', previous_response_id: second.response.id });
    expect(textsOf(service.upstream.lastCall.context)).toEqual(['One', 'ok', 'Two', 'ok', 'Three']);
  });

  it('requests are whole on a new socket', async () => {
    const first = await ask(service, { ...KEY, input: 'One' });
    await (await service.upstream.socket()).terminate();
    await ask(service, { ...KEY, input: 'Two', previous_response_id: first.response.id });
    expect(frame()['previous_response_id']).toBeUndefined();
    expect(textsOf(service.upstream.lastCall.context)).toEqual(['One', 'ok', 'Two']);
  });

  it('incremental requests are repeated with the whole context, once, when the upstream has forgotten the response', async () => {
    const first = await ask(service, { ...KEY, input: 'One' });
    service.upstream.forget();
    await ask(service, { ...KEY, input: 'Two', previous_response_id: first.response.id });
    const [, incremental, whole, ...others] = service.upstream.calls;
    expect(incremental?.body.previous_response_id).toBeDefined();
    expect(whole?.body.previous_response_id).toBeUndefined();
    expect(textsOf(whole?.context ?? [])).toEqual(['One', 'ok', 'Two']);
    expect(others).toEqual([]);
  });

  it('incremental requests send less than a tenth of the whole at turn 20', async () => {
    const first = await ask(service, { ...KEY, input: 'x'.repeat(2000) });
    let last = first.response.id;
    for (let turn = 1; turn < 20; turn += 1) {
      service.upstream.say(message('y'.repeat(2000)));
      last = (await ask(service, { ...KEY, input: `Turn ${turn}`, previous_response_id: last })).response.id;
    }
    const { bytes, context } = service.upstream.lastCall;
    expect(bytes / JSON.stringify(context).length).toBeLessThan(0.1);
  });
});

describe('§4.4 incremental requests of codex-2026-02', () => {
  const entry = { supports_websockets: true, profile: 'codex-2026-02', features: { responses_websockets: true } };
  const service = useFreshService(() => load({ entry }));

  const frame = (): Member => service.upstream.lastCall.body;

  it('incremental requests of codex-2026-02 append what is new behind the input of the last request', async () => {
    const input = [user('One')];
    await ask(service, { ...KEY, store: false, input });
    await ask(service, { ...KEY, store: false, input: [...input, user('Two')] });
    expect(frame()).toEqual({ type: 'response.append', input: [expect.objectContaining({ role: 'user' })] });
    expect(textsOf(frame()['input'] as readonly unknown[])).toEqual(['Two']);
  });

  it('requests of codex-2026-02 are whole when the input is equal but not longer', async () => {
    const input = [user('One')];
    await ask(service, { ...KEY, store: false, input });
    await ask(service, { ...KEY, store: false, input });
    expect(frame()).toMatchObject({ type: 'response.create' });
    expect(textsOf(frame()['input'] as readonly unknown[])).toEqual(['One']);
  });

  it('requests of codex-2026-02 are whole when the input has another beginning', async () => {
    await ask(service, { ...KEY, store: false, input: [user('One')] });
    await ask(service, { ...KEY, store: false, input: [user('Uno'), user('Two')] });
    expect(frame()).toMatchObject({ type: 'response.create' });
    expect(frame()['input']).toHaveLength(2);
  });

  it('requests of codex-2026-02 are whole when other members changed', async () => {
    const input = [user('One')];
    await ask(service, { ...KEY, store: false, input });
    await ask(service, { ...KEY, store: false, input: [...input, user('Two')], instructions: 'Be brief.' });
    expect(frame()).toMatchObject({ type: 'response.create', instructions: 'Be brief.' });
    expect(frame()['input']).toHaveLength(2);
  });

  it('requests of codex-2026-02 are whole when the input is shorter', async () => {
    await ask(service, { ...KEY, store: false, input: [user('One'), user('Two')] });
    await ask(service, { ...KEY, store: false, input: [user('One')] });
    expect(frame()).toMatchObject({ type: 'response.create' });
  });
});

function withoutMember(item: Member | undefined, name: string): Member {
  return Object.fromEntries(Object.entries(item ?? {}).filter(([member]) => member !== name));
}
