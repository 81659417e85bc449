import { beforeEach, describe, expect, it } from '@jest/globals';
import { type DynamicModule, Module } from '@nestjs/common';

import {
  Admission,
  type AnsweringTurn,
  type BegunTurn,
  type Lease,
  ModelError,
  type ModelEvent,
  TurnObserver,
  type TurnRecord,
} from '../../src/index.js';
import { ScriptedProvider } from '../../src/testing/index.js';
import { createInBackground, IN_BACKGROUND, whenEnded, whenRunning } from '../support/background.js';
import { useFreshService } from '../support/describe-service.js';
import { RawClient } from '../support/raw-client.js';
import { HeldTurns } from '../support/held-turns.js';
import { startServiceIn, STATES } from '../support/state-backends.js';
import { runTools, TestPolicy } from '../support/test-policy.js';

@Module({})
class WitnessModule {}

/** Writes down what it is told. */
class Witness extends TurnObserver {
  private readonly lines: string[] = [];
  readonly records: TurnRecord[] = [];
  private over = Promise.withResolvers<undefined>();

  override begun({ background, transport }: BegunTurn): void {
    this.lines.push(`begun ${transport} ${background ? 'in the background' : ''}`);
  }

  override firstEvent({ provider, firstEventMs }: AnsweringTurn): void {
    this.lines.push(`first event of ${provider}${firstEventMs >= 0 ? '' : ' too early'}`);
  }

  override settled(record: TurnRecord): void {
    this.lines.push(`settled ${record.status}`);
    this.records.push(record);
    this.over.resolve(undefined);
  }

  /** By name: the process that creates a turn and the one that runs it tell on their own. */
  get told(): readonly string[] {
    return this.lines.toSorted();
  }

  whenOver(): Promise<undefined> {
    return this.over.promise;
  }

  asModule(): DynamicModule {
    return { module: WitnessModule, providers: [{ provide: Witness, useValue: this }] };
  }
}

/** Counts leases, and what was used under them. */
class Counter extends Admission {
  acquired = 0;
  readonly released: unknown[] = [];

  override acquire(): Lease {
    this.acquired += 1;
    return { release: (usage) => void this.released.push(usage?.total_tokens ?? null) };
  }
}

const CALL: readonly ModelEvent[] = [
  { type: 'function_call', name: 'weather', callId: 'call_1' },
  { type: 'function_call_arguments', delta: '{}' },
  { type: 'usage', input: 10, output: 5 },
];

describe.each(STATES)('observers and admission in $state', ({ open }) => {
  let witness: Witness;
  let counter: Counter;
  let policy: TestPolicy;
  const service = useFreshService(() => {
    witness = new Witness();
    counter = new Counter();
    policy = new TestPolicy();
    return startServiceIn(open, {
      providers: [ScriptedProvider],
      imports: [witness.asModule(), policy.asModule()],
      overrides: [[Admission, counter]],
      environment: { BACKGROUND_MAX_RUNNING: 1 },
    });
  });
  let held: HeldTurns;
  beforeEach(() => {
    held = new HeldTurns(service.provider);
  });

  it('observers see a turn once, with the usage of all its passes', async () => {
    policy.follow = () => runTools('weather');
    service.provider.reply(...CALL).reply({ type: 'text', delta: 'Sunny.' }, { type: 'usage', input: 20, output: 2 });
    const { id } = await createInBackground(service, { input: 'How is it?' });
    const { output, usage } = await whenEnded(service, id);
    await witness.whenOver();
    expect(output.map(({ type }) => type)).toEqual(['function_call', 'message']);
    expect(usage).toMatchObject({ input_tokens: 30, output_tokens: 7, total_tokens: 37 });
    expect(witness.told).toEqual(['begun json in the background', 'first event of scripted', 'settled completed']);
    expect(witness.records).toMatchObject([
      { responseId: id, background: true, transport: 'json', provider: 'scripted', usage: { total_tokens: 37 } },
    ]);
    expect([counter.acquired, counter.released]).toEqual([1, [37]]);
    // What the policy gave is part of the context.
    await service.api.create({ previous_response_id: id });
    expect(service.provider.turns.at(-1)?.context.map(({ type }) => type)).toEqual([
      'message',
      'function_call',
      'function_call_output',
      'message',
      'message',
    ]);
  });

  it('observers see the creator of a stream, not its readers', async () => {
    const raw = new RawClient(service.port);
    const text = await (await raw.stream({ ...IN_BACKGROUND })).whole;
    const id = /resp_\w+/.exec(text)?.[0] ?? '';
    await raw.send({ path: `/v1/responses/${id}?stream=true` });
    raw.close();
    await witness.whenOver();
    expect(witness.told).toEqual(['begun sse in the background', 'first event of scripted', 'settled completed']);
    expect(counter.acquired).toBe(1);
  });

  it('observers see a running turn that is cancelled', async () => {
    held.hold();
    const { id } = await createInBackground(service);
    await held.whenBegun(1);
    await whenRunning(service, id);
    const cancel = (): Promise<unknown> => service.client().responses.cancel(id);
    await Promise.all([cancel(), cancel()]);
    await witness.whenOver();
    expect(witness.told).toEqual(['begun json in the background', 'first event of scripted', 'settled cancelled']);
    expect(witness.records).toMatchObject([{ responseId: id, background: true, errorCode: null }]);
    expect([counter.acquired, counter.released.length]).toEqual([1, 1]);
  });

  it('observers see a queued turn that is cancelled, which was never admitted', async () => {
    held.hold();
    await createInBackground(service, { input: 'first' });
    await held.whenBegun(1);
    const { id } = await createInBackground(service, { input: 'second' });
    await service.client().responses.cancel(id);
    expect(witness.records).toMatchObject([{ responseId: id, status: 'cancelled', usage: null, firstEventMs: null }]);
    expect(counter.acquired).toBe(1);
    held.letAllGo();
  });

  it('observers see a turn that fails', async () => {
    service.provider.play(async function* () {
      yield [{ type: 'usage', input: 4, output: 1 }];
      throw new ModelError('rate_limit_exceeded', 'Slow down.', { status: 429 });
    });
    const { id } = await createInBackground(service);
    expect(await whenEnded(service, id)).toMatchObject({ status: 'failed', error: { code: 'rate_limit_exceeded' } });
    await witness.whenOver();
    expect(witness.records).toMatchObject([
      { responseId: id, status: 'failed', errorCode: 'rate_limit_exceeded', usage: { total_tokens: 5 } },
    ]);
    expect(witness.told.filter((line) => line.startsWith('settled'))).toHaveLength(1);
    expect([counter.acquired, counter.released]).toEqual([1, [5]]);
  });
});
