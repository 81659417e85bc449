import { describe, expect, it } from '@jest/globals';

import { ScriptedProvider } from '../../src/testing/index.js';
import { SentStatements } from '../state/sent-statements.js';
import { useService } from '../support/describe-service.js';
import { RawClient } from '../support/raw-client.js';
import { openPostgres, startServiceIn } from '../support/state-backends.js';

const DELTAS = 30;

/** At the beginning of the stream, and when nothing happens for a while. */
const MOST_READS = 10;

describe('the log of a response in PostgreSQL', () => {
  const service = useService(() => startServiceIn(openPostgres, { providers: [ScriptedProvider] }));

  it('the log of a response in PostgreSQL is hardly read by the clients of the process that writes it', async () => {
    const received = Array.from({ length: DELTAS }, () => Promise.withResolvers<undefined>());
    service.provider.play(async function* () {
      for (const [index, { promise }] of received.entries()) {
        yield [{ type: 'text', delta: `<${index}>` }];
        await promise;
      }
      yield [{ type: 'finish', reason: 'stop' }];
    });
    const client = new RawClient(service.port);
    using statements = new SentStatements();
    const creator = await client.stream({ model: 'scripted', input: 'Hi', background: true });
    // One after the other, so that each is logged and announced by itself.
    for (const [index, { resolve }] of received.entries()) {
      await creator.until(`"delta":"<${index}>"`);
      resolve(undefined);
    }
    expect(await creator.whole).toContain('response.completed');
    client.close();
    const names = statements.take().map(({ name }) => name);
    expect(names.filter((name) => name === 'antiphon_append').length).toBeGreaterThan(DELTAS);
    expect(names.filter((name) => name === 'antiphon_log_page').length).toBeLessThan(MOST_READS);
  });
});
