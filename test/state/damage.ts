import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { toFile } from 'openai';
import { Client as Postgres } from 'pg';

import { Environment } from '../../src/config/index.js';
import { createClient } from '../../src/state/redis/connection-options.js';
import { FILE_NAME } from '../../src/state/sqlite/open-database.js';
import { pause } from '../support/pause.js';
import { findKeys } from '../support/redis/remove-keys.js';
import { type Service, type ServiceOptions, startService } from '../support/service.js';
import type { StateKind, TestState } from '../support/state-backends.js';

/** How often it is asked whether a file is indexed. */
export const POLL = { pollIntervalMs: 5 };

/** No JSON, and nothing for a log. */
export const SECRET = 'sesame';

/** A request. */
export const GREETING = { model: 'gpt-5', input: 'Hello' } as const;

/** Where a text is stored: a column of rows in a database with SQL, and a key in Redis. */
export interface StoredText {
  /** As `table.column`, in SQLite. */
  readonly column: string;
  /** The condition of the row, with `$1` for the id. */
  readonly where?: string;
  /** The same in PostgreSQL, where it differs. */
  readonly postgres?: { readonly column: string; readonly where: string };
  /** What the key ends with, and the field of the hash where it is one; for an entry of a stream, its text is replaced. */
  readonly redis?: { readonly key: (id: string) => string; readonly field?: string; readonly entryWith?: true };
}

/** What is to be written in place of a stored text: where it is stored, the id of what it belongs to, and the other text. */
export type Harm = readonly [stored: StoredText, id: string, text: string];

/**
 * Has all tests of a block share a state, in place of one for each: services store what the tests prepare, and the state is damaged when
 * these have ended, because nobody else may write to the file of SQLite. One service after another stores, each with its environment.
 * The tests start those that read.
 */
export function useDamagedState(kind: StateKind, environments: readonly Variables[]) {
  const fills = new Map(environments.map((each) => [each, [] as ((service: Service) => Promise<readonly Harm[]>)[]]));
  let state: TestState | undefined;
  beforeAll(async () => {
    state = await kind.open();
    const harms: Harm[] = [];
    for (const [environment, tasks] of fills) {
      await using service = await startService({ environment: { ...state.environment, ...environment } });
      for (const task of tasks) harms.push(...(await task(service)));
    }
    for (const [stored, id, text] of harms) await damage(kind, state, stored, id, text);
  });
  afterAll(() => state?.drop());
  return {
    /** What makes a service use the state. */
    environment: (): Variables => ({ ...state?.environment }),
    /** Has the service with one of the environments store something, and damage done to it. Gives, in tests, what `fill` resolves with. */
    prepare: <T>(
      environment: Variables,
      fill: (service: Service) => Promise<T>,
      harm: (found: T) => readonly Harm[],
    ): (() => T) => {
      const found: T[] = [];
      fills.get(environment)?.push(async (service) => {
        found.push(await fill(service));
        return found.flatMap(harm);
      });
      return () => {
        const [stored] = found;
        if (stored === undefined) throw new Error('what is prepared is there only while tests run');
        return stored;
      };
    },
  };
}

type Variables = Readonly<Record<string, string>>;

/** Opens a state for each test of a suite, which services fill and then find damaged. */
export function damageIn(kind: StateKind) {
  let state: TestState;
  beforeEach(async () => {
    state = await kind.open();
  });
  afterEach(() => state.drop());

  const start = ({ environment, ...options }: ServiceOptions = {}): Promise<Service> =>
    startService({ ...options, environment: { ...state.environment, ...environment } });
  return {
    /** Starts a service. */
    start,
    /** Fills the state, and ends the service: nobody else may write to the file of SQLite. */
    filled: async <T>(fill: (service: Service) => Promise<T>, options?: ServiceOptions): Promise<T> => {
      await using service = await start(options);
      return await fill(service);
    },
    /** Writes something else in place of a stored text. */
    damage: (stored: StoredText, id: string, text: string): Promise<void> => damage(kind, state, stored, id, text),
  };
}

