import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import type { Tenant } from '../../access/index.js';
import type { FileStore } from '../file-store.js';
import type { StateBackend } from '../state-backend.js';
import { type MovedJob, type StateTransfer, StateTransferError } from '../state-transfer.js';
import { FORMAT, type HeaderLine, type StateLine, VERSION } from './format.js';
import { readFiles } from './moved-files.js';
import { type Moved, Tally } from './moved.js';

/** What is exported, and who is told how far it is. */
export interface ExportOptions {
  /** Only these; all unless given. */
  readonly tenants?: readonly Tenant[];
  /** Whether the secrets of the service are exported; they are unless told otherwise. */
  readonly secrets?: boolean;
  /** Where files are, unless the backend keeps them. */
  readonly files?: FileStore | undefined;
  /** Called every 10,000 records. */
  readonly onProgress?: (moved: Moved) => void;
}

/** Records between reports. */
const PROGRESS = 10_000;

/**
 * Writes what a started backend stores as JSON Lines, as fast as they are taken; the stream stays open. No service may use
 * the state meanwhile. Throws StateTransferError, StoreUnavailableError and the errors of the stream.
 */
export async function exportState(
  backend: StateBackend,
  output: Writable,
  options: ExportOptions = {},
): Promise<Moved> {
  const { transfer } = backend;
  if (transfer === undefined) throw new StateTransferError('This state cannot be exported.');
  const tally = new Tally(PROGRESS, options.onProgress);
  const files = backend.files ?? options.files;
  await pipeline(Readable.from(toLines(transfer, { ...options, files }, tally)), output, { end: false });
  return tally.moved;
}

async function* toLines(transfer: StateTransfer, options: ExportOptions, tally: Tally): AsyncGenerator<string> {
  yield toLine({ format: FORMAT, version: VERSION });
  for await (const line of toRecords(transfer, options)) {
    if (line.kind === 'tenant') tally.count('tenants');
    if (line.kind === 'conversation' || line.kind === 'response' || line.kind === 'file' || line.kind === 'job')
      tally.count(`${line.kind}s`);
    yield toLine(line);
  }
}

async function* toRecords(
  transfer: StateTransfer,
  { tenants, secrets = true, files }: ExportOptions,
): AsyncGenerator<StateLine> {
  const named = tenants ?? new Set([...(await transfer.tenants()), ...((await files?.tenants()) ?? [])]);
  if (secrets) {
    for (const [name, value] of Object.entries(await transfer.secrets())) yield { kind: 'secret', name, value };
  }
  for (const tenant of named) {
    yield { kind: 'tenant', tenant };
    yield* transfer.read(tenant);
    if (files !== undefined) yield* readFiles(files, tenant);
  }
  for await (const job of transfer.jobs()) if (tenants === undefined || belongsTo(job, tenants)) yield job;
  yield { kind: 'end' };
}

function belongsTo({ data }: MovedJob, tenants: readonly Tenant[]): boolean {
  return tenants.includes((data as { readonly tenant: Tenant }).tenant);
}

function toLine(line: HeaderLine | StateLine): string {
  return `${JSON.stringify(line)}\n`;
}
