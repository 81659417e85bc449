import { setImmediate } from 'node:timers/promises';

import { asTenant, type Tenant } from '../../access/index.js';
import type { Item, ResponseObject } from '../../protocol/index.js';
import type { ResponseRecord, ResponseStore } from '../../state/index.js';
import { FakeClock } from '../fake-clock.js';

/** When the clocks of the suite start, milliseconds since the epoch. */
export const START = new FakeClock().now();
/** How long responses live unless a test says otherwise, ms. */
export const TTL_MS = 3_600_000;

/** How long leases last in the suite, ms. */
export const LEASE_MS = 30_000;

/** What a test says of a response; the rest is made up. */
export interface RecordParts extends Partial<Omit<ResponseRecord, 'response'>> {
  readonly output?: readonly Item[];
  readonly status?: ResponseObject['status'];
  readonly model?: string;
  readonly metadata?: Readonly<Record<string, string>> | null;
  /** Unix seconds. */
  readonly createdAt?: number;
  /** Further members of the response. */
  readonly members?: object;
}

/** A message with a text. */
export function message(id: string, text = id): Item {
  return { type: 'message', id, role: 'user', content: [{ type: 'input_text', text }] };
}

/** A response with one input and one output message; without a session or parent it begins a session of its own. */
export function recordOf(id: string, parts: RecordParts = {}): ResponseRecord {
  const { output = [message(`${id}-out`)], status = 'completed', model = 'gpt', metadata = {}, members } = parts;
  const { createdAt = START / 1000, parentId = null } = parts;
  const response = { id, object: 'response', created_at: createdAt, status, model, output, metadata, ...members };
  return {
    response: { ...response, previous_response_id: parentId } as unknown as ResponseObject,
    ...(parts.settingsBytes === undefined ? {} : { settingsBytes: parts.settingsBytes }),
    input: parts.input ?? [message(`${id}-in`)],
    given: parts.given ?? [],
    parentId,
    inherited: parts.inherited ?? [],
    origin: parts.origin ?? null,
    sessionId: parts.sessionId ?? id,
    sessionLimit: parts.sessionLimit,
    conversation: parts.conversation ?? null,
    fence: parts.fence ?? null,
    expiresAt: parts.expiresAt ?? START + TTL_MS,
    usage: parts.usage,
  };
}

/** Saves a response as a turn does: what it continues is resolved first, and gives it its session. */
export async function append(
  store: ResponseStore,
  tenant: Tenant,
  id: string,
  parts: RecordParts = {},
): Promise<ResponseRecord> {
  const { parentId = null } = parts;
  const parent = parentId === null ? undefined : await store.chain(tenant, parentId);
  const context = parent && { inherited: parent.items, sessionId: parent.sessionId };
  const record = recordOf(id, { ...context, ...parts });
  await store.save(tenant, record);
  return record;
}

/** The ids of what a turn that continues a response sees of the conversation; undefined where it cannot be continued. */
export async function contextOf(
  store: ResponseStore,
  tenant: Tenant,
  id: string,
): Promise<readonly string[] | undefined> {
  const chain = await store.chain(tenant, id);
  return chain?.items.map((item) => item.id);
}

/** The context that responses with the items of `recordOf` make when each continues the one before. */
export function contextFrom(...ids: readonly string[]): readonly string[] {
  return ids.flatMap((id) => [`${id}-in`, `${id}-out`]);
}

/** A conversation without items: `r0`, `r1` and so on, each continuing the one before. */
export function lineOf(length: number): readonly ResponseRecord[] {
  return Array.from({ length }, (_, index) =>
    recordOf(`r${index}`, { parentId: index === 0 ? null : `r${index - 1}`, sessionId: 'r0', input: [], output: [] }),
  );
}

/** Purges until nothing is left to free; gives how many batches that took. */
export async function purge(store: ResponseStore): Promise<number> {
  let batches = 1;
  for (; await store.purge(); batches += 1) {
    // A purge that never ends must not block the event loop, or the time limit of the test would not fire.
    await setImmediate();
  }
  return batches;
}

let tenants = 0;

/** A tenant that no other test of the file has. */
export function newTenant(): Tenant {
  tenants += 1;
  return asTenant(`tenant-${tenants}`);
}
