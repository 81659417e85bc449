import type { Tenant } from '../../access/index.js';
import type { Item } from '../../protocol/index.js';
import { NEVER } from '../background-runs.js';
import { interleave } from '../given-items.js';
import { toKey, toLabels } from '../keys.js';
import type { ResponseRecord } from '../response-store.js';
import { bytesOf, toBody } from '../stored-response.js';
import { membershipOf } from './keys.js';
import { LONGEST_MS } from './scripts/indexes.js';

/** Kept longer than they live, so that a chain that grows extends its beginning rarely: this part of the lifetime. */
const SLACK = 1 / 8;
/** At least so long, ms. */
const MIN_SLACK_MS = 60_000;

/** A response as the scripts store it. */
export interface Insertion {
  /** As of `toKey`, like all names here. */
  readonly id: string;
  readonly parentId: string | null;
  /** The sessions that it is in, as clients send them. */
  readonly sessions: readonly string[];
  /** Unix seconds. */
  readonly createdAt: number;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  /** How long it may be kept beyond that, ms. */
  readonly slack: number;
  /** Fields of its hash: names and values in turn. */
  readonly fields: readonly (string | number)[];
  /** The keys of its texts, as of `:body`, and the texts in turn. */
  readonly texts: readonly string[];
}

/** The texts of the output of a response, and of what its model was given in between. */
interface OutputTexts {
  /** `:output`, and `:between` when something was given, with their texts in turn. */
  readonly texts: readonly string[];
  /** The bytes of the output. */
  readonly size: number;
  /** The bytes of all of these items. */
  readonly itemsSize: number;
}

/**
 * Makes a response ready for the scripts, with fields of its own if any. With `parentId` null it is stored with its
 * whole transcript.
 */
export function toInsertion(
  tenant: Tenant,
  record: ResponseRecord,
  parentId: string | null,
  now: number,
  more: readonly (string | number)[] = [],
  sessions: readonly string[] = [record.sessionId],
): Insertion {
  const { response, input, origin, sessionId, expiresAt } = record;
  const { metadata } = response;
  const [body, output] = [toBody(response), toOutputTexts(record)];
  const inherited = toTexts(parentId === null ? record.inherited : []);
  const inputs = toTexts(input);
  const labels = metadata === null ? [] : toLabels(tenant, metadata);
  return {
    id: toKey(response.id),
    parentId: parentId === null ? null : toKey(parentId),
    sessions,
    createdAt: response.created_at,
    expiresAt,
    slack: slackOf(expiresAt, now),
    fields: [
      // An export finds the tenant and session of a response by these fields alone.
      ...['tenant', JSON.stringify(tenant), 'session', JSON.stringify(sessionId)],
      ...sessions.flatMap((session) => [membershipOf(session), 1]),
      ...['status', response.status, 'model', toKey(response.model)],
      ...[
        'size',
        Buffer.byteLength(body) + output.size,
        'items_size',
        bytesOf([...inherited, ...inputs]) + output.itemsSize,
      ],
      ...(origin === null ? [] : ['origin', JSON.stringify(origin)]),
      ...(labels.length === 0 ? [] : ['labels', labels.join(' ')]),
      ...more,
    ],
    texts: [
      ...[':body', body],
      ...(inherited.length === 0 ? [] : [':inherited', inherited.join(',')]),
      ...(inputs.length === 0 ? [] : [':input', inputs.join(',')]),
      ...output.texts,
    ],
  };
}

/** The output of a response as the scripts store it. */
export function toOutputTexts({ response, given }: Pick<ResponseRecord, 'response' | 'given'>): OutputTexts {
  const outputs = toTexts(response.output);
  const size = bytesOf(outputs);
  const texts = outputs.length === 0 ? [] : [':output', outputs.join(',')];
  if (given.length === 0) return { texts, size, itemsSize: size };
  const between = interleave(
    outputs,
    given.map(({ after, items }) => ({ after, items: toTexts(items) })),
  );
  return { texts: [...texts, ':between', between.join(',')], size, itemsSize: bytesOf(between) };
}

/** How long a response may be kept beyond its expiry, ms. */
export function slackOf(expiresAt: number, now: number): number {
  const lifetimeMs = expiresAt >= NEVER ? LONGEST_MS : expiresAt - now;
  return Math.max(MIN_SLACK_MS, Math.ceil(lifetimeMs * SLACK));
}

/** The arguments that `insertionAt` of the scripts reads, to store it in a slot: that of a session lists its members. */
export function insertionArgs(insertion: Insertion, slot: string): readonly (string | number)[] {
  const { id, parentId, sessions, createdAt, expiresAt, slack, fields, texts } = insertion;
  return [
    // An id may be empty.
    ...[id, parentId === null ? '' : `=${parentId}`, createdAt, expiresAt, slack, sessions.includes(slot) ? 1 : 0],
    ...[fields.length, ...fields, texts.length, ...texts],
  ];
}

function toTexts(items: readonly Item[]): readonly string[] {
  return items.map((item) => JSON.stringify(item));
}
