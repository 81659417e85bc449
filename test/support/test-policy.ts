import { type DynamicModule, Module } from '@nestjs/common';

import { type FinishedPass, type ModelEvent, PassPolicy, type Turn, type TurnPolicy } from '../../src/index.js';

/** The policy of the turns that a test runs. */
export class TestPolicy extends PassPolicy {
  follow: (turn: Turn) => TurnPolicy | undefined = () => undefined;

  override begin(turn: Turn): TurnPolicy | undefined {
    return this.follow(turn);
  }

  /** A module that gives this policy to the service. */
  asModule(): DynamicModule {
    return { module: PolicyModule, providers: [{ provide: TestPolicy, useValue: this }] };
  }
}

@Module({})
class PolicyModule {}

/** The words behind a call. */
export const WORDS: readonly ModelEvent[] = [
  { type: 'text', delta: 'It is ' },
  { type: 'text', delta: 'sunny.' },
  { type: 'usage', input: 20, output: 3 },
];

/** Answers every call of the tools it runs, those of one pass at once. */
export function runTools(...names: readonly string[]): TurnPolicy {
  return {
    answer: async ({ output }: FinishedPass) => {
      const calls = output.filter(({ type, name }) => type === 'function_call' && names.includes(name as string));
      return Promise.all(
        calls.map(async ({ call_id, name }) => ({
          type: 'function_call_output',
          call_id,
          output: `${String(name)} ran`,
        })),
      );
    },
  };
}
