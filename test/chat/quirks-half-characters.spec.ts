import { describe, expect, it } from '@jest/globals';

import { callChunk, chunk, completion, entry, finish, streamOf } from './chunk-stream.js';
import { MODEL, startChatService } from '../support/chat-upstream/start-chat-service.js';
import { useService } from '../support/describe-service.js';
import { TRANSPORTS } from '../support/transports.js';

const tools = [
  { type: 'function', name: 'ring', parameters: { type: 'object' }, strict: false },
  { type: 'custom', name: 'run' },
];

/** What an upstream writes into several deltas, around the arguments of a call. */
const SHAPES: Readonly<Record<string, (pieces: readonly string[]) => readonly object[]>> = {
  text: (pieces) => pieces.map((content) => chunk({ content })),
  refusal: (pieces) => pieces.map((refusal) => chunk({ refusal })),
  reasoning: (pieces) => pieces.map((reasoning) => chunk({ reasoning })),
  'text with log probabilities': (pieces) =>
    pieces.map((content) =>
      chunk({ content }, { logprobs: { content: [{ token: content, logprob: -1, bytes: [1] }] } }),
    ),
  arguments: (pieces) => calling('ring', '{"a":"', pieces, '"}'),
  'custom input': (pieces) => calling('run', '{"input":"', pieces, '"}'),
  'bare custom input': (pieces) => calling('run', '', pieces, ''),
};

const calling = (name: string, head: string, pieces: readonly string[], tail: string): readonly object[] => [
  callChunk([entry(name, head, { index: 0, id: 'call_a' })]),
  ...[...pieces, tail].map((piece) => callChunk([{ index: 0, function: { arguments: piece } }])),
];

const TEXTS: readonly (readonly [what: string, pieces: readonly string[], text: string])[] = [
  ['split', ['Sun \ud83c', '\udf1e!'], 'Sun 🌞!'],
  ['split around an empty delta', ['Sun \ud83c', '', '\udf1e!'], 'Sun 🌞!'],
  ['alone in front', ['\ud83c', ' moon'], '\ufffd moon'],
  ['alone behind', ['Moon ', '\udf1e', ' up'], 'Moon \ufffd up'],
  ['never completed', ['Moon \ud83c'], 'Moon \ufffd'],
  ['twice the first', ['Moon \ud83c', '\ud83c\udf1e'], 'Moon \ufffd🌞'],
];

const CASES = Object.keys(SHAPES).flatMap((shape) =>
  TEXTS.map(([what, pieces, text]) => [shape, what, pieces, text] as const),
);

describe('half a character', () => {
  const service = useService(() => startChatService({ provider: { retries: 0 } }));

  describe.each(TRANSPORTS)('over $name', (transport) => {
    it.each(CASES)('half a character is neither sent nor stored: %s, %s', async (shape, _, pieces, text) => {
      service.upstream.replay(streamOf([...(SHAPES[shape]?.(pieces) ?? []), finish()]));
      const { response, events = [] } = await transport.run(service, { model: MODEL, input: 'Go on.', tools });
      expect(response.status).toBe('completed');
      expect(JSON.stringify(response['output'])).toContain(text);
      const stored = await service.api.get(`/responses/${response.id}`);
      // JSON writes a half as an escape.
      for (const sent of [response, stored, ...events]) expect(JSON.stringify(sent)).not.toMatch(/\\ud[89a-f]/);
    });
  });

  it('half a character is not in a whole answer either', async () => {
    service.upstream.replay(JSON.stringify(completion({ content: 'Moon \ud83c' }, { finish_reason: 'stop' })));
    const { response } = (await TRANSPORTS[0]?.run(service, { model: MODEL, input: 'Go on.' })) ?? {};
    expect(JSON.stringify(response)).toContain('Moon \ufffd');
  });
});
