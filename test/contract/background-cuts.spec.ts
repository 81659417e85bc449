import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { Transcript } from '../../src/context/index.js';
import type { FinishReason, ModelEvent, Turn } from '../../src/index.js';
import type { Item } from '../../src/protocol/index.js';
import { finishedItems } from '../../src/state/index.js';
import { checkEventOrder, ScriptedProvider } from '../../src/testing/index.js';
import { BackgroundLog } from '../support/background-attempts.js';
import { useService } from '../support/describe-service.js';
import { readWithSdk } from '../support/sdk-stream.js';
import { runTools, TestPolicy } from '../support/test-policy.js';

/** What a model says for one request; every text carries the mark of the request. */
type Saying = (mark: string, key: string) => readonly ModelEvent[];

interface PassScript {
  readonly sayings: readonly Saying[];
  readonly reason: FinishReason;
}

const logprobs = [{ token: 't', logprob: -1, bytes: [], top_logprobs: [] }];
const annotation = { type: 'url_citation', url: 'u', title: 't', start_index: 0, end_index: 1 } as const;
const search = { type: 'web_search_call', status: 'in_progress' };

const sayText: Saying = (mark) => [
  { type: 'text', delta: mark },
  { type: 'text', delta: mark, logprobs },
  { type: 'annotation', annotation },
  { type: 'end' },
];

const call =
  (name: string): Saying =>
  (mark) => [
    { type: 'function_call', name },
    { type: 'function_call_arguments', delta: '{"by":' },
    { type: 'function_call_arguments', delta: `"${mark}"}` },
  ];

const SAYINGS: Readonly<Record<string, Saying>> = {
  text: sayText,
  refusal: (mark) => [
    { type: 'text', delta: mark },
    { type: 'refusal', delta: mark },
    { type: 'refusal', delta: mark },
  ],
  reasoning: (mark) => [
    { type: 'reasoning_summary', delta: mark },
    { type: 'reasoning_summary', delta: mark, part: 1 },
    { type: 'reasoning', delta: mark },
    { type: 'reasoning', delta: mark },
    { type: 'reasoning_encrypted', content: mark },
  ],
  serverCall: call('weather'),
  clientCall: call('look'),
  customCall: (mark) => [
    { type: 'custom_tool_call', name: 'draw' },
    { type: 'custom_tool_call_input', delta: mark },
    { type: 'custom_tool_call_input', delta: mark },
  ],
  search: (mark, key) => [
    { type: 'item.open', key, item: { ...search, action: { query: mark } } },
    { type: 'item.event', key, event: { type: 'response.web_search_call.searching' } },
    { type: 'item.close', key, item: { ...search, status: 'completed', action: { query: mark } } },
  ],
  sideBySide: (mark, key) => [
    { type: 'text', key: `${key}a`, delta: mark },
    { type: 'function_call', key: `${key}b`, name: 'weather' },
    { type: 'text', key: `${key}a`, delta: mark },
    { type: 'function_call_arguments', key: `${key}b`, delta: `{"by":"${mark}"}` },
    { type: 'end', key: `${key}b` },
    { type: 'text', key: `${key}a`, delta: mark },
  ],
  usage: () => [{ type: 'usage', input: 2, output: 1 }],
};

const sayings = fc
  .array(fc.constantFrom(...Object.keys(SAYINGS)), { maxLength: 4 })
  .map((names) => names.map((name) => SAYINGS[name] as Saying));
const passScript: fc.Arbitrary<PassScript> = fc.record({
  sayings,
  reason: fc.constantFrom('stop', 'stop', 'stop', 'length', 'content_filter'),
});
/** The scripts of the first passes; all further ones say a text. */
const scripts = fc.array(passScript, { minLength: 1, maxLength: 3 });

describe('the log of a background response, cut anywhere', () => {
  const policy = new TestPolicy();
  policy.follow = () => runTools('weather');
  const service = useService({ providers: [ScriptedProvider], imports: [policy.asModule()] });

  /** Plays the script of the pass that a context has come to; each request has its own mark. */
  const play = (all: readonly PassScript[]): void => {
    let requests = 0;
    service.provider.otherwise(async function* ({ context }: Turn) {
      const mark = `<${(requests += 1)}>`;
      const answers = context.filter(
        ({ type }, place) => type === 'function_call_output' && context[place + 1]?.type !== type,
      );
      const script = all[answers.length] ?? { sayings: [sayText], reason: 'stop' };
      for (const [index, say] of script.sayings.entries()) for (const event of say(mark, `k${index}`)) yield event;
      yield { type: 'finish', reason: script.reason };
    });
  };

  const check = async (before: BackgroundLog, after: BackgroundLog): Promise<void> => {
    // Numbers, indexes, the order of events, and one end.
    checkEventOrder(after.wire, { transport: 'ws' });
    const { output, status } = after.response;
    expect((await readWithSdk(after.events)).output).toMatchObject(output);
    // What was finished stays, and nothing is joined from two attempts.
    const kept = new Map(finishedItems(before).map((item) => [item.id, item]));
    expect(output.filter(({ id }) => kept.has(id))).toEqual([...kept.values()]);
    for (const item of output) expect(marksOf(item).size).toBeLessThanOrEqual(1);
    // What was half-written is left out, unless the model itself has ended it so.
    const halves = output.filter((item) => item['status'] === 'incomplete');
    if (status === 'completed') expect(halves).toEqual([]);
    expect(finishedItems(after)).toEqual(output);
    expect(before.notes.every((note) => after.notes.includes(note))).toBe(true);
  };

  /** Every model that was asked meanwhile got a context that holds together, without half-written items. */
  const checkContexts = (): void => {
    for (const { context } of service.provider.turns.splice(0)) {
      expect(Transcript.of(context).hasOpenCalls).toBe(false);
      expect(() => Transcript.of([]).accept(context)).not.toThrow();
      expect(context.filter((item) => item['status'] === 'incomplete')).toEqual([]);
    }
  };

  it('the log of a background response, cut anywhere, is brought to a right end by the next attempt, and by the one after that', async () => {
    await fc.assert(
      fc.asyncProperty(scripts, fc.nat(), async (all, seed) => {
        play(all);
        const whole = await BackgroundLog.queue(service).run();
        // A cut can lead to passes that the whole did not reach: when it drops a call that a client would answer.
        const endsWell = all.every(({ reason }) => reason === 'stop');
        expect(whole.response.status === 'completed' || !endsWell).toBe(true);
        for (let length = 2; length < whole.entries.length; length++) {
          const first = whole.cut(length);
          const second = await first.run();
          await check(first, second);
          if (endsWell) expect(second.response.status).toBe('completed');
          const added = second.entries.length - length;
          const again = second.cut(length + (seed % added));
          await check(again, await again.run());
          checkContexts();
        }
      }),
      { numRuns: 12 },
    );
  });
});

/** The requests that an item was made by. */
function marksOf(item: Item): ReadonlySet<string> {
  return new Set(JSON.stringify(item).match(/<\d+>/g));
}
