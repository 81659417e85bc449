import type { Tenant } from '../../access/index.js';
import { NEVER } from '../background-runs.js';
import { givenBetween } from '../given-items.js';
import { idOf, inParts, nameOf, toMovedEntry } from '../moving.js';
import type { MovedRecord, MovedResponse, MovedRun } from '../state-transfer.js';
import { readMetadata } from '../stored-conversation.js';
import { readItems, readOrigin, readResponse, responseRecord, type StoredResponse } from '../stored-response.js';
import type { RedisKeys } from './keys.js';
import { sessionsOf } from './keys.js';
import { readLog } from '../log-columns.js';
import { readWholeLog } from './log-entries.js';
import type { Redis } from './redis.js';
import { type Command, pairsOf } from './script.js';

/** Entries of a conversation that are read at once. */
const ENTRIES = 64;
/** Most responses that are read at once, and most bytes, unless one alone has more. */
const RESPONSES = 64;
const BYTES = 8 * 1024 * 1024;

/** A response that continues no other one that is stored. */
export interface Root {
  readonly key: string;
  /** Unix seconds. */
  readonly createdAt: number;
}

/** What a tenant has: the keys of its conversations, and the beginnings of its chains, oldest first. */
export interface Catalogue {
  readonly conversations: string[];
  readonly roots: Root[];
}

/**
 * What all tenants have, or one of them: as all keys say, not the indexes. Some 200 bytes for each chain and conversation, a small
 * part of what Redis has in memory for them. Throws StoreUnavailableError.
 */
export async function takeStock(redis: Redis, keys: RedisKeys, only?: Tenant): Promise<ReadonlyMap<Tenant, Catalogue>> {
  const all = new Map<Tenant, Catalogue>();
  // A scan may give a key twice.
  const seen = new Set<string>();
  const of = (tenant: Tenant): Catalogue => {
    const catalogue = all.get(tenant) ?? { conversations: [], roots: [] };
    all.set(tenant, catalogue);
    return catalogue;
  };
  const isWanted = (tenant: Tenant, key: string): boolean => {
    const isNew = (only === undefined || tenant === only) && !seen.has(key);
    if (isNew) seen.add(key);
    return isNew;
  };
  for await (const names of redis.scan(keys.anyConversation, 'hash')) {
    const replies = await redis.read(...names.map((key): Command => ['HGET', key, 'name']));
    for (const [index, key] of names.entries()) {
      const name = replies[index];
      if (typeof name !== 'string') continue;
      const [tenant] = JSON.parse(name) as [Tenant];
      if (isWanted(tenant, key)) of(tenant).conversations.push(key);
    }
  }
  for await (const names of redis.scan(keys.anyResponse, 'hash')) {
    for (const { tenant, ...root } of await rootsAmong(redis, names)) {
      if (isWanted(tenant, root.key)) of(tenant).roots.push(root);
    }
  }
  for (const { roots } of all.values()) roots.sort((one, other) => one.createdAt - other.createdAt);
  return all;
}

/** The responses, of those named, that continue none, or one that is gone. */
async function rootsAmong(
  redis: Redis,
  names: readonly string[],
): Promise<readonly (Root & { readonly tenant: Tenant })[]> {
  const known = await redis.read(...names.map((key): Command => ['HMGET', key, 'tenant', 'created', 'parent']));
  const responses = names.flatMap((key, index) => {
    const [tenant, created, parent] = known[index] as readonly (string | null)[];
    if (tenant == null || created == null) return [];
    const parentKey = parent == null ? null : beginningOf(key) + parent;
    return [{ tenant: JSON.parse(tenant) as Tenant, key, createdAt: Number(created), parentKey }];
  });
  const parents = responses.flatMap(({ parentKey }) => parentKey ?? []);
  const existing = await redis.read(...parents.map((key): Command => ['EXISTS', key]));
  const stored = new Set(parents.filter((_, index) => existing[index] === 1));
  return responses.filter(({ parentKey }) => parentKey === null || !stored.has(parentKey));
}

/** Reads a conversation, by its key, and its items. Throws StoreUnavailableError. */
export async function* readConversation(redis: Redis, key: string): AsyncGenerator<MovedRecord> {
  const fields = ['name', 'created', 'metadata', 'version', 'last', 'deleted'];
  const [reply] = await redis.read(['HMGET', key, ...fields]);
  const [name, created, metadata, version, last, deleted] = reply as readonly (string | null)[];
  if (name == null || metadata == null) return;
  const [, id] = JSON.parse(name) as [string, string];
  const record = { id, createdAt: Number(created), metadata: readMetadata(metadata, id) };
  const about = { version: Number(version), isDeleted: deleted !== null, end: Number(last) };
  yield { kind: 'conversation', record, ...about };
  const items = `${key.slice(0, -'conversation'.length)}items`;
  for (let from = '-'; ;) {
    const [page] = await redis.read(['XRANGE', items, from, '+', 'COUNT', ENTRIES]);
    const entries = (page as readonly (readonly [string, readonly [string, string]])[]).map(([at, [kind, text]]) =>
      // Positions begin with 1 here.
      toMovedEntry(id, Number.parseInt(at) - 1, kind === 'given', text),
    );
    const end = (page as readonly (readonly [string])[]).at(-1)?.[0];
    if (end === undefined) return;
    yield { kind: 'entries', conversationId: id, version: about.version, entries };
    from = `(${end}`;
  }
}

