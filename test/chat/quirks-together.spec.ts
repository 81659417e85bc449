// Slow: has a service answer hundreds of times.
import { readdirSync, readFileSync } from 'node:fs';
import { join as joinPath } from 'node:path';

import { expect, it } from '@jest/globals';
import fc from 'fast-check';

import type { ChatAnswer } from '../support/chat-upstream/chat-answer.js';
import type { Quirks } from '../support/chat-upstream/quirks.js';
import { rechunk } from './rechunk.js';
import { callIdsIn, saidIn } from '../support/output.js';
import {
  type ChatService,
  deltasOf,
  runTurn,
  sendTurn,
  startChatService,
} from '../support/chat-upstream/start-chat-service.js';
import { describeService } from '../support/describe-service.js';
import { withoutIds } from '../support/normalise.js';

const NAMES = ['get', 'get_weather', 'get_weather_alerts', 'set', 'run'];
const TOOLS = NAMES.map((name) => ({ type: 'function', name, strict: false, parameters: { type: 'object' } }));

const WEATHER = { type: 'function', name: 'get_weather', strict: false, parameters: { type: 'object' } };

const text = fc.string({ unit: 'grapheme', maxLength: 30 });

/** A text cut anywhere between its characters. */
const pieces = (whole: string): fc.Arbitrary<readonly string[]> =>
  fc.array(fc.integer({ min: 1, max: 8 }), { maxLength: 12 }).map((lengths) => {
    const characters = Array.from(whole);
    const cut = lengths.map((length) => characters.splice(0, length).join(''));
    return [...cut, characters.join('')];
  });

const call = (name: string): fc.Arbitrary<NonNullable<ChatAnswer['toolCalls']>[number]> =>
  fc
    .dictionary(fc.string({ maxLength: 6 }), fc.oneof(text, fc.integer(), fc.constant(null)), { maxKeys: 3 })
    .chain((value) => pieces(JSON.stringify(value)))
    .map((json) => ({ name, arguments: json }));

const answer: fc.Arbitrary<ChatAnswer> = fc.record({
  reasoning: text.chain(pieces),
  text: text.chain(pieces),
  toolCalls: fc.subarray(NAMES, { maxLength: 4 }).chain((names) => fc.tuple(...names.map(call))),
});

const flag = fc.boolean();

/** Fixed, so that a run is like every other; `SEED=7 npm run test:only -- <this file>` tries other cases. */
const SEED = Number(process.env['SEED'] ?? 20_261_121);

const FOLDER = joinPath(import.meta.dirname, '../fixtures/dialects');
const RECORDED = readdirSync(FOLDER).filter((name) => name.endsWith('.chunks.txt'));

/** Everything that does not change what is said. */
const wording: fc.Arbitrary<Quirks> = fc
  .record(
    {
      usage: fc.constantFrom('asked', 'own_chunk', 'with_content', 'with_finish', 'cumulative'),
      nullUsage: flag,
      reasoning: fc.constantFrom('reasoning_content', 'reasoning', 'both', 'thinking_parts', 'reasoning_details'),
      contentParts: flag,
      silentContent: fc.constantFrom('null', 'empty'),
      nullMembers: flag,
      roleChunk: flag,
      roleEverywhere: flag,
      emptyChoices: flag,
      noChoices: fc.constantFrom('absent', 'null'),
      secondChoice: flag,
      message: flag,
      unfinished: fc.constantFrom('empty', 'absent'),
      finishWithContent: flag,
      finishTwice: flag,
      callTypes: fc.constantFrom('first_chunk', 'every_chunk', 'missing'),
      callArguments: fc.constantFrom('pieces', 'whole', 'object'),
      lineEnd: fc.constantFrom('\n', '\r\n', '\r'),
      comments: flag,
      blankLines: flag,
      eventName: fc.constantFrom('message', 'chunk'),
      idLines: flag,
      noSpace: flag,
      multiLine: flag,
      byteOrderMark: flag,
      done: flag,
      afterDone: flag,
      openEnd: flag,
      json: fc.constantFrom(false, false, false, true),
      packetBytes: fc.integer({ min: 11, max: 400 }),
      together: flag,
    },
    { requiredKeys: [] },
  )
  // What comes behind a finish reason, without [DONE], is said.
  .map((how) => (how.done === false ? { ...how, afterDone: false } : how))
  // One body has whole calls.
  .map((how) => (how.json === true && how.callArguments === 'pieces' ? { ...how, callArguments: 'whole' } : how));

