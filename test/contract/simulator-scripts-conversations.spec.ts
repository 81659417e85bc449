// Slow: runs long agent loops.

import { describe, expect, it } from '@jest/globals';

import { Clock } from '../../src/index.js';
import { useService } from '../support/describe-service.js';
import { textOf } from '../support/output.js';
import { addScript, type Play, type ScriptContent, startWithScripts } from '../support/script-files.js';
import { Refusal } from '../support/transport.js';
import { TRANSPORTS } from '../support/transports.js';
import { WatchedClock } from '../support/clocks.js';

const IDLE_MS = 10_000;
/** What has no end is waited for as long as a timer can. */
const WITHOUT_END_MS = 2_147_483_647;

type Item = Readonly<Record<string, unknown>>;

/** A conversation with the model of a script, one turn at a time. */
class Conversation {
  private history: readonly unknown[] = [];
  private previous: string | null = null;

  constructor(
    private readonly play: Play,
    private readonly keeps: Keeping,
  ) {}

  /** Says something, or brings what a tool gave, and gives the answer or the code of the error. */
  async say(input: string | readonly Item[], more: object = {}): Promise<string> {
    const items = typeof input === 'string' ? [{ type: 'message', role: 'user', content: input }] : input;
    const past =
      this.keeps === 'previous_response_id'
        ? { input: items, previous_response_id: this.previous }
        : { input: [...this.history, ...items], store: false };
    try {
      const { response } = await this.play({ ...past, ...more });
      if (response.status === 'failed') return (response['error'] as { readonly code: string }).code;
      this.previous = response.id;
      this.history = [...this.history, ...items, ...(response['output'] as readonly unknown[])];
      return textOf(response);
    } catch (error) {
      if (!(error instanceof Refusal)) throw error;
      return (error.body as { readonly error: { readonly code: string } }).error.code;
    }
  }

  /** Answers the calls of the last answer. */
  async bring(...callIds: readonly string[]): Promise<string> {
    return this.say(callIds.map((callId) => ({ type: 'function_call_output', call_id: callId, output: 'done' })));
  }
}

type Keeping = 'previous_response_id' | 'replayed history';

const WAYS = TRANSPORTS.flatMap((transport) =>
  (['previous_response_id', 'replayed history'] as const).map((keeps) => ({
    transport,
    keeps,
    name: `${transport.name} with ${keeps}`,
  })),
);

