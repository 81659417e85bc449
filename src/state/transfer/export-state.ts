import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import type { Tenant } from '../../access/index.js';
import type { StateBackend } from '../state-backend.js';
import { type MovedJob, type StateTransfer, StateTransferError } from '../state-transfer.js';
import { FORMAT, type HeaderLine, type StateLine, VERSION } from './format.js';
import { type MovedLibrary, readLibrary, tenantsOf } from './moved-library.js';
import { isCounted, type Moved, Tally } from './moved.js';

/** What is exported, and who is told how far it is. */
export interface ExportOptions {
  /** Only these; all unless given. */
  readonly tenants?: readonly Tenant[];
  /** Whether the secrets of the service are exported; they are unless told otherwise. */
  readonly secrets?: boolean;
  /** Where files and vector stores are; by default in the backend. */
  readonly library?: MovedLibrary;
  /** Called every 10,000 records. */
  readonly onProgress?: (moved: Moved) => void;
}

/**
 * Writes what a started backend stores as JSON Lines, as fast as they are taken; the stream stays open. No service may use
 * the state meanwhile. Throws StateTransferError, also for a named tenant that has nothing, StoreUnavailableError and the errors of the stream.
 */
export async function exportState(
  backend: StateBackend,
  output: Writable,
  options: ExportOptions = {},
): Promise<Moved> {
  const { transfer } = backend;
  if (transfer === undefined) throw new StateTransferError('This state cannot be exported.');
  const tally = new Tally(options.onProgress);
  const { library = backend } = options;
  await pipeline(Readable.from(toLines(transfer, { ...options, library }, tally)), output, { end: false });
  return tally.moved;
}

async function* toLines(transfer: StateTransfer, options: ExportOptions, tally: Tally): AsyncGenerator<string> {
  yield toLine({ format: FORMAT, version: VERSION });
  for await (const line of toRecords(transfer, options)) {
    if (line.kind === 'tenant') tally.count('tenants');
    if (isCounted(line)) tally.count(`${line.kind}s`);
    yield toLine(line);
  }
}

async function* toRecords(
  transfer: StateTransfer,
  { tenants, secrets = true, library = {} }: ExportOptions,
): AsyncGenerator<StateLine> {
  const named = tenants ?? new Set([...(await transfer.tenants()), ...(await tenantsOf(library))]);
  if (secrets) {
    for (const [name, value] of Object.entries(await transfer.secrets())) yield { kind: 'secret', name, value };
  }
  for (const tenant of named) {
    yield { kind: 'tenant', tenant };
    let isEmpty = true;
    for await (const line of recordsOf(transfer, library, tenant)) {
      isEmpty = false;
      yield line;
    }
    if (isEmpty && tenants !== undefined) {
      throw new StateTransferError(
        `The tenant '${tenant}' has nothing here that could be exported. Is its name right?`,
      );
    }
  }
  for await (const job of transfer.jobs()) if (tenants === undefined || belongsTo(job, tenants)) yield job;
  yield { kind: 'end' };
}

async function* recordsOf(transfer: StateTransfer, library: MovedLibrary, tenant: Tenant): AsyncGenerator<StateLine> {
  yield* transfer.read(tenant);
  yield* readLibrary(library, tenant);
}

function belongsTo({ data }: MovedJob, tenants: readonly Tenant[]): boolean {
  return tenants.includes((data as { readonly tenant: Tenant }).tenant);
}

function toLine(line: HeaderLine | StateLine): string {
  return `${JSON.stringify(line)}\n`;
}
