import { describe, expect, it } from '@jest/globals';

import { upstreamTurn } from '../../test/support/upstream-turn.js';
import { ScriptedProvider } from './scripted-provider.js';

describe(ScriptedProvider.name, () => {
  const signal = new AbortController().signal;
  const ask = (provider: ScriptedProvider): Promise<readonly unknown[]> =>
    Array.fromAsync(provider.generate(upstreamTurn(), { signal }));

  it('a scripted provider that was reset answers as a new one', async () => {
    const provider = new ScriptedProvider();
    provider.reply({ type: 'text', delta: 'first' }).reply({ type: 'text', delta: 'second' });
    provider.otherwise(async function* () {
      yield { type: 'text', delta: 'otherwise' };
    });
    expect(JSON.stringify(await ask(provider))).toContain('first');
    provider.reset();
    expect(provider.turns).toEqual([]);
    expect(await ask(provider)).toEqual(await ask(new ScriptedProvider()));
    expect(provider.turns).toHaveLength(1);
  });
});