describe.each(WAYS)('conversations over $name', ({ transport, keeps }) => {
  const service = useService({ environment: { SIMULATOR_CONTROL: true } });
  const start = async (script: ScriptContent): Promise<{ talk(): Conversation }> => {
    const play = await addScript(service, transport, script);
    return { talk: () => new Conversation(play, keeps) };
  };

  it('scripted conversations go on each for itself with advance: conversation', async () => {
    const turns = [{ text: 'one' }, { reasoning: 'Hm.', text: 'two' }, { text: 'three' }];
    const script = await start({ advance: 'conversation', on_exhausted: 'loop', turns });
    const [ada, ben] = [script.talk(), script.talk()];
    const said = [];
    for (const who of [ada, ben, ada, ada, ben, ada, ben, ada]) said.push(await who.say('Hello.'));
    expect(said).toEqual(['one', 'one', 'two', 'three', 'two', 'one', 'three', 'two']);
  });

  it.each([
    ['repeat_last', 'two'],
    ['error', 'script_exhausted'],
    ['loop', 'one'],
  ])('scripted conversations that are longer than the script: %s', async (afterLast, expected) => {
    const turns = [{ text: 'one' }, { text: 'two' }];
    const script = await start({ advance: 'conversation', on_exhausted: afterLast, turns });
    const talk = script.talk();
    expect(await talk.say('a')).toBe('one');
    expect(await talk.say('b')).toBe('two');
    expect(await talk.say('c')).toBe(expected);
    expect(await script.talk().say('a')).toBe('one');
  });

  it('scripted conversations share the turns with advance: request', async () => {
    const script = await start({ turns: [{ text: 'one' }, { text: 'two' }, { text: 'three' }] });
    const [ada, ben] = [script.talk(), script.talk()];
    const said = [];
    for (const who of [ada, ben, ada]) said.push(await who.say('Hello.'));
    expect(said).toEqual(['one', 'two', 'three']);
  });

  const failing = [
    ['is refused', { error: { kind: 'rate_limit' } }, 'rate_limit_exceeded'],
    ['fails in the middle', { text: 'I was', error: { code: 'flaky' } }, 'flaky'],
    ['ends early', { steps: [{ text: ['I'] }, { end: true }] }, 'server_error'],
  ] as const;

  it.each(failing)(
    'scripted conversations try again when a turn %s, and get the next one',
    async (_name, turn, code) => {
      const turns = [turn, { text: 'one' }, turn, turn, { text: 'two' }, { text: 'three' }];
      const script = await start({ advance: 'conversation', turns });
      const talk = script.talk();
      const said = [];
      for (const message of ['a', 'a', 'b', 'b', 'b', 'c', 'd']) said.push(await talk.say(message));
      expect(said).toEqual([code, 'one', code, code, 'two', 'three', 'three']);
      // Another one, which says something else first, has to get through its own failures.
      const other = script.talk();
      expect([await other.say('z'), await other.say('z')]).toEqual([code, 'one']);
    },
  );

  it('scripted conversations go through a tool loop within one user message', async () => {
    const turns = [
      { when: 'weather', calls: [{ name: 'locate', call_id: 'call_1' }] },
      {
        when: 'weather',
        reasoning: 'Hm.',
        calls: [
          { name: 'look', call_id: 'call_2' },
          { name: 'check', call_id: 'call_3' },
        ],
      },
      { when: 'weather', text: 'Sunny.' },
      { text: 'Welcome.' },
    ];
    const script = await start({ match: 'last_user_message', turns });
    const talk = script.talk();
    for (let round = 0; round < 2; round += 1) {
      expect(await talk.say('Hello.')).toBe('Welcome.');
      expect(await talk.say('The weather?')).toBe('[locate]');
      expect(await talk.bring('call_1')).toBe('[look][check]');
      expect(await talk.bring('call_2', 'call_3')).toBe('Sunny.');
    }
    expect(await talk.say('Thanks.')).toBe('Welcome.');
  });

  it('scripted conversations go through a tool loop in order with advance: conversation', async () => {
    const turns = [
      { text: 'I will look.', calls: [{ name: 'look', call_id: 'call_1' }] },
      { calls: [{ name: 'look', call_id: 'call_2' }] },
      { text: 'Sunny.' },
    ];
    const script = await start({ advance: 'conversation', on_exhausted: 'error', turns });
    const talks = [script.talk(), script.talk()];
    for (const talk of talks) expect(await talk.say('The weather?')).toBe('I will look.[look]');
    for (const talk of talks) expect(await talk.bring('call_1')).toBe('[look]');
    for (const talk of talks) expect(await talk.bring('call_2')).toBe('Sunny.');
    for (const talk of talks) expect(await talk.say('Thanks.')).toBe('script_exhausted');
  });

  it.each([
    ['order', { advance: 'conversation' }],
    ['last_user_message', { match: 'last_user_message' }],
  ])('a scripted conversation cannot be moved to a turn by x-simulate: by %s', async (_name, settings) => {
    const script = await start({ ...settings, turns: [{ text: 'one' }, { text: 'two' }] });
    const talk = script.talk();
    expect(await talk.say('a', { client_metadata: { 'x-simulate': 'turn=2' } })).toBe('invalid_value');
    expect(await talk.say('a')).toBe('one');
  });
});

describe.each(TRANSPORTS)('a conversation over $name', (transport) => {
  it('a scripted conversation gets the next turn when it tries again after a cut', async () => {
    const turns = [{ text: ['I was'], cut: true }, { text: 'one' }];
    await using service = await startWithScripts({ 'played.yaml': { advance: 'conversation', turns } });
    const talk = new Conversation((body) => transport.run(service, { model: 'played', ...body }), 'replayed history');
    await expect(talk.say('a')).rejects.toThrow();
    expect(await talk.say('a')).toBe('one');
  });

  it('a scripted conversation gets the next turn when it tries again after a stall', async () => {
    const clock = new WatchedClock();
    const turns = [{ steps: [{ text: ['I was'] }, { stall: true }] }, { text: 'one' }];
    const service = await startWithScripts(
      { 'played.yaml': { advance: 'conversation', turns } },
      { overrides: [[Clock, clock]], environment: { MODEL_IDLE_TIMEOUT_MS: IDLE_MS } },
    );
    try {
      const talk = new Conversation((body) => transport.run(service, { model: 'played', ...body }), 'replayed history');
      const stalled = clock.whenScheduled(WITHOUT_END_MS);
      const failed = talk.say('a');
      await stalled;
      clock.advance(IDLE_MS);
      // Nothing is stored: a client may send the request again.
      expect(await failed).toBe(transport.name === 'json' ? 'service_unavailable' : 'server_error');
      const stalledAgain = clock.whenScheduled(WITHOUT_END_MS).then(() => 'stalled again');
      const answer = talk.say('a').catch(() => 'cut off');
      expect(await Promise.race([answer, stalledAgain])).toBe('one');
    } finally {
      clock.letGo();
      clock.advance(IDLE_MS);
      await service.close();
    }
  });
});
