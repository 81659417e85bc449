import { Readable, type Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';

import type { Tenant } from '../../access/index.js';
import { claimOfApproval, type Claims } from '../claims.js';
import type { StateBackend } from '../state-backend.js';
import { type MovedJob, type MovedResponse, type StateTransfer, StateTransferError } from '../state-transfer.js';
import { FORMAT, type HeaderLine, type StateLine, VERSION } from './format.js';
import { type MovedLibrary, readLibrary, tenantsOf } from './moved-library.js';
import { isCounted, type Moved, MovedCounts } from './moved.js';

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

/** What is read of a backend. */
interface Exported {
  readonly transfer: StateTransfer;
  readonly claims: Claims;
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
  const { transfer, claims } = backend;
  if (transfer === undefined) throw new StateTransferError('This state cannot be exported.');
  const counts = new MovedCounts(options.onProgress);
  const { library = backend } = options;
  await pipeline(Readable.from(toLines({ transfer, claims }, { ...options, library }, counts)), output, { end: false });
  return counts.moved;
}

async function* toLines(exported: Exported, options: ExportOptions, counts: MovedCounts): AsyncGenerator<string> {
  yield toLine({ format: FORMAT, version: VERSION });
  for await (const line of toRecords(exported, options)) {
    if (line.kind === 'tenant') counts.count('tenants');
    if (isCounted(line)) counts.count(`${line.kind}s`);
    yield toLine(line);
  }
}

async function* toRecords(
  { transfer, claims }: Exported,
  { tenants, secrets = true, library = {} }: ExportOptions,
): AsyncGenerator<StateLine> {
  const named = tenants ?? new Set([...(await transfer.tenants()), ...(await tenantsOf(library))]);
  if (secrets) {
    for (const [name, value] of Object.entries(await transfer.secrets())) yield { kind: 'secret', name, value };
  }
  for (const tenant of named) {
    yield { kind: 'tenant', tenant };
    let isEmpty = true;
    for await (const line of recordsOf({ transfer, claims }, library, tenant)) {
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

async function* recordsOf(
  { transfer, claims }: Exported,
  library: MovedLibrary,
  tenant: Tenant,
): AsyncGenerator<StateLine> {
  for await (const record of transfer.read(tenant)) {
    yield record;
    // An approval that was used is not to be used again elsewhere. Redis does not know the names, so the requests are asked for.
    const names = record.kind === 'response' ? approvalsIn(record) : [];
    if (names.length === 0) continue;
    for (const claim of await claims.held(tenant, names)) yield { kind: 'claim', ...claim };
  }
  yield* readLibrary(library, tenant);
}

/** The names of the approvals that a response has asked for, or was given. */
function approvalsIn({ response, input, inherited }: MovedResponse): readonly string[] {
  return [...inherited, ...input, ...response.output]
    .filter(({ type }) => type === 'mcp_approval_request')
    .map(({ id }) => claimOfApproval(id));
}

function belongsTo({ data }: MovedJob, tenants: readonly Tenant[]): boolean {
  return tenants.includes((data as { readonly tenant: Tenant }).tenant);
}

function toLine(line: HeaderLine | StateLine): string {
  return `${JSON.stringify(line)}\n`;
}
