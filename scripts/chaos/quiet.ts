import { setTimeout as sleep } from 'node:timers/promises';

import type OpenAI from 'openai';
import type { Response } from 'openai/resources/responses/responses';

import type { SeededRandom } from '../../src/simulator/seeded-random.ts';
import type { UsagePage } from '../../src/resources/usage/usage-page.ts';
import type { Fleet } from './fleet.ts';
import { insist, within } from './insist.ts';
import { type Ledger, modelOf, TURN_KINDS, type TurnKind } from './ledger.ts';
import { type Load, slotsOf } from './load.ts';
import { SocketClient, takeJson, takeStream } from './turns.ts';
import type { Webhooks } from './webhooks.ts';

/** What nobody is told of is looked at again after this time, ms: to fill every place takes some CPU. */
const LOOK_MS = 2000;

/** Turns of a kind that may run at once. */
export function placesOf(kind: TurnKind, workers: number): number {
  return 3 * slotsOf(kind, workers);
}

/** What an end needs to be looked at. */
export interface End {
  readonly fleet: Fleet;
  readonly ledger: Ledger;
  readonly random: SeededRandom;
  readonly webhooks: Webhooks;
  readonly workers: number;
  /** How long something is waited for that nobody tells of, ms. */
  readonly patienceMs: number;
}

/** Ends the load, and waits until nothing runs any more and every webhook has come. What does not come is found by the check. */
export async function settle(end: End, load: Load): Promise<void> {
  const { ledger, webhooks } = end;
  load.stop();
  await within('the clients', load.ended).catch(() => undefined);
  for (const id of ledger.unfinished) ledger.report('background', 'lost', id, 'has not ended');
  const ended = [...ledger.responses.values()].filter(({ kind }) => kind === 'background');
  const announced = async (): Promise<void> => {
    while (!ended.every(({ id }) => webhooks.announced.has(id))) await webhooks.next;
  };
  await within('the webhooks', announced()).catch(() => undefined);
  await until(end, async () => (await listResponses(end)).every(({ status }) => isOver(status)));
  for (const { id, status } of await listResponses(end))
    if (!isOver(status)) ledger.report('background', 'lost', id, `is still ${String(status)}`);
}

/**
 * Compares the tokens and turns of the report with the responses that are stored or were deleted: every one has to be counted, once. Turns
 * that nobody was told of may be counted besides, but no more than were asked for.
 */
export async function checkUsage(end: End): Promise<void> {
  const { ledger } = end;
  const kept = [...ledger.responses.values()];
  const stored = await listResponses(end);
  const faultsOf = async () => {
    const page = await insist(end.fleet, end.random, (client) => client.get<UsagePage>('/usage?group_by=model'));
    const results = page.data.flatMap((bucket) => bucket.results);
    return TURN_KINDS.map((kind) => {
      const model = modelOf(kind);
      const counted = results.filter((result) => result.model === model);
      const expected =
        sum(stored.filter((response) => response.model === model).map(({ usage }) => usage?.total_tokens ?? 0)) +
        sum(
          kept.filter((response) => response.kind === kind && response.fate === 'deleted').map(({ tokens }) => tokens),
        );
      const tokens = sum(counted.map((result) => result.input_tokens + result.output_tokens));
      const turns = sum(counted.map((result) => result.turns));
      return { kind, missing: Math.max(0, expected - tokens), excess: turns - (ledger.attempts.get(kind) ?? 0) };
    });
  };
  // With Redis a background response may be counted some time after its end, when its process died.
  await until(end, async () => (await faultsOf()).every(({ missing }) => missing === 0));
  for (const { kind, missing, excess } of await faultsOf()) {
    if (missing > 0) ledger.report(kind, 'uncounted tokens', 'usage', `${missing} tokens`, missing);
    if (excess > 0)
      ledger.report(kind, 'doubled', 'usage', `${excess} more turns are counted than were asked for`, excess);
  }
}

