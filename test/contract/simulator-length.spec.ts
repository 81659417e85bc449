import { describe, expect, it } from '@jest/globals';

import { describeService } from '../support/describe-service.js';
import { startService } from '../support/service.js';
import { simulatorRequests, splitOutput, tokensOf } from '../support/simulator-requests.js';
import { TRANSPORTS } from '../support/transports.js';

const as = (control: string): object => ({ client_metadata: { 'x-simulate': control } });

describeService('the length of an answer', { environment: { SIMULATOR_CONTROL: true } }, (service) => {
  const create = (body: object) => simulatorRequests(service).create(body);
  const lengthsOf = async (setting: string): Promise<readonly number[]> => {
    const lengths: number[] = [];
    for (let index = 0; index < 40; index++) {
      lengths.push(splitOutput(await create({ input: `${index}`, ...as(`tokens=${setting}`) })).answer);
    }
    return lengths;
  };

  it.each(['random', 'lorem'])(
    'the length of an answer is the number that x-simulate gives, of %s',
    async (generator) => {
      for (const tokens of [1, 2, 17, 300, 5000]) {
        const response = await create(as(`tokens=${tokens}; generator=${generator}`));
        expect(response).toMatchObject({ status: 'completed', usage: { output_tokens: tokens } });
        expect(tokensOf(response.output_text)).toBe(tokens);
      }
    },
  );

  it.each(TRANSPORTS)('the length of an answer is the same over $name, in deltas of one token', async (transport) => {
    const { response, events } = await transport.run(service, { model: 'gpt-4.1', input: 'Go.', ...as('tokens=200') });
    expect(response).toMatchObject({ usage: { output_tokens: 200 } });
    const deltas = events?.filter(({ type }) => type === 'response.output_text.delta');
    if (deltas !== undefined) expect(deltas).toHaveLength(200);
  });

  it('the length of an answer is any of a range', async () => {
    const lengths = await lengthsOf('50-60');
    expect(Math.min(...lengths)).toBeGreaterThanOrEqual(50);
    expect(Math.max(...lengths)).toBeLessThanOrEqual(60);
    expect(new Set(lengths).size).toBeGreaterThan(5);
  });

  it('the length of an answer is spread around a median', async () => {
    const lengths = await lengthsOf('100/0.5');
    const below = lengths.filter((length) => length < 100).length;
    expect([below > 8, below < 32]).toEqual([true, true]);
    expect(Math.max(...lengths)).toBeGreaterThan(150);
    expect(Math.min(...lengths)).toBeLessThan(67);
    expect(await lengthsOf('100/0')).toEqual(Array(40).fill(100));
  });

  it('the length of an answer is drawn by the seed and the request', async () => {
    const draw = async (seed: number) =>
      (await create({ input: 'Draw.', ...as(`tokens=1-100000; seed=${seed}`) })).usage?.output_tokens;
    expect(await draw(1)).toBe(await draw(1));
    expect(await draw(2)).not.toBe(await draw(1));
  });

  it.each([
    ['low', 100],
    ['medium', 200],
    ['high', 400],
  ])(
    'the length of an answer follows max_output_tokens and a verbosity of %s where the setting says so',
    async (verbosity, tokens) => {
      const body = { max_output_tokens: 400, text: { verbosity }, ...as('tokens=request') };
      expect(await create(body)).toMatchObject({ status: 'completed', usage: { output_tokens: tokens } });
      const reasoned = await create({ ...body, model: 'gpt-5', reasoning: { effort: 'medium' } });
      expect(reasoned.status).toBe('completed');
      expect(splitOutput(reasoned)).toEqual({ answer: tokens / 4, reasoning: (3 * tokens) / 4 });
      const free = await create({ ...body, max_output_tokens: null });
      expect(splitOutput(free).answer).toBeLessThan(150);
    },
  );

  it('an answer of a given length has its reasoning beside it', async () => {
    const response = await create({ model: 'gpt-5', reasoning: { effort: 'high' }, ...as('tokens=50') });
    expect(splitOutput(response)).toEqual({ answer: 50, reasoning: 300 });
  });

  it('the length of an answer is cut by max_output_tokens', async () => {
    const response = await create({ max_output_tokens: 30, ...as('tokens=50') });
    expect(response).toMatchObject({
      status: 'incomplete',
      incomplete_details: { reason: 'max_output_tokens' },
      usage: { output_tokens: 30 },
    });
    const whole = await create({ ...as('tokens=50') });
    expect(whole.output_text.startsWith(response.output_text)).toBe(true);
  });

  it('the length of answers leaves texts alone whose content decides', async () => {
    const fixed = await create(as('tokens=50; generator=fixed; text=Short.'));
    expect(fixed.output_text).toBe('Short.');
    const json = await create({ input: 'JSON.', text: { format: { type: 'json_object' } }, ...as('tokens=5') });
    expect(JSON.parse(json.output_text)).toHaveProperty('answer');
  });

  it.each(['0', '-5', '60-50', '5-', '1/x', 'many', '1000000', ''])(
    'the length of an answer cannot be %p',
    async (value) => {
      const { status, body } = await simulatorRequests(service).post({
        model: 'gpt-4.1',
        input: 'Go.',
        ...as(`tokens=${value}`),
      });
      expect([status, body]).toEqual([
        400,
        expect.objectContaining({ error: expect.objectContaining({ param: 'x-simulate' }) }),
      ]);
    },
  );
});

describe('SIMULATOR_TARGET_TOKENS', () => {
  it('SIMULATOR_TARGET_TOKENS is the length of every answer that has none of its own', async () => {
    await using service = await startService({
      environment: { SIMULATOR_TARGET_TOKENS: '123', SIMULATOR_CONTROL: true },
    });
    const requests = simulatorRequests(service);
    expect((await requests.create()).usage?.output_tokens).toBe(123);
    expect((await requests.create(as('tokens=7'))).usage?.output_tokens).toBe(7);
  });

  it.each(['0', 'long', '800-200'])('SIMULATOR_TARGET_TOKENS refuses to start with %s', async (value) => {
    await expect(startService({ environment: { SIMULATOR_TARGET_TOKENS: value } })).rejects.toThrow(
      'SIMULATOR_TARGET_TOKENS',
    );
  });
});