/** How calls are identified, so that they can be told apart. */
const identity: fc.Arbitrary<Quirks> = fc.oneof(
  fc.record({
    callIndexes: fc.constant('counted' as const),
    callIds: fc.constantFrom('first_chunk', 'every_chunk', 'missing', 'same', 'empty', 'null', 'last_chunk'),
    callNames: fc.constantFrom('first_chunk', 'split', 'every_chunk', 'last_chunk'),
    callOrder: fc.constantFrom('in_turn', 'alternating', 'together'),
  }),
  fc.record({
    callIndexes: fc.constantFrom('missing', 'zero'),
    callIds: fc.constant('every_chunk' as const),
    callNames: fc.constantFrom('first_chunk', 'split', 'every_chunk', 'last_chunk'),
    callOrder: fc.constantFrom('in_turn', 'alternating', 'together'),
  }),
  fc.record({
    callIndexes: fc.constantFrom('missing', 'zero'),
    callIds: fc.constantFrom('first_chunk', 'missing', 'same', 'empty', 'null', 'last_chunk'),
    callNames: fc.constantFrom('first_chunk', 'split', 'every_chunk'),
  }),
);

describeService(
  'any answer in any wording',
  () => startChatService({ provider: { retries: 0 } }),
  (service) => {
    it(`any answer in any wording comes through as it was said (seed ${SEED})`, async () => {
      await fc.assert(
        fc.asyncProperty(answer, wording, identity, async (said, how, known) => {
          const turn = await runTurn(service, said, { ...how, ...known }, { tools: TOOLS });
          expect(turn.response).toMatchObject({ status: 'completed', usage: { input_tokens: 11, output_tokens: 7 } });
          expect(saidIn(turn.response)).toEqual(expected(said));
          expect(callIdsIn(turn.response)).toHaveLength(said.toolCalls?.length ?? 0);
          expect(deltasOf(turn, 'response.output_text.delta').join('')).toBe(join(said.text));
        }),
        { seed: SEED, numRuns: 60 },
      );
    });
  },
);

function expected({ reasoning, text: words, toolCalls = [] }: ChatAnswer): readonly object[] {
  const [thought, content] = [join(reasoning), join(words)];
  return [
    ...(thought === '' ? [] : [{ reasoning: thought }]),
    ...(content === '' ? [] : [{ text: content }]),
    ...toolCalls.map(({ name, arguments: json }) => ({ call: name, arguments: join(json) })),
  ];
}

function join(parts: string | readonly string[] = []): string {
  return typeof parts === 'string' ? parts : parts.join('');
}

describeService(
  'a recorded stream',
  () => startChatService({ provider: { retries: 0 } }),
  (service) => {
    it.each(RECORDED)(
      `a recorded stream gives the same response in any other chunks (seed ${SEED}): %s`,
      async (name) => {
        const recorded = readFileSync(joinPath(FOLDER, name), 'utf8');
        service.upstream.replay(recorded);
        const whole = await responseOf(service);
        await fc.assert(
          fc.asyncProperty(fc.gen(), async (draw) => {
            const packets = rechunk(recorded, (limit) => draw(fc.nat, { max: limit - 1 }));
            service.upstream.respond({
              status: 200,
              headers: { 'content-type': 'text/event-stream' },
              packets,
              end: 'end',
            });
            expect(await responseOf(service)).toEqual(whole);
          }),
          { seed: SEED, numRuns: 15 },
        );
      },
    );
  },
);

/** What a client gets of the next answer, without what differs in each. */
async function responseOf(service: ChatService): Promise<unknown> {
  const { response } = await sendTurn(service, { tools: [WEATHER] });
  const { status, error, incomplete_details: details, output, usage } = response;
  return withoutIds({ status, error, details, output, usage });
}
