/**
 * `npm run load:sessions -- [url] [--key k]… [--model m] [--sessions n] [--turns n] [--at-once n]`: many sessions at once, each a chain of turns
 * with a word of its own. Every session must find its own words, in order, and nobody else's; other tenants must find nothing. Prints
 * a summary; the exit code is 1 if anything was wrong.
 */
import { randomUUID } from 'node:crypto';
import { performance } from 'node:perf_hooks';

import OpenAI from 'openai';
import type { Response } from 'openai/resources/responses/responses';

import { openSubject, readArguments, type Subject } from './subject.ts';

/** Tenants of a service that is started for the run. */
const OWN_KEYS = ['key-of-tenant-0', 'key-of-tenant-1', 'key-of-tenant-2', 'key-of-tenant-3'] as const;

interface Session {
  readonly name: string;
  /** In every input of the session, and nowhere else. */
  readonly word: string;
  readonly client: OpenAI;
  /** A client of another tenant; undefined with one key. */
  readonly stranger: OpenAI | undefined;
}

const wanted = readArguments({ sessions: 1000, turns: 3, 'at-once': 1000 });
const { sessions: count = 1, turns = 1, 'at-once': atOnce = 1 } = wanted.numbers;
// The simulator repeats what it was told, so that an answer shows whose input it has seen.
await using subject = await openSubject(wanted, OWN_KEYS, { SIMULATOR_GENERATOR: 'echo' });
const faults: string[] = [];
const latencies: number[] = [];
const startedAt = performance.now();
await runAll(makeSessions(subject));
report(performance.now() - startedAt);
process.exitCode = faults.length === 0 ? 0 : 1;

function makeSessions({ baseUrl, keys }: Subject): readonly Session[] {
  const clients = keys.map((apiKey) => new OpenAI({ apiKey, baseURL: baseUrl, maxRetries: 5 }));
  return Array.from({ length: count }, (_, index) => {
    const client = clients[index % clients.length];
    if (client === undefined) throw new Error('there is no key');
    const stranger = clients.length === 1 ? undefined : clients[(index + 1) % clients.length];
    return { name: `session-${index}-${randomUUID()}`, word: `word-${randomUUID()}`, client, stranger };
  });
}

/** Runs all sessions, so many at once. */
async function runAll(sessions: readonly Session[]): Promise<void> {
  const waiting = sessions.values();
  const work = async (): Promise<void> => {
    for (const session of waiting) await runSession(session).catch((error: unknown) => fault(session, String(error)));
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, sessions.length) }, work));
}

async function runSession(session: Session): Promise<void> {
  const ids: string[] = [];
  for (let turn = 1; turn <= turns; turn++) ids.push(await takeTurn(session, turn, ids.at(-1) ?? null));
  const last = ids.at(-1);
  if (last === undefined) return;
  const stored = await session.client.responses.retrieve(last, { headers: { 'x-session-id': session.name } });
  if (stored.previous_response_id !== (ids.at(-2) ?? null)) fault(session, `${last} continues another response`);
  await refuseStranger(session, last);
}

/** One turn; every other one is streamed. Returns the id of its response. */
async function takeTurn(session: Session, turn: number, parent: string | null): Promise<string> {
  const begun = performance.now();
  const said = `${session.word} turn ${turn}`;
  const body = { model: subject.model, input: said, previous_response_id: parent };
  const options = { headers: { 'x-session-id': session.name } };
  const response: Response =
    turn % 2 === 0
      ? await session.client.responses.stream(body, options).finalResponse()
      : await session.client.responses.create(body, options);
  latencies.push(performance.now() - begun);
  if (response.status !== 'completed') fault(session, `${response.id} is ${response.status}`);
  if (wanted.url === undefined && response.output_text !== said) fault(session, `${response.id} answers another input`);
  const { data } = await session.client.responses.inputItems.list(response.id, {}, options);
  if (!JSON.stringify(data).includes(said)) fault(session, `${response.id} has lost its input`);
  return response.id;
}

async function refuseStranger({ stranger, ...session }: Session, responseId: string): Promise<void> {
  if (stranger === undefined) return;
  const found = await stranger.responses.retrieve(responseId).then(
    () => 200,
    (error: unknown) => (error instanceof OpenAI.APIError ? Number(error.status) : String(error)),
  );
  if (found !== 404) fault(session, `another tenant gets ${found} for ${responseId}`);
}

function fault({ name }: Pick<Session, 'name'>, what: string): void {
  faults.push(`${name}: ${what}`);
}

function report(durationMs: number): void {
  latencies.sort((one, other) => one - other);
  const at = (share: number): string => `${Math.round(latencies[Math.floor(share * (latencies.length - 1))] ?? 0)} ms`;
  const lines = [
    `${count} sessions of ${turns} turns, ${Math.min(atOnce, count)} at once, ${subject.keys.length} tenants: ${(durationMs / 1000).toFixed(1)} s`,
    `turns: ${latencies.length}, latency p50 ${at(0.5)}, p95 ${at(0.95)}, longest ${at(1)}`,
    faults.length === 0 ? 'no fault' : `${faults.length} faults:`,
    ...faults.slice(0, 20),
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}