async function damage(
  { state }: StateKind,
  { environment }: TestState,
  { column, where = 'id = $1', postgres = { column, where }, redis }: StoredText,
  id: string,
  text: string,
): Promise<void> {
  if (state === 'sqlite') damageFile(environment, updateOf(column, where), id, text);
  else if (state === 'postgres') {
    await damageRow(environment, updateOf(`antiphon.${postgres.column}`, postgres.where), id, text);
  } else if (redis !== undefined) await damageKey(environment, redis, id, text);
}

function updateOf(column: string, where: string): string {
  const dot = column.lastIndexOf('.');
  return `UPDATE ${column.slice(0, dot)} SET ${column.slice(dot + 1)} = $2 WHERE ${where}`;
}

function damageFile({ STATE_DIR = '' }: TestState['environment'], statement: string, id: string, text: string): void {
  const database = new DatabaseSync(join(STATE_DIR, FILE_NAME));
  const { changes } = database.prepare(statement).run({ $1: id, $2: text });
  database.close();
  if (changes !== 1) throw new Error(`${statement} has changed ${changes} rows`);
}

async function damageRow(
  { DATABASE_URL: connectionString }: TestState['environment'],
  statement: string,
  id: string,
  text: string,
): Promise<void> {
  const client = new Postgres({ connectionString });
  await client.connect();
  const { rowCount } = await client.query(statement, [id, text]);
  await client.end();
  if (rowCount !== 1) throw new Error(`${statement} has changed ${rowCount} rows`);
}

async function damageKey(
  { REDIS_URL, REDIS_PREFIX = '' }: TestState['environment'],
  { key, field, entryWith }: NonNullable<StoredText['redis']>,
  id: string,
  text: string,
): Promise<void> {
  const keys = await findKeys(REDIS_URL, `${REDIS_PREFIX}:*${key(id)}`);
  const client = createClient(Object.assign(new Environment(), { REDIS_URL }), {});
  await client.connect();
  try {
    const held = await Promise.all(keys.map(async (name) => keys.length === 1 || (await holds(client, name, id))));
    const [found, ...others] = keys.filter((_, index) => held[index]);
    if (found === undefined || others.length > 0) throw new Error(`not one key of ${keys.length} is that of ${id}`);
    if (entryWith) await damageEntry(client, found, id, text);
    else if (field === undefined) await client.set(found, text, 'KEEPTTL');
    else await client.hset(found, field, text);
  } finally {
    client.disconnect();
  }
}

/** Whether an id is in a stream or in a hash: the names of those of a conversation have a digest. */
async function holds(client: ReturnType<typeof createClient>, key: string, id: string): Promise<boolean> {
  const isStream = (await client.type(key)) === 'stream';
  return JSON.stringify(isStream ? await client.xrange(key, '-', '+') : await client.hgetall(key)).includes(id);
}

/** An entry of a stream cannot be changed: all are written again. */
async function damageEntry(
  client: ReturnType<typeof createClient>,
  key: string,
  id: string,
  text: string,
): Promise<void> {
  const entries = await client.xrange(key, '-', '+');
  await client.del(key);
  for (const [at, [kind = '', item = '']] of entries) {
    await client.xadd(key, at, kind, item.includes(`"${id}"`) ? text : item);
  }
}

/** Stores a file; resolves with its id. */
export async function upload(service: Service): Promise<string> {
  const file = await toFile(Buffer.from('Trains are booked in second class.'), 'travel.txt');
  return (await service.client().files.create({ file, purpose: 'assistants' })).id;
}

/** Stores a response. */
export function ask(service: Service) {
  return service.client().responses.create(GREETING);
}

/** Polls a response or a file in a vector store until it has ended, also while it cannot be read. */
export async function whenOver(service: Service, path: string): Promise<Ended> {
  for (;;) {
    const { status, body } = await send(service, 'GET', path);
    const found = body as Ended;
    if (status === 200 && found.status !== 'queued' && found.status !== 'in_progress') return found;
    await pause();
  }
}

/** What has ended, and why. */
export interface Ended {
  readonly status: string;
  readonly error?: { readonly code: string; readonly message: string } | null;
}

/** Sends a request without a body. */
export async function send(
  service: Service,
  method: string,
  path: string,
): Promise<{ readonly status: number; readonly body: unknown }> {
  const answer = await fetch(service.baseURL + path, { method });
  return { status: answer.status, body: await answer.json() };
}
