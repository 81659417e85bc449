import type { PoolClient } from 'pg';

import { adHoc, type RunStatement } from '../sql/statement.js';

/** The tables of the service and of the queue of its jobs. All must be there, and the role must be allowed to read and write them. */
const TABLES = [
  ...['responses', 'items', 'session_responses', 'session_locks', 'background_runs', 'event_log', 'bookmarks'],
  ...['conversations', 'conversation_items', 'item_bookmarks', 'secrets', 'claims', 'usage'],
  ...['limit_counters', 'limit_replicas', 'files', 'file_pieces', 'file_places', 'file_uploads', 'file_objects'],
  ...['vector_documents', 'vector_chunks', 'vector_garbage'],
  ...['vector_stores', 'vector_store_files', 'vector_store_batches'],
].map((table) => `antiphon.${table}`);
const JOB_TABLES = ['antiphon_jobs.queue', 'antiphon_jobs.job'];
/** Locks and vector stores number with these. */
const SEQUENCES = ['session_fences', 'vector_store_claims'].map((sequence) => `antiphon.${sequence}`);

/** What a database lacks, or does not permit. */
export interface Usability {
  /** After a failover it may be a standby. */
  readonly isReadOnly: boolean;
  readonly missing: readonly string[] | null;
  readonly forbidden: readonly string[] | null;
}

const MAY_WRITE = ['SELECT', 'INSERT', 'UPDATE', 'DELETE']
  .map((right) => `has_table_privilege(to_regclass(name), '${right}')`)
  .join(' AND ');
const MAY_NUMBER = `has_sequence_privilege(to_regclass(name), 'USAGE, UPDATE')`;

/** One row: what is wrong. Reads the catalog alone. */
const USABILITY = adHoc<readonly [], Usability>(
  `SELECT current_setting('transaction_read_only') = 'on' AS "isReadOnly",
    array_agg(name) FILTER (WHERE to_regclass(name) IS NULL) AS missing,
    array_agg(name) FILTER (WHERE NOT CASE WHEN is_table THEN ${MAY_WRITE} ELSE ${MAY_NUMBER} END) AS forbidden
  FROM (SELECT unnest('{${[...TABLES, ...JOB_TABLES].join(',')}}'::text[]) AS name, true AS is_table
    UNION ALL SELECT unnest('{${SEQUENCES.join(',')}}'::text[]), false) needed`,
);

/** What is wrong with a database. */
export async function usabilityOf(run: RunStatement): Promise<Usability> {
  const [found] = await run(USABILITY, []);
  if (found === undefined) throw new Error('the database gave no row');
  return found;
}

/** What PostgreSQL says of a statement that writes, on a connection that may only read. */
class ReadOnlyError extends Error {
  readonly code = '25006';
}

/** The same. Throws as a statement that writes would, so that a connection that may only read is discarded. */
export async function usabilityToWrite(run: RunStatement): Promise<Usability> {
  const found = await usabilityOf(run);
  if (found.isReadOnly) throw new ReadOnlyError('it is read-only');
  return found;
}

/** What is wrong with the tables and sequences, in words for the operator; undefined when nothing is. */
export function tableFaultOf({ missing, forbidden }: Usability): string | undefined {
  if (missing !== null) return `the database lacks ${missing.join(', ')}`;
  if (forbidden !== null) return `the role may not use ${forbidden.join(', ')}`;
  return undefined;
}

/** Whether a connection leads to PostgreSQL itself, given the number of its process: a pooler has numbers of its own. */
export function isDirect(client: PoolClient, pid: number | undefined): boolean {
  return pid === (client as unknown as { readonly processID: number }).processID;
}