/** Takes a turn of each kind from each process. None may be refused for good: nothing is broken any more. */
export async function checkStarts(end: End): Promise<void> {
  const { fleet, ledger } = end;
  const socket = new SocketClient(ledger, 'WebSocket');
  for (const client of fleet.clients) {
    const turns = {
      JSON: () => takeJson(client, { model: modelOf('JSON'), input: 'Once more.' }),
      SSE: () => takeStream(ledger, 'SSE')(client, { model: modelOf('SSE'), input: 'Once more.' }),
      WebSocket: () => socket.take(client, { model: modelOf('WebSocket'), input: 'Once more.' }),
      background: () =>
        client.responses.create({ model: modelOf('background'), input: 'Once more.', background: true }),
      conversations: async () => {
        const { id: conversation } = await client.conversations.create({});
        return takeJson(client, { model: modelOf('conversations'), input: 'Once more.', conversation });
      },
    };
    for (const kind of TURN_KINDS) {
      let refusal: string | undefined;
      await until(end, async () => {
        refusal = await turns[kind]().then(
          () => undefined,
          (error: unknown) => String(error),
        );
        return refusal === undefined;
      });
      if (refusal !== undefined) ledger.report(kind, 'refused starts', client.baseURL, refusal);
    }
  }
  socket.hangUp();
}

/**
 * Fills every place of every process: as many turns of each kind as may run at once, all of which are held. A turn that is refused has found
 * a place that a turn did not give back. The places that dead processes had are free after thirty seconds.
 */
export async function checkPlaces(end: End): Promise<void> {
  const { fleet, ledger, workers } = end;
  for (const client of fleet.clients) {
    let refused: readonly (readonly [TurnKind, number, string])[] = [];
    await until(end, async () => {
      refused = await fill(client, workers);
      return refused.length === 0;
    });
    for (const [kind, places, reason] of refused)
      ledger.report(kind, 'leaked places', client.baseURL, `${places} turns were refused: ${reason}`, places);
  }
}

/** Holds as many turns of each kind as may run at once. Gives how many were refused, with the reason of one. */
async function fill(client: OpenAI, workers: number): Promise<readonly (readonly [TurnKind, number, string])[]> {
  const release = new AbortController();
  // A stream that nobody has any more would be closed when memory is collected.
  const held: unknown[] = [];
  const hold = async (kind: TurnKind): Promise<string | null> => {
    try {
      const stream = await client.responses.create(
        { model: modelOf(kind), input: 'Hold on.', stream: true, store: false },
        // Its answer never ends.
        { headers: { 'x-simulate': 'latency=1/600000/0' }, signal: release.signal },
      );
      held.push(stream);
      await stream[Symbol.asyncIterator]().next();
      return null;
    } catch (error) {
      return String(error);
    }
  };
  const all = TURN_KINDS.map(async (kind) => {
    const answers = await Promise.all(Array.from({ length: placesOf(kind, workers) }, () => hold(kind)));
    const reasons = answers.filter((reason) => reason !== null);
    return [kind, reasons.length, reasons[0] ?? ''] as const;
  });
  const answers = await Promise.all(all);
  release.abort();
  return answers.filter(([, places]) => places > 0);
}

/** Looks until something holds, or patience is over. */
async function until({ patienceMs }: End, holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + patienceMs;
  while (!(await holds()) && performance.now() < deadline) await sleep(LOOK_MS);
}

/** All that is stored, acknowledged or not. */
async function listResponses({ fleet, random }: End): Promise<readonly Response[]> {
  const all: Response[] = [];
  for (let after = ''; ;) {
    const page = await insist(fleet, random, (client) =>
      client.get<{ readonly data: readonly Response[]; readonly has_more: boolean }>(
        `/responses?order=asc&limit=100${after}`,
      ),
    );
    all.push(...page.data);
    if (!page.has_more) return all;
    after = `&after=${String(page.data.at(-1)?.id)}`;
  }
}

function isOver(status: Response['status']): boolean {
  return status !== 'queued' && status !== 'in_progress';
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
