import { afterAll, describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { useService } from '../support/describe-service.js';
import { PausingClock } from '../support/clocks.js';
import { textOrCode } from '../support/output.js';
import { startService } from '../support/service.js';
import { openStream, postJson } from '../support/sse.js';
import { JSON_TRANSPORT, TRANSPORTS } from '../support/transports.js';

const BODY = { model: 'gpt-4.1', input: 'Hello.' };
const simulate = (text: unknown): object => ({ ...BODY, client_metadata: { 'x-simulate': text } });
const HUGE = '9'.repeat(400);

/** Each key with values that it cannot have, and what the error has to textOrCode of those that it can. */
const BAD_VALUES: readonly (readonly [key: string, values: readonly string[], expected: RegExp])[] = [
  ['seed', ['', 'x', '-1', '1.5', '4294967296', '1e3', '0x10', '٣', HUGE], /whole number from 0 to 4294967295/],
  ['fault', ['', 'x', 'RATE_LIMIT', 'rate_limit,cut', 'constructor'], /rate_limit, .*malformed/],
  ['after', ['', 'x', '-1', '1.5', '9007199254740992', HUGE], /whole number of deltas/],
  ['for', ['', 'x', '-1', '1s', HUGE], /whole number of milliseconds/],
  ['retry_after', ['', 'x', '-1', '0.5', HUGE], /whole number of seconds/],
  [
    'latency',
    ['', 'fast', '300', '300/', '/20', '-1/20', '300/20/0.3/1', '1e3/1', 'Instant', `${HUGE}/1`],
    /instant, realistic, .*300\/20/,
  ],
  ['speed', ['', 'x', '0', '0.0', '-1', '1e3', 'Infinity', 'NaN', HUGE], /number above 0/],
  ['generator', ['', 'poem', 'Echo', 'toString'], /random, lorem, echo, fixed, sequence/],
  ['text', ['%', '%zz', '%ff', 'ü%C3'], /percent-encoded/],
  ['calls', ['', 'x', '0', '129', '1.5'], /whole number from 1 to 128/],
  ['rounds', ['', 'x', '-1', '1.5'], /whole number/],
  ['turn', ['', 'x', '0', '-1', '1.5'], /whole number from 1/],
];

const CASES = BAD_VALUES.flatMap(([key, values, expected]) =>
  values.map((value) => ({ name: `${key}=${value.slice(0, 20)}`, key, value, expected })),
);

describe('x-simulate', () => {
  const clock = new PausingClock();
  // Before it closes.
  afterAll(() => clock.letGo());
  const service = useService(
    // What is wrongly let through must not keep the test waiting.
    { environment: { SIMULATOR_CONTROL: true }, overrides: [[Clock, clock]] },
  );

  const refusal = (message: RegExp): object => ({
    status: 400,
    body: {
      error: {
        type: 'invalid_request_error',
        code: 'invalid_value',
        param: 'x-simulate',
        message: expect.stringMatching(message),
      },
    },
  });

  describe.each(TRANSPORTS)('over $name', (transport) => {
    it.each(CASES)('x-simulate refuses $name, and says what would be right', async ({ key, value, expected }) => {
      const turn = transport.run(service, simulate(`rounds=1; ${key}=${value}`));
      await expect(turn).rejects.toMatchObject(refusal(expected));
      await expect(turn).rejects.toMatchObject(refusal(new RegExp(`^Invalid 'x-simulate': '${key}' `)));
    });

    it.each(['fire=1', 'Fault=cut', '=1', 'seed', 'constructor=1', '__proto__=1', 'toString', 'fault:cut'])(
      'x-simulate refuses %j',
      async (text) => {
        await expect(transport.run(service, simulate(text))).rejects.toMatchObject(refusal(/seed/));
      },
    );

    it.each(['fixed', 'sequence'])('x-simulate refuses the generator %s without a text', async (generator) => {
      const turn = transport.run(service, simulate(`generator=${generator}`));
      await expect(turn).rejects.toMatchObject(refusal(new RegExp(`generator=${generator} needs a text`)));
    });

    it.each([
      ['an unknown key', '~x%<'.repeat(2048), /unknown key .*seed, fault/],
      ['a value', `fault=${'~x%<'.repeat(2048)}`, /'fault' cannot be .*rate_limit, /],
    ])('x-simulate still says what would be right when 8 KB of nonsense are %s', async (_name, text, words) => {
      await expect(transport.run(service, simulate(text))).rejects.toMatchObject(refusal(words));
    });

    it.each([
      ['nothing', ''],
      ['nothing but separators', ' ;; ; '],
      ['blanks', '  generator = echo ;seed=1;'],
      ['empty entries', ';;generator=echo;;'],
      ['the same key twice: the last counts', 'generator=lorem; generator=echo'],
    ])('x-simulate reads %s', async (_name, text) => {
      const said = await textOrCode(transport, service, simulate(text));
      if (text.includes('echo')) expect(said).toBe('Hello.');
      else expect(said).toBe(await textOrCode(transport, service, BODY));
    });

    it('x-simulate in the metadata of a request is ignored without SIMULATOR_CONTROL', async () => {
      await using strict = await startService();
      const usual = await textOrCode(transport, strict, BODY);
      for (const text of ['generator=echo', 'fault=rate_limit', 'seed=2', 'fire=1', '~x%<'.repeat(2048)]) {
        expect(await textOrCode(transport, strict, simulate(text))).toBe(usual);
      }
    });
  });

  describe('as a header', () => {
    const url = (): string => `${service.baseURL}/responses`;

    it.each(['fire=1', 'seed=x', '~x%<'.repeat(2048)])(
      'the header x-simulate is refused on both answers of HTTP: %.20s',
      async (text) => {
        const options = { headers: { 'x-simulate': text } };
        for (const answer of [await postJson(url(), BODY, options), await openStream(url(), BODY, options)]) {
          expect(answer).toMatchObject(refusal(/^Invalid 'x-simulate': /));
        }
      },
    );

    it('the header x-simulate is read, and gives way to the body', async () => {
      const headers = { 'x-simulate': 'generator=fixed; text=of%20the%20header%3B%20%C3%BC' };
      expect(await postJson(url(), BODY, { headers })).toMatchObject({ body: { output_text: 'of the header; ü' } });
      const both = await postJson(url(), simulate('generator=echo'), { headers });
      expect(both).toMatchObject({ body: { output_text: 'Hello.' } });
    });

    it('the header x-simulate is ignored without SIMULATOR_CONTROL', async () => {
      await using strict = await startService();
      const usual = await textOrCode(JSON_TRANSPORT, strict, BODY);
      for (const text of ['generator=echo', 'fire=1', '~x%<'.repeat(2048)]) {
        const answer = await postJson(`${strict.baseURL}/responses`, BODY, { headers: { 'x-simulate': text } });
        expect(answer).toMatchObject({ status: 200, body: { output_text: usual } });
      }
    });
  });
});
