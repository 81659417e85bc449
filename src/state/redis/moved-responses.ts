import type { Origin } from '../../protocol/index.js';
import { NEVER } from '../background-runs.js';
import { givenBetween } from '../given-items.js';
import { idOf, nameOf } from '../moved-names.js';
import type { MovedResponse, MovedRun } from '../state-transfer.js';
import { readItems, readResponse, type StoredResponse } from '../stored-response.js';
import type { Root } from './catalogue.js';
import { sessionsOf } from './keys.js';
import { readWholeLog } from './log-entries.js';
import type { Redis } from './redis.js';
import type { Command } from './script.js';

/** Most responses that are read at once, and most bytes, unless one alone has more. */
const RESPONSES = 64;
const BYTES = 8 * 1024 * 1024;

/** A response with the fields of its hash. */
interface Found {
  readonly key: string;
  readonly fields: ReadonlyMap<string, string>;
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
    for (const part of inParts(found)) yield* readTexts(redis, part);
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
  const found = batch.map(({ key }, index) => ({ key, fields: new Map(pairsOf(replies[2 * index])) }));
  const children = batch.flatMap(({ key }, index) => {
    const beginning = beginningOf(key);
    return pairsOf(replies[2 * index + 1]).map(([id, created]) => ({
      key: beginning + id,
      createdAt: Number(created),
    }));
  });
  // What continued a response may be freed before that knows.
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
  const response = readResponse({
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
    input: readItems(input ?? null),
    given: between == null ? [] : givenBetween(response.output, readItems(between)),
    inherited: readItems(inherited ?? null),
    // Without its body it is gone.
    parentId: parent === undefined || parentBody === null ? null : nameOf(parent, 'response', idOf(parentBody)),
    origin: origin === undefined ? null : (JSON.parse(origin) as Origin),
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
  const { log } = await readWholeLog(redis, `${key}:log`);
  return {
    turn,
    isStream: fields.get('stream') === '1',
    attempts: Number(fields.get('attempts')),
    logExpiresAt: ended === undefined ? null : Number(ended),
    log,
  };
}

/** Responses in parts that are bounded by bytes. */
function inParts(found: readonly Found[]): readonly (readonly Found[])[] {
  const parts: Found[][] = [];
  let room = 0;
  for (const one of found) {
    const bytes = Number(one.fields.get('size')) + Number(one.fields.get('items_size'));
    const part = parts.at(-1);
    if (part === undefined || bytes > room) {
      parts.push([one]);
      room = BYTES - bytes;
    } else {
      part.push(one);
      room -= bytes;
    }
  }
  return parts;
}

/** What the keys of all responses of a place begin with. */
function beginningOf(key: string): string {
  return key.slice(0, key.indexOf('}:r:') + '}:r:'.length);
}

/** Names and values in turn, as pairs; newer protocols give pairs. */
function pairsOf(reply: unknown): readonly (readonly [string, string])[] {
  const flat = (reply as readonly unknown[]).flat() as readonly string[];
  return Array.from({ length: flat.length / 2 }, (_, index) => [flat[2 * index] ?? '', flat[2 * index + 1] ?? '']);
}
