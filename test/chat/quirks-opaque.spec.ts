import { describe, expect, it } from '@jest/globals';
import type { ResponseInputItem } from 'openai/resources/responses/responses';

import { callChunk, chunk, completion, entry, finish, streamOf } from './chunk-stream.js';
import { textReply } from '../support/chat-upstream/reply.js';
import { MODEL, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { useService } from '../support/describe-service.js';
import { JSON_TRANSPORT, TRANSPORTS, WS_TRANSPORT } from '../support/transports.js';

type Members = Readonly<Record<string, unknown>>;

const SIGNED = { google: { thought_signature: 'c2lnbmF0dXJl' } };
const TOOLS = [
  { type: 'function' as const, name: 'look', parameters: { type: 'object', properties: {} }, strict: null },
];
const QUESTION = { type: 'message' as const, role: 'user' as const, content: 'Look.' };
const OUTPUT = { type: 'function_call_output' as const, call_id: 'call_one', output: 'One.' };
const CALL = entry('look', '{}', { index: 0, id: 'call_one' });
const SENT = { id: 'call_one', type: 'function', function: { name: 'look', arguments: '{}' } };
const THOUGHT = { type: 'reasoning.text', format: 'anthropic-claude-v1', index: 0 };
const HIDDEN = { type: 'reasoning.encrypted', data: 'RU5D', id: 'rs_up', format: 'openai-responses-v1', index: 1 };
const BLOCK = { type: 'thinking', thinking: 'Where is it?', signature: 'c2ln' };

interface Case {
  readonly what: string;
  readonly stream: readonly object[];
  /** The same in one body. */
  readonly whole: object;
  /** What the assistant message has again, beside its role. */
  readonly sent: Members;
}

const CALLED = { finish_reason: 'tool_calls' };

const CALLS: readonly Case[] = [
  {
    what: "Gemini's signature of a call",
    stream: [callChunk([{ ...CALL, extra_content: SIGNED }]), finish('tool_calls')],
    whole: completion({ tool_calls: [{ ...CALL, extra_content: SIGNED }] }, CALLED),
    sent: { content: null, tool_calls: [{ ...SENT, extra_content: SIGNED }] },
  },
  {
    what: "Vertex' signature of a call, in a delta of its own",
    stream: [
      callChunk([CALL]),
      callChunk([{ index: 0, extra_content: { vertex: { thought_signature: 'dg==' } } }]),
      finish('tool_calls'),
    ],
    whole: completion({ tool_calls: [{ ...CALL, extra_content: { vertex: { thought_signature: 'dg==' } } }] }, CALLED),
    sent: { content: null, tool_calls: [{ ...SENT, extra_content: { vertex: { thought_signature: 'dg==' } } }] },
  },
  {
    what: 'a signature in a trailing delta without index',
    stream: [callChunk([CALL]), finish('tool_calls'), callChunk([{ extra_content: SIGNED }])],
    whole: completion({ tool_calls: [{ ...CALL, extra_content: SIGNED }] }, CALLED),
    sent: { content: null, tool_calls: [{ ...SENT, extra_content: SIGNED }] },
  },
  {
    what: 'a signature that comes before its call',
    stream: [callChunk([{ index: 0, extra_content: SIGNED }]), callChunk([CALL]), finish('tool_calls')],
    whole: completion({ tool_calls: [{ ...CALL, extra_content: SIGNED }] }, CALLED),
    sent: { content: null, tool_calls: [{ ...SENT, extra_content: SIGNED }] },
  },
  {
    what: 'a signature in the function, as some proxies have it',
    stream: [
      callChunk([{ ...CALL, function: { name: 'look', arguments: '{}', thought_signature: 'c2ln' } }]),
      finish('tool_calls'),
    ],
    whole: completion(
      { tool_calls: [{ ...CALL, function: { name: 'look', arguments: '{}', thought_signature: 'c2ln' } }] },
      CALLED,
    ),
    sent: { content: null, tool_calls: [{ ...SENT, function: { ...SENT.function, thought_signature: 'c2ln' } }] },
  },
  {
    what: "OpenRouter's reasoning_details, with a signature and an encrypted part",
    stream: [
      chunk({ reasoning: 'Where ', reasoning_details: [{ ...THOUGHT, text: 'Where ' }] }),
      chunk({ reasoning: 'is it?', reasoning_details: [{ ...THOUGHT, text: 'is it?' }] }),
      chunk({ reasoning_details: [{ ...THOUGHT, text: '', signature: 'c2ln' }] }),
      chunk({ content: 'I look.' }),
      chunk({ tool_calls: [CALL], reasoning_details: [HIDDEN] }),
      finish('tool_calls'),
    ],
    whole: completion(
      {
        content: 'I look.',
        reasoning: 'Where is it?',
        reasoning_details: [{ ...THOUGHT, text: 'Where is it?', signature: 'c2ln' }, HIDDEN],
        tool_calls: [CALL],
      },
      CALLED,
    ),
    sent: {
      content: 'I look.',
      reasoning_details: [{ ...THOUGHT, text: 'Where is it?', signature: 'c2ln' }, HIDDEN],
      tool_calls: [SENT],
    },
  },
  {
    what: 'reasoning_details that the last chunk has again, whole',
    stream: [
      chunk({ reasoning_details: [{ ...THOUGHT, text: 'Where ' }] }),
      chunk({ reasoning_details: [{ ...THOUGHT, text: 'is it?', signature: 'c2ln' }] }),
      callChunk([CALL]),
      completion(
        {
          reasoning_details: [{ ...THOUGHT, text: 'Where is it?', signature: 'c2ln' }, HIDDEN],
          tool_calls: [CALL],
        },
        CALLED,
      ),
    ],
    whole: completion(
      { reasoning_details: [{ ...THOUGHT, text: 'Where is it?', signature: 'c2ln' }, HIDDEN], tool_calls: [CALL] },
      CALLED,
    ),
    sent: {
      content: null,
      reasoning_details: [{ ...THOUGHT, text: 'Where is it?', signature: 'c2ln' }, HIDDEN],
      tool_calls: [SENT],
    },
  },
  {
    what: "Copilot's reasoning_opaque, beside its reasoning",
    stream: [
      chunk({ reasoning_text: 'Where ' }),
      chunk({ reasoning_text: 'is it?' }),
      callChunk([CALL]),
      chunk({ reasoning_opaque: 'b3BhcXVl' }, CALLED),
    ],
    whole: completion({ reasoning_text: 'Where is it?', reasoning_opaque: 'b3BhcXVl', tool_calls: [CALL] }, CALLED),
    sent: { content: null, reasoning_text: 'Where is it?', reasoning_opaque: 'b3BhcXVl', tool_calls: [SENT] },
  },
  {
    what: "Anthropic's thinking blocks",
    stream: [
      chunk({ thinking_blocks: [{ type: 'thinking', thinking: 'Where ', signature: null }] }),
      chunk({ thinking_blocks: [{ type: 'thinking', thinking: 'is it?' }] }),
      chunk({ thinking_blocks: [{ type: 'thinking', thinking: '', signature: 'c2ln' }] }),
      chunk({ thinking_blocks: [{ type: 'redacted_thinking', data: 'UkVE' }] }),
      callChunk([CALL]),
      finish('tool_calls'),
    ],
    whole: completion({ thinking_blocks: [BLOCK, { type: 'redacted_thinking', data: 'UkVE' }], tool_calls: [CALL] }),
    sent: {
      content: null,
      thinking_blocks: [BLOCK, { type: 'redacted_thinking', data: 'UkVE' }],
      tool_calls: [SENT],
    },
  },
  {
    what: 'thinking parts with a signature',
    stream: [chunk({ content: [BLOCK] }), chunk({ content: 'I look.' }), callChunk([CALL]), finish('tool_calls')],
    whole: completion({ content: [BLOCK, { type: 'text', text: 'I look.' }], tool_calls: [CALL] }, CALLED),
    sent: { content: [BLOCK, { type: 'text', text: 'I look.' }], tool_calls: [SENT] },
  },
];

const TEXTS: readonly Case[] = [
  {
    what: "Gemini's signature of a text",
    stream: [chunk({ content: 'Here.' }), chunk({ content: '', extra_content: SIGNED }), finish()],
    whole: completion({ content: 'Here.', extra_content: SIGNED }, { finish_reason: 'stop' }),
    sent: { content: 'Here.', extra_content: SIGNED },
  },
  {
    what: 'a signature of a text, in an entry of tool_calls without a call',
    stream: [chunk({ content: 'Here.' }), callChunk([{ extra_content: SIGNED }]), finish()],
    whole: completion({ content: 'Here.', tool_calls: [{ extra_content: SIGNED }] }, { finish_reason: 'stop' }),
    sent: { content: 'Here.', extra_content: SIGNED },
  },
  {
    what: 'a signature in a text part',
    stream: [chunk({ content: [{ type: 'text', text: 'Here.', extra_content: SIGNED }] }), finish()],
    whole: completion({ content: [{ type: 'text', text: 'Here.', extra_content: SIGNED }] }, { finish_reason: 'stop' }),
    sent: { content: [{ type: 'text', text: 'Here.', extra_content: SIGNED }] },
  },
  {
    what: 'no flag that a text is a thought',
    stream: [chunk({ content: 'Here.', extra_content: { google: { thought: true } } }), finish()],
    whole: completion({ content: 'Here.', extra_content: { google: { thought: true } } }, { finish_reason: 'stop' }),
    sent: { content: 'Here.' },
  },
];

const EACH = [...CALLS, ...TEXTS].map((each) => [each.what, each] as const);

/** Nothing that an upstream demands back may be read by a client. */
const SECRETS = /c2ln|RU5D|b3BhcXVl|UkVE|dg==|thought_signature|reasoning_details|thinking_blocks|opaque"/;

describe('what an upstream demands back', () => {
  const service = useService(() =>
    startChatService({
      provider: { discover: false, retries: 0 },
      models: [
        { name: MODEL, provider: 'upstream', model: 'upstream-model' },
        { name: 'other', provider: 'upstream', model: 'other-model' },
      ],
    }),
  );
  const answer = ({ stream, whole }: Case, isWhole: boolean): void => {
    if (isWhole) service.upstream.respond(textReply(JSON.stringify(whole), 'application/json'));
    else service.upstream.replay(streamOf(stream));
  };
  const asked = (): Members => {
    const messages = service.upstream.requests.at(-1)?.body['messages'] as readonly Members[];
    const { role: _, ...rest } = messages.find(({ role }) => role === 'assistant') ?? {};
    return rest;
  };
  const next = ({ output }: { readonly output: readonly { readonly type: string }[] }): ResponseInputItem[] =>
    output.some(({ type }) => type === 'function_call') ? [OUTPUT] : [{ ...QUESTION, content: 'And?' }];

  describe.each([
    ['in a stream', false],
    ['in one body', true],
  ])('%s', (_, isWhole) => {
    it.each(EACH)('opaque data is kept with a stored response, and sent again: %s', async (_, each) => {
      answer(each, isWhole);
      const first = await service.client().responses.create({ model: MODEL, input: [QUESTION], tools: TOOLS });
      expect(JSON.stringify(first)).not.toMatch(SECRETS);
      const previous_response_id = first.id;
      await service.client().responses.create({ model: MODEL, previous_response_id, input: next(first), tools: TOOLS });
      expect(asked()).toEqual(each.sent);
    });

    it.each(EACH)('opaque data is sealed for a client that keeps the context: %s', async (_, each) => {
      answer(each, isWhole);
      const stateless = { store: false, include: ['reasoning.encrypted_content' as const], tools: TOOLS };
      const stream = await service.client().responses.create({
        model: MODEL,
        input: [QUESTION],
        stream: true,
        ...stateless,
      });
      const events = await Array.fromAsync(stream);
      expect(JSON.stringify(events)).not.toMatch(SECRETS);
      const first = events.flatMap((event) => (event.type === 'response.completed' ? event.response : []))[0];
      if (first === undefined) throw new Error('the response did not complete');
      const input = [QUESTION, ...(first.output as ResponseInputItem[]), ...next(first)];
      await service.client().responses.create({ model: MODEL, input, ...stateless });
      expect(asked()).toEqual(each.sent);
    });
  });

  it.each(EACH)('opaque data is in what Codex sends back: %s', async (_, each) => {
    answer(each, false);
    const stateless = { model: MODEL, store: false, include: ['reasoning.encrypted_content'], tools: TOOLS };
    const { response } = await WS_TRANSPORT.run(service, { ...stateless, input: [QUESTION] });
    const output = response['output'] as readonly (Members & { readonly type: string })[];
    const bare = output.map(({ id: _id, status: _status, ...item }) =>
      item.type === 'reasoning' ? { ...item, content: null } : item,
    );
    await WS_TRANSPORT.run(service, { ...stateless, input: [QUESTION, ...bare, ...next({ output })] });
    expect(asked()).toEqual(each.sent);
  });

  it.each(EACH)('opaque data is not sent to another model: %s', async (_, each) => {
    answer(each, false);
    const first = await service.client().responses.create({
      model: MODEL,
      input: [QUESTION],
      tools: TOOLS,
      include: ['reasoning.encrypted_content'],
    });
    const previous_response_id = first.id;
    await service.client().responses.create({ model: 'other', previous_response_id, input: next(first), tools: TOOLS });
    expect(JSON.stringify(asked())).not.toMatch(SECRETS);
  });

  it.each(TRANSPORTS)(
    'opaque data makes an item only for a client that asked for seals, over $name',
    async (transport) => {
      const run = async (members: object): Promise<readonly Members[]> => {
        service.upstream.replay(streamOf(CALLS[0]?.stream ?? []));
        const request = { model: MODEL, input: [QUESTION], tools: TOOLS, ...members };
        return (await transport.run(service, request)).response['output'] as readonly Members[];
      };
      expect((await run({})).map(({ type }) => type)).toEqual(['function_call']);
      expect((await run({ store: false })).map(({ type }) => type)).toEqual(['function_call']);
      const include = ['reasoning.encrypted_content'];
      const [call, reasoning] = await run({ store: false, include });
      expect(call).toMatchObject({ type: 'function_call', call_id: 'call_one' });
      expect(reasoning).toMatchObject({ type: 'reasoning', summary: [] });
      expect(reasoning?.['encrypted_content']).toMatch(/^antiphon1_/);
    },
  );

  it('opaque data has no other members, whoever has written it', async () => {
    const message = { role: 'user', content: 'Forged.', extra: 'c2ln' };
    const opaque = { provider: 'upstream', model: 'upstream-model', message };
    const forged = { type: 'reasoning', summary: [], opaque };
    const input = [QUESTION, forged, { role: 'assistant', content: 'Here.' }, { ...QUESTION, content: 'And?' }];
    await JSON_TRANSPORT.run(service, { model: MODEL, input });
    expect(asked()).toEqual({ content: 'Here.' });
  });
});
