import { createHash } from 'node:crypto';

import { beforeAll, describe, expect, it } from '@jest/globals';

import { type Service, startService } from '../support/service.js';
import { postJson } from '../support/sse.js';

/** Kinds that show in the outcome of a JSON request, each in a tenth of the turns. */
const RATES = 'rate_limit=0.1,server_error=0.1,unavailable=0.1,cut=0.1,upstream_cut=0.1,malformed=0.1';
const INPUTS = Array.from({ length: 40 }, (_, index) => `Tell me story ${index}.`);
const TIMES = 5;

/** How each request went, in the order in which it was sent again and again. */
type Outcomes = Readonly<Record<string, readonly string[]>>;

/** Sends every request five times in some order. */
type Traffic = (send: (input: string) => Promise<void>) => Promise<void>;

const roundByRound: Traffic = async (send) => {
  for (let round = 0; round < TIMES; round += 1) for (const input of INPUTS) await send(input);
};

const oneAfterTheOther: Traffic = async (send) => {
  for (const input of INPUTS.toReversed()) for (let round = 0; round < TIMES; round += 1) await send(input);
};

const allAtOnce: Traffic = async (send) => {
  await Promise.all(
    INPUTS.map(async (input) => {
      for (let round = 0; round < TIMES; round += 1) await send(input);
    }),
  );
};

describe('a run with several rates', () => {
  const play = async (seed: number, traffic: Traffic, faults = RATES): Promise<Outcomes> => {
    await using service = await startService({ environment: { SIMULATOR_FAULTS: faults, SIMULATOR_SEED: seed } });
    const outcomes = Object.fromEntries(INPUTS.map((input): [string, string[]] => [input, []]));
    await traffic(async (input) => {
      outcomes[input]?.push(await outcomeOf(service, input));
    });
    return outcomes;
  };

  /** What the others are compared with, played once. */
  let reference: Outcomes;
  beforeAll(async () => {
    reference = await play(7, roundByRound);
  });

  it.each([
    ['in the same order', roundByRound],
    ['in another order', oneAfterTheOther],
    ['all at once', allAtOnce],
  ])('a run with several rates is the same with the same seed, sent %s', async (_, traffic) => {
    expect(await play(7, traffic)).toEqual(reference);
  });

  it('a run with several rates is another one with another seed', async () => {
    const other = await play(8, allAtOnce);
    const kinds = (outcomes: Outcomes): readonly string[] => Object.values(outcomes).flat().map(kindOf);
    expect(kinds(other)).not.toEqual(kinds(reference));
  });

  it('a run with several rates has about the share of each kind that was asked for, and draws again for a retry', async () => {
    const outcomes = Object.values(reference);
    const counts = Map.groupBy(outcomes.flat().map(kindOf), (kind) => kind);
    for (const kind of ['rate_limit', 'server_error', 'unavailable', 'cut', 'upstream_cut', 'malformed']) {
      const share = (counts.get(kind)?.length ?? 0) / (INPUTS.length * TIMES);
      expect({ kind, isAboutATenth: share > 0.04 && share < 0.17, share }).toMatchObject({ kind, isAboutATenth: true });
    }
    expect(counts.get('completed')?.length).toBeGreaterThan(50);
    expect(outcomes.filter((times) => new Set(times.map(kindOf)).size > 1).length).toBeGreaterThan(30);
  });

  it('a run with several rates is as without rates where they are 0', async () => {
    const outcomes = await play(7, allAtOnce, 'rate_limit=0,cut=0');
    expect(outcomes).toEqual(await play(7, allAtOnce, ''));
    expect(new Set(Object.values(outcomes).flat().map(kindOf))).toEqual(new Set(['completed']));
  });
});

/** How a request went, as one line: what it was refused with, how its response ended, what was said. */
async function outcomeOf(service: Service, input: string): Promise<string> {
  try {
    const { status, headers, body } = await postJson(`${service.baseURL}/responses`, { model: 'gpt-4.1', input });
    const { error, output = null } = body as { error: { message: string } | null; output?: readonly object[] };
    const said = JSON.stringify(output?.map((item) => ({ ...item, id: '' })) ?? null);
    const digest = createHash('sha256').update(said).digest('hex');
    const message = error?.message.replace(/req_\w+/, '') ?? 'completed';
    return [status, message, headers.get('retry-after'), digest].join(' | ');
  } catch {
    return 'cut';
  }
}

/** Which fault an outcome is of. */
function kindOf(outcome: string): string {
  const words = {
    'Rate limit': 'rate_limit',
    'gpt-4.1 had an error': 'server_error',
    overloaded: 'unavailable',
    'ended its answer early': 'upstream_cut',
    'while processing': 'malformed',
  };
  return (
    Object.entries(words).find(([part]) => outcome.includes(part))?.[1] ?? (outcome === 'cut' ? 'cut' : 'completed')
  );
}