/** A response with the fields of its hash. */
interface Found {
  readonly key: string;
  readonly fields: ReadonlyMap<string, string>;
  readonly bytes: number;
}

/** Reads chains from their beginnings on, oldest first, and each response before those that continue it. Throws StoreUnavailableError. */
export async function* readChains(redis: Redis, roots: readonly Root[]): AsyncGenerator<MovedResponse> {
  let next = 0;
  // Responses that continue what was read.
  let open: Root[] = [];
  while (next < roots.length || open.length > 0) {
    const batch: Root[] = [];
    while (batch.length < RESPONSES) {
      const [root, child] = [roots[next], open[0]];
      const isRoot = root !== undefined && (child === undefined || root.createdAt <= child.createdAt);
      const first = isRoot ? root : child;
      if (first === undefined) break;
      batch.push(first);
      if (isRoot) next += 1;
      else open.shift();
    }
    const { found, children } = await readHashes(redis, batch);
    open = [...open, ...children].sort((one, other) => one.createdAt - other.createdAt);
    for (const part of inParts(found, RESPONSES, BYTES)) yield* readTexts(redis, part);
  }
}

/** The fields of responses, and what continues them. */
async function readHashes(
  redis: Redis,
  batch: readonly Root[],
): Promise<{ readonly found: readonly Found[]; readonly children: readonly Root[] }> {
  const replies = await redis.read(
    ...batch.flatMap(({ key }): readonly Command[] => [
      ['HGETALL', key],
      ['ZRANGE', `${key}:children`, 0, -1, 'WITHSCORES'],
    ]),
  );
  const found = batch.map(({ key }, index) => {
    const fields = new Map(pairsOf(replies[2 * index]));
    return { key, fields, bytes: Number(fields.get('size')) + Number(fields.get('items_size')) };
  });
  const children = batch.flatMap(({ key }, index) => {
    const beginning = beginningOf(key);
    return pairsOf(replies[2 * index + 1]).map(([id, created]) => ({
      key: beginning + id,
      createdAt: Number(created),
    }));
  });
  // A response may be freed before it leaves the list of its parent's children.
  return { found: found.filter(({ fields }) => fields.has('tenant')), children };
}

async function* readTexts(redis: Redis, part: readonly Found[]): AsyncGenerator<MovedResponse> {
  const texts = ['body', 'input', 'inherited', 'output', 'between', 'turn'];
  const replies = await redis.read(
    ...part.flatMap(({ key, fields }): readonly Command[] => [
      ['MGET', `${key}:body`, ...texts.slice(1).map((name) => `${key}:${name}`)],
      ['GET', `${beginningOf(key)}${fields.get('parent') ?? ''}:body`],
      ['HGET', `${fields.get('conversation') ?? key}:conversation`, 'name'],
    ]),
  );
  for (const [index, found] of part.entries()) {
    const [own, parentBody, name] = replies.slice(3 * index, 3 * index + 3);
    const [body, ...rest] = own as readonly (string | null)[];
    if (body == null) continue;
    yield await toMoved(redis, found, [body, ...rest], parentBody as string | null, name as string | null);
  }
}

async function toMoved(
  redis: Redis,
  { key, fields }: Found,
  [body, input, inherited, output, between, turn]: readonly [string, ...(string | null)[]],
  parentBody: string | null,
  conversation: string | null,
): Promise<MovedResponse> {
  const id = key.slice(beginningOf(key).length);
  const record = responseRecord(id);
  const response = readResponse({
    id,
    body,
    output: output ?? null,
    status: fields.get('status') as StoredResponse['status'],
  });
  const parent = fields.get('parent');
  const origin = fields.get('origin');
  const expiresAt = Number(fields.get('expires'));
  const [, conversationId] = conversation === null ? [] : (JSON.parse(conversation) as [string, string]);
  return {
    kind: 'response',
    response,
    input: readItems(input ?? null, record),
    given: between == null ? [] : givenBetween(response.output, readItems(between, record)),
    inherited: readItems(inherited ?? null, record),
    // A parent without a body was deleted.
    parentId: parent === undefined || parentBody === null ? null : nameOf(parent, 'response', idOf(parentBody)),
    origin: readOrigin(origin ?? null, record),
    place: conversationId === undefined ? null : { conversationId, before: Number(fields.get('position')) },
    sessionId: JSON.parse(fields.get('session') ?? '""') as string,
    sessions: sessionsOf([...fields.keys()]),
    expiresAt: expiresAt >= NEVER ? null : expiresAt,
    run: fields.has('attempt') ? await toMovedRun(redis, key, fields, turn ?? '') : null,
  };
}

async function toMovedRun(
  redis: Redis,
  key: string,
  fields: ReadonlyMap<string, string>,
  turn: string,
): Promise<MovedRun> {
  const ended = fields.get('ended');
  const { rows } = await readWholeLog(redis, `${key}:log`);
  return {
    turn,
    isStream: fields.get('stream') === '1',
    attempts: Number(fields.get('attempts')),
    logExpiresAt: ended === undefined ? null : Number(ended),
    log: readLog(rows, key.slice(beginningOf(key).length)),
  };
}

/** What the keys of all responses of a slot begin with. */
function beginningOf(key: string): string {
  return key.slice(0, key.indexOf('}:r:') + '}:r:'.length);
}
