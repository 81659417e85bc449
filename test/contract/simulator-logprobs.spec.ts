import { describe, expect, it } from '@jest/globals';
import { useService } from '../support/describe-service.js';
import type { TurnResult } from '../support/transport.js';
import { TRANSPORTS } from '../support/transports.js';

interface Alternative {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: readonly number[];
}

interface Logprob extends Alternative {
  readonly top_logprobs: readonly Alternative[];
}

interface TextPart {
  readonly type: string;
  readonly text: string;
  readonly logprobs: readonly Logprob[];
}

const WANTED = { include: ['message.output_text.logprobs'] };
const BEYOND_ASCII = 'Grüße, 漢字 👋🏽 हिन्दी “Ἀντίφωνα”';

const schema = {
  type: 'object',
  properties: { name: { type: 'string' }, list: { type: 'array', items: { type: 'integer' }, minItems: 2 } },
  required: ['name', 'list'],
  additionalProperties: false,
};

/** Turns with a text. */
const TURNS: readonly (readonly [name: string, body: object])[] = [
  ['prose', {}],
  ['prose after reasoning', { model: 'gpt-5' }],
  ['structured output', { text: { format: { type: 'json_schema', name: 'x', schema } } }],
  ['an answer that is cut', { max_output_tokens: 16 }],
  ['text beyond ASCII', { input: BEYOND_ASCII, client_metadata: { 'x-simulate': 'generator=echo' } }],
];

describe.each(TRANSPORTS)('log probabilities of the simulator ($name)', (transport) => {
  const service = useService({ environment: { SIMULATOR_CONTROL: true } });

  const ask = (body: object): Promise<TurnResult> =>
    transport.run(service, { model: 'gpt-4.1', input: 'Go on.', ...body });

  const partOf = ({ response }: Pick<TurnResult, 'response'>): TextPart => {
    const [part] = (response['output'] as readonly { readonly content?: readonly TextPart[] }[]).at(-1)?.content ?? [];
    if (part?.type !== 'output_text') throw new Error('the turn must end with a text');
    return part;
  };

  describe.each([0, 2, 20])('with %d alternatives', (alternatives) => {
    const wanted = { ...WANTED, top_logprobs: alternatives };

    it.each(TURNS)('log probabilities cover the text: %s', async (_name, body) => {
      const { text, logprobs } = partOf(await ask({ ...body, ...wanted }));
      expect(text).not.toBe('');
      expect(logprobs.map(({ token }) => token).join('')).toBe(text);
      for (const { token, bytes } of logprobs) expect(bytes).toEqual([...Buffer.from(token)]);
    });

    it.each(TURNS)('log probabilities rank the token first among as many as asked for: %s', async (_name, body) => {
      for (const { top_logprobs: top, ...first } of partOf(await ask({ ...body, ...wanted })).logprobs) {
        expect(Object.keys(first).sort()).toEqual(['bytes', 'logprob', 'token']);
        expect(first.logprob).toBeLessThanOrEqual(0);
        expect(top).toHaveLength(alternatives);
        if (alternatives > 0) expect(top[0]).toEqual(first);
        expect(new Set(top.map(({ token }) => token)).size).toBe(alternatives);
        const values = top.map(({ logprob }) => logprob);
        expect(values).toEqual(values.toSorted((one, other) => other - one));
        for (const { token, bytes } of top) expect(bytes).toEqual([...Buffer.from(token)]);
      }
    });

    it('log probabilities are probabilities of things of which only one happens', async () => {
      for (const { top_logprobs: top } of partOf(await ask(wanted)).logprobs) {
        const sum = top.reduce((total, { logprob }) => total + Math.exp(logprob), 0);
        expect(sum).toBeLessThanOrEqual(1 + 1e-9);
      }
    });
  });

  it.each(TURNS.slice(0, 4))('log probabilities are as many as the tokens in the usage: %s', async (_name, body) => {
    const result = await ask({ ...body, ...WANTED, ...('model' in body ? {} : { max_output_tokens: 16 }) });
    const { output_tokens: output, output_tokens_details: details } = result.response['usage'] as {
      readonly output_tokens: number;
      readonly output_tokens_details: { readonly reasoning_tokens: number };
    };
    expect(partOf(result).logprobs).toHaveLength(output - details.reasoning_tokens);
  });

  it('log probabilities come with each delta, again when the text is done, and with the stored response', async () => {
    const result = await ask({ ...WANTED, top_logprobs: 2 });
    const { logprobs } = partOf(result);
    expect(logprobs.length).toBeGreaterThan(10);
    const stored = await service.client().responses.retrieve(result.response.id);
    expect(partOf({ response: stored as unknown as TurnResult['response'] }).logprobs).toEqual(logprobs);
    if (result.events === undefined) return;
    const deltas = result.events.filter(({ type }) => type === 'response.output_text.delta');
    for (const { delta, logprobs: own } of deltas) expect(own).toMatchObject([{ token: delta }]);
    expect(deltas.flatMap(({ logprobs: own }) => own)).toEqual(logprobs);
    const done = result.events.find(({ type }) => type === 'response.output_text.done');
    expect(done?.['logprobs']).toEqual(logprobs);
  });

  it.each([
    ['nothing is included', {}],
    ['only alternatives are asked for', { top_logprobs: 5 }],
    ['something else is included', { top_logprobs: 5, include: ['reasoning.encrypted_content'] }],
  ])('log probabilities are not there where %s', async (_name, body) => {
    const result = await ask(body);
    expect(partOf(result).logprobs).toEqual([]);
    for (const event of result.events ?? []) expect(event['logprobs'] ?? []).toEqual([]);
  });
});
