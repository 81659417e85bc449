// Slow: sends thousands of bodies.

import { once } from 'node:events';
import type { Socket } from 'node:net';

import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';

import { OpenReplies } from '../../src/operations/index.js';
import { RunningTurns } from '../../src/responses/index.js';
import { useService } from '../support/describe-service.js';
import {
  anyBody,
  countPlaces,
  damagedBody,
  DEEP_VALUES,
  editedBody,
  type Json,
  NASTY_VALUES,
  SAMPLES,
  writeEdited,
} from '../support/raw-bodies.js';
import { findFault } from '../support/raw-checks.js';
import { RawClient } from '../support/raw-client.js';
import { type Holdings, takeStock } from '../support/raw-heap.js';

const SEED = 20_261_121;

/** More than caches grow by, and a few hundred bytes for each request: what leaks holds kilobytes of each. */
const MOST_HEAP_GROWTH = 24 * 1024 * 1024;

describe(`a service that gets thousands of bodies nobody should send (seed ${SEED})`, () => {
  let client: RawClient;
  let before: Holdings;

  // Before it closes.
  afterAll(() => client.close());
  // Answers of a few words: they are not the subject.
  const service = useService({ environment: { MEMORY_MAX_RESPONSES: 100, SIMULATOR_TARGET_TOKENS: '2' } });
  const closings: Promise<unknown>[] = [];

  async function stockWithoutClients(): Promise<Holdings> {
    client.close();
    await Promise.all(closings);
    return takeStock();
  }

  async function expectSane(arbitrary: fc.Arbitrary<string | Buffer>, numRuns: number, seed = SEED): Promise<void> {
    const property = fc.asyncProperty(arbitrary, async (body) => {
      const fault = findFault(await client.post(body));
      if (fault !== undefined) throw new Error(fault);
    });
    await fc.assert(property, { seed, numRuns });
  }

  async function collectFaults(bodies: Iterable<string>): Promise<readonly string[]> {
    const faults: string[] = [];
    for (const body of bodies) {
      const fault = findFault(await client.post(body));
      if (fault !== undefined) faults.push(`${body.slice(0, 200)} => ${fault.slice(0, 200)}`);
    }
    return faults;
  }

  beforeAll(async () => {
    const server = service.app.getHttpServer();
    server.on('connection', (socket: Socket) => closings.push(once(socket, 'close')));
    client = new RawClient(service.port);
    // Caches are filled and code is compiled before the heap is measured.
    for (const arbitrary of [editedBody, damagedBody, anyBody]) await expectSane(arbitrary, 200, SEED + 1);
    before = await stockWithoutClients();
    client = new RawClient(service.port);
  });

  it('the service answers what is wrong in one place, every place and every wrong value', async () => {
    expect(await collectFaults(everyEdit(NASTY_VALUES))).toEqual([]);
  });

  it('the service answers what is nested 10 000 levels deep, in every place', async () => {
    expect(await collectFaults(everyEdit(DEEP_VALUES))).toEqual([]);
    const deep = DEEP_VALUES[0] ?? '';
    const answer = await client.post(`{"model":"gpt-4.1","input":"Hi","metadata":${deep}}`);
    expect(answer.status).toBe(400);
    expect(JSON.parse(answer.text)).toMatchObject({ error: { code: 'invalid_value', param: 'metadata' } });
  });

  it('the service answers what is wrong in one place, at random', () => expectSane(editedBody, 300));

  it('the service answers what is cut or has wrong bytes', () => expectSane(damagedBody, 300));

  it('the service answers any JSON and what is none', () => expectSane(anyBody, 300));

  it('the service takes nothing of one request over into another', () => {
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it('the service answers good requests as ever', async () => {
    const first = await client.post('{"model":"gpt-5","input":"Hello"}');
    expect(first.status).toBe(200);
    const { id, status } = JSON.parse(first.text) as { id: string; status: string };
    expect(status).toBe('completed');
    const next = await client.stream({ previous_response_id: id });
    expect(await next.whole).toMatch(/\nevent: response\.completed\n.*\n\ndata: \[DONE\]\n\n$/);
  });

  it('the service holds on to nothing of thousands of bodies', async () => {
    expect(client.answers).toBeGreaterThan(10_000);
    const after = await stockWithoutClients();
    expect(service.app.get(RunningTurns).size).toBe(0);
    expect(after.heapBytes - before.heapBytes).toBeLessThan(MOST_HEAP_GROWTH);
    // A few timers are jest's own and come and go.
    for (const [name, count] of Object.entries(after.resources)) {
      expect({ name, more: count - (before.resources[name] ?? 0) < 5 }).toEqual({ name, more: true });
    }
    await service.app.get(OpenReplies).allClosed();
  });
});

function* everyEdit(values: readonly string[]): Generator<string> {
  for (const sample of SAMPLES) {
    for (let place = 0; place < countPlaces(sample); place += 1) yield* editsAt(sample, place, values);
  }
}

function* editsAt(sample: Json, place: number, values: readonly string[]): Generator<string> {
  yield writeEdited(sample, place, { kind: 'remove' });
  // What is around the place is written once: no sample has this character.
  const [before = '', after = ''] = writeEdited(sample, place, { kind: 'replace', json: '\0' }).split('\0');
  for (const json of values) yield before + json + after;
  yield writeEdited(sample, place, { kind: 'add', name: '"__proto__"', json: values[0] ?? '' });
}
