import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { call, fail, reasoning, refusal, simulate, type Simulation, text } from 'antiphon/testing';

/** What a promise rejects with. */
async function messageOf(failing: Promise<unknown>): Promise<string> {
  return failing.then(
    () => 'nothing was thrown',
    (error: unknown) => (error as Error).message,
  );
}

const SCRIPT = { model: 'clerk', turns: [{ text: 'Next, please.' }] };

let sim: Simulation;

beforeAll(async () => {
  sim = await simulate();
});
beforeEach(() => sim.reset());
afterAll(() => sim.close());

describe('an invalid answer', () => {
  it('an invalid answer is an error that names its line', async () => {
    const wrong = call('weather', 7 as never);
    expect(() => sim.answer(text('fine'), wrong)).toThrow(
      /^answer 2, test\/contract\/simulate-mistakes\.spec\.ts:\d+:\d+: calls\[0\]\.arguments must be an object or a string, but is an integer/,
    );
    expect(() => sim.on('x', { txt: 'x' } as never)).toThrow(
      /^answer 1, in on\(\) at test\/contract\/simulate-mistakes\.spec\.ts:\d+:\d+: .*unknown member 'txt'/,
    );
    expect(() => sim.answer([text('a'), { text: 'b', when: 'c' }])).toThrow(
      /^answer 1, test\/contract\/simulate-mistakes\.spec\.ts:\d+:\d+: parts of an answer cannot have 'when' or 'request'$/,
    );
    expect(await messageOf(simulate({ answers: [{}] }))).toMatch(
      /^answer 1, in simulate\(\) at .*simulate-mistakes\.spec.*: it must not be empty$/,
    );
    expect(() => sim.answer('Hello' as never)).toThrow(/^answer 1, in answer\(\) at .*: a text is text\("Hello"\)$/);
  });

  it.each([
    ['no parts', [], 'a list of parts must not be empty'],
    ['a list as part', [[text('a')]], 'part 1 must be an object, but is an array'],
    ['a text as part', [text('a'), 'b'], 'part 2 must be an object, but is a string'],
    ['nothing as part', [text('a'), undefined], 'part 2 must be an object, but is nothing'],
    ['a part with a misspelt member', [text('a'), { txt: 'b' }], "part 2 has the unknown member 'txt'"],
    [
      'a part that ends the answer before its last part',
      [{ text: 'a', finish: 'length' }, text('b')],
      "only the last part of an answer can have 'finish'",
    ],
    [
      'a part that fails before its last part',
      [fail('rate_limit'), text('b')],
      "only the last part of an answer can have 'error'",
    ],
    [
      'a part that breaks the connection before its last part',
      [{ text: 'a', cut: true }, text('b')],
      "only the last part of an answer can have 'cut'",
    ],
  ])('an answer with %s is an error that says so', (_, answer, words) => {
    expect(() => sim.answer(answer as never)).toThrow(words);
  });
});

describe('a simulator that is closed', () => {
  it('a simulator that is closed, and its spaces, take no answer, fault or space, and name the line of the test', async () => {
    const closed = await simulate();
    const space = closed.space();
    await closed.close();
    const late = [
      () => closed.answer(text('x')),
      () => closed.on('x', text('x')),
      () => closed.fault('cut'),
      () => closed.space(),
      () => space.answer(text('x')),
    ];
    for (const prepare of late) {
      expect(prepare).toThrow(
        /^\w+\(\) at test\/contract\/simulate-mistakes\.spec\.ts:\d+:\d+: the simulator is closed$/,
      );
    }
    expect(closed.requests).toEqual([]);
  });
});

describe('what types would refuse', () => {
  it.each([
    ['text', () => text(undefined as never)],
    ['refusal', () => refusal(undefined as never)],
    ['reasoning', () => reasoning(undefined as never)],
    ['fail', () => fail(undefined as never)],
  ])('%s() without a value is an error that names the line of the test', (name, make) => {
    expect(make).toThrow(
      /^\w+\(\) at test\/contract\/simulate-mistakes\.spec\.ts:\d+:\d+: expected a value, but got nothing$/,
    );
    expect(make).toThrow(`${name}() at `);
  });

  it.each([
    [
      'fault("rate_limt")',
      () => sim.fault('rate_limt' as never),
      /kind must be one of rate_limit, .*, but is 'rate_limt' \(did you mean 'rate_limit'\?\)/,
    ],
    [
      'a misspelt option of a fault',
      () => sim.fault('cut', { aftr: 3 } as never),
      "has the unknown member 'aftr' (did you mean 'after'?)",
    ],
    ['a fault of no turn', () => sim.fault('cut', { turns: 0 }), 'turns must be >= 1, but is 0'],
    [
      'a misspelt member of a matcher',
      () => sim.on({ modl: 'x' } as never, text('x')),
      "has the unknown member 'modl' (did you mean 'model'?)",
    ],
    [
      'a number to match',
      () => sim.on({ text: 7 } as never, text('x')),
      'text of the matcher must be a text or a RegExp',
    ],
    [
      'no matcher',
      () => sim.on(undefined as never, text('x')),
      'the matcher must be a string or an object, but is nothing',
    ],
    ['no answer to a match', () => (sim.on as (matcher: string) => unknown).call(sim, 'x'), ' has no answer'],
    [
      'a misspelt option of a space',
      () => sim.space({ answer: [] } as never),
      "has the unknown member 'answer' (did you mean 'answers'?)",
    ],
  ])('%s is an error that names the line of the test', (_, use, words) => {
    const place = /^(?:fault|on|space)\(\) at test\/contract\/simulate-mistakes\.spec\.ts:\d+:\d+/;
    expect(use).toThrow(place);
    expect(use).toThrow(words);
  });

  it.each([
    [{ answer: [] }, "has the unknown member 'answer' (did you mean 'answers'?)"],
    [{ answers: text('x') }, 'answers must be an array, but is an object'],
    [{ unmatched: 'never' }, "unmatched must be one of error, generate, but is 'never'"],
    [
      { environment: { SIMULATOR_LATENCI: 'x' } },
      'there is no variable SIMULATOR_LATENCI. Did you mean SIMULATOR_LATENCY?',
    ],
    [{ environment: { SIMULATOR_LATENCY: 'slow' } }, 'SIMULATOR_LATENCY: expected instant, realistic'],
    [{ environment: { LOG_LEVEL: 'loud' } }, 'LOG_LEVEL: expected one of fatal, '],
    [{ scripts: [{ model: 'a', turns: [{ text: 1 }] }] }, 'scripts[0]: turns[0].text must be a string or an array'],
    [{ scripts: [SCRIPT, { turns: [] }] }, 'scripts[1]: '],
    [{ scripts: ['nowhere.yaml'] }, 'scripts[0] (nowhere.yaml): ENOENT'],
    [{ scripts: [SCRIPT, SCRIPT] }, "scripts[1]: has the same model 'clerk' as scripts[0]"],
  ])('simulate(%j) is an error that names the line of the test', async (options, words) => {
    const message = await messageOf(simulate(options as never));
    expect(message).toMatch(/^simulate\(\) at test\/contract\/simulate-mistakes\.spec\.ts:\d+:\d+: /);
    expect(message).toContain(words);
  });

  it('a variable with a bad value is one error, and no line of the log', async () => {
    const write = jest.spyOn(process.stderr, 'write');
    const message = await messageOf(simulate({ environment: { SIMULATOR_LATENCY: 'slow' } }));
    expect(message).toMatch(/: SIMULATOR_LATENCY: /);
    expect(write).not.toHaveBeenCalled();
  });
});
