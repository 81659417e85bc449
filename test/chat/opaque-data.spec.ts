import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

import { BackgroundLog } from '../support/background-attempts.js';
import { whenEnded } from '../support/background.js';
import { callChunk, chunk, entry, finish, streamOf } from './chunk-stream.js';
import { ChatUpstream } from '../support/chat-upstream/chat-upstream.js';
import { type ChatService, MODEL, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { EARLY, longText } from '../support/compaction.js';
import { useService } from '../support/describe-service.js';
import { SocketClient } from '../support/socket-client.js';
import { EVERY_STATE, type TestState } from '../support/state-backends.js';
import { runTools, TestPolicy } from '../support/test-policy.js';

type Members = Readonly<Record<string, unknown>>;

const TOOLS = [
  { type: 'function' as const, name: 'look', parameters: { type: 'object', properties: {} }, strict: null },
];
const OUTPUT = { type: 'function_call_output' as const, call_id: 'call_one', output: 'One.' };
const SIGNATURE = 'c2lnbmF0dXJl';
const SIGNED = { extra_content: { google: { thought_signature: SIGNATURE } } };
const CALLING = streamOf([
  chunk({ reasoning_details: [{ type: 'reasoning.encrypted', data: 'RU5D', id: 'rs_up' }] }),
  callChunk([entry('look', '{}', { index: 0, id: 'call_one', ...SIGNED })]),
  finish('tool_calls'),
]);
const ASKING = { model: MODEL, input: 'Look.', tools: TOOLS };
const AGAIN = {
  reasoning_details: [{ type: 'reasoning.encrypted', data: 'RU5D', id: 'rs_up' }],
  tool_calls: [{ id: 'call_one', ...SIGNED }],
};

const provider = { discover: false, retries: 0 };

/** The assistant message of the last request. */
function lastAnswer({ requests }: ChatUpstream): Members | undefined {
  const messages = requests.at(-1)?.body['messages'] as readonly Members[];
  return messages.findLast(({ role }) => role === 'assistant');
}

describe.each(EVERY_STATE)('opaque data of an upstream, stored in $state', ({ open }) => {
  let state: TestState;
  let service: ChatService;

  beforeAll(async () => {
    state = await open();
    service = await startChatService({ provider, environment: state.environment });
  });
  afterAll(async () => {
    await service.close();
    await state.drop();
  });

  it('opaque data comes back to its upstream in a chain, and no client sees it', async () => {
    service.upstream.replay(CALLING);
    const { responses } = service.client();
    const { id } = await responses.create(ASKING);
    await responses.create({ model: MODEL, previous_response_id: id, input: [OUTPUT], tools: TOOLS });
    expect(lastAnswer(service.upstream)).toMatchObject(AGAIN);
    const seen = [await responses.retrieve(id), await responses.inputItems.list(id)];
    expect(JSON.stringify(seen)).not.toMatch(/RU5D|signature/);
  });

  it('opaque data comes back to its upstream in a conversation, and no client sees it', async () => {
    service.upstream.replay(CALLING);
    const { conversations, responses } = service.client();
    const conversation = await conversations.create({});
    await responses.create({ ...ASKING, conversation: conversation.id });
    await responses.create({ model: MODEL, conversation: conversation.id, input: [OUTPUT], tools: TOOLS });
    expect(lastAnswer(service.upstream)).toMatchObject({ tool_calls: [{ id: 'call_one' }] });
    expect(service.upstream.requests.at(-1)?.body['messages']).toMatchObject([{}, AGAIN, {}]);
    const { data } = await conversations.items.list(conversation.id);
    expect(data.map(({ type }) => type).sort()).toEqual([
      'function_call',
      'function_call_output',
      'message',
      'message',
    ]);
  });

  it('opaque data comes back to its upstream behind a response in the background', async () => {
    service.upstream.replay(CALLING);
    const { responses } = service.client();
    const { id } = await responses.create({ ...ASKING, background: true });
    const ended = await whenEnded(service, id);
    expect(JSON.stringify(ended)).not.toMatch(/RU5D|signature/);
    await responses.create({ model: MODEL, previous_response_id: id, input: [OUTPUT], tools: TOOLS });
    expect(lastAnswer(service.upstream)).toMatchObject(AGAIN);
  });
});

describe('opaque data of an upstream', () => {
  const policy = new TestPolicy();
  const service = useService(async () => {
    const upstream = await ChatUpstream.start();
    const elsewhere = { ...provider, base_url: upstream.baseUrl };
    const responses = { kind: 'responses', discover: false, base_url: upstream.baseUrl };
    const names = ['upstream', 'elsewhere', 'responses'];
    const started = await startChatService({
      upstream,
      provider,
      providersBeside: { elsewhere, responses },
      models: names.map((name) => ({
        name: name === 'upstream' ? MODEL : name,
        provider: name,
        model: 'upstream-model',
      })),
      imports: [policy.asModule()],
    });
    const close = async (): Promise<void> => {
      await started.close();
      await upstream.close();
    };
    return { ...started, close, [Symbol.asyncDispose]: close };
  });

  it('opaque data is kept by a socket for a client that stores nothing', async () => {
    service.upstream.replay(CALLING);
    await using socket = await SocketClient.open(service);
    const { response } = await socket.turn({ ...ASKING, store: false });
    await socket.turn({ model: MODEL, previous_response_id: response.id, input: [OUTPUT], store: false });
    expect(lastAnswer(service.upstream)).toMatchObject(AGAIN);
  });

  it.each([
    ['kept', {}],
    ['sealed', { include: ['reasoning.encrypted_content' as const] }],
  ])(
    'opaque data of an upstream is %s between two passes of a turn, also when its process dies between them',
    async (_, members) => {
      policy.follow = () => runTools('look');
      service.upstream.replay(CALLING);
      const before = await BackgroundLog.queue(service, { ...ASKING, ...members }).run();
      expect(lastAnswer(service.upstream)).toMatchObject(AGAIN);
      const asked = service.upstream.requests.length;
      await before.upTo('given').run();
      expect(service.upstream.requests).toHaveLength(asked + 1);
      expect(lastAnswer(service.upstream)).toMatchObject(AGAIN);
      policy.follow = () => undefined;
    },
  );

  it('opaque data stays with a call that a compaction leaves as it is', async () => {
    service.upstream.replay(CALLING).answer({ text: 'SUMMARY' });
    const { responses } = service.client();
    const input = [
      { role: 'user' as const, content: longText('first', 1500) },
      { role: 'assistant' as const, content: 'Seen.' },
      { role: 'user' as const, content: 'Look.' },
    ];
    const { id } = await responses.create({ ...ASKING, input });
    const next = { model: MODEL, previous_response_id: id, input: [OUTPUT], tools: TOOLS, context_management: EARLY };
    const compacted = await responses.create(next);
    expect(compacted.output).toMatchObject([{ type: 'compaction' }, { type: 'message' }]);
    expect(JSON.stringify(service.upstream.requests.at(-1)?.body)).toContain('SUMMARY');
    expect(lastAnswer(service.upstream)).toMatchObject(AGAIN);
    expect(JSON.stringify(compacted)).not.toMatch(/RU5D|signature/);
  });

  it.each([
    ['kept', {}],
    ['sealed', { include: ['reasoning.encrypted_content' as const] }],
  ])('opaque data reaches no other upstream that a chain goes on at: %s', async (_, members) => {
    service.upstream.replay(CALLING);
    const { responses } = service.client();
    const { id } = await responses.create({ ...ASKING, ...members });
    const next = { previous_response_id: id, input: [OUTPUT], tools: TOOLS };
    await responses.create({ model: 'elsewhere', ...next });
    expect(lastAnswer(service.upstream)).toMatchObject({ tool_calls: [{ id: 'call_one' }] });
    expect(JSON.stringify(service.upstream.requests.at(-1)?.body)).not.toMatch(/RU5D|signature/);
    // It speaks another language, and only what it was asked counts.
    await expect(responses.create({ model: 'responses', ...next })).rejects.toThrow();
    const asked = JSON.stringify(service.upstream.strays.at(-1)?.body);
    expect(asked).toContain('call_one');
    expect(asked).not.toMatch(/RU5D|signature|opaque/);
  });
});
