import { StringDecoder } from 'node:string_decoder';

import type { Tenant } from '../../access/index.js';
import type { StateBackend } from '../state-backend.js';
import { type MovedJob, type MovedRecord, type StateTransfer, StateTransferError } from '../state-transfer.js';
import { readLine, requireHeader, type SecretLine, type StateLine } from './format.js';
import { LibraryImport, type MovedLibraryEntry, type MovedLibrary } from './moved-library.js';
import { isCounted, type Moved, MovedCounts } from './moved.js';

/** Some editors and shells begin a file with this mark. */
const BYTE_ORDER_MARK = '\uFEFF';

/** Where an import stores files, and how it reports its progress. */
export interface ImportOptions {
  /** Where files and vector stores are stored; by default in the backend. */
  readonly library?: MovedLibrary;
  /** Called every 10,000 records. */
  readonly onProgress?: (moved: Moved) => void;
}

/** What an import came to. */
export interface Imported extends Moved {
  /** How many of the conversations, responses, files and vector stores were there already. */
  readonly existing: number;
}

/** Most records, and characters, that are written at once. */
const BATCH = 200;
const BATCH_LENGTH = 4 * 1024 * 1024;
/** Longest line, characters. */
const LONGEST_LINE = 256 * 1024 * 1024;

/**
 * Stores what `exportState` wrote, a part at a time, in a started backend. What exists already stays unchanged, so that an import
 * that was interrupted can be repeated. No service may use the state meanwhile. Throws StateTransferError for what is
 * not an export, or not a whole one, and StoreUnavailableError.
 */
export async function importState(
  backend: StateBackend,
  input: AsyncIterable<Uint8Array | string>,
  { library = backend, onProgress }: ImportOptions = {},
): Promise<Imported> {
  const { transfer } = backend;
  if (transfer === undefined) throw new StateTransferError('Nothing can be imported into this state.');
  const counts = new MovedCounts(onProgress);
  const importing = new Importing(backend, transfer, library, counts);
  let isWhole = false;
  let last = 0;
  for await (const [number, text] of linesOf(input, LONGEST_LINE)) {
    last = number;
    if (number === 1) {
      requireHeader(text);
      continue;
    }
    if (isWhole) throw new StateTransferError(`Line ${number} follows the end of the export.`);
    const line = readLine(number, text);
    isWhole = line.kind === 'end';
    await importing.take(number, line, text.length);
  }
  await importing.flush();
  if (last === 0) throw new StateTransferError('There is nothing to import: expected the output of antiphon export.');
  if (!isWhole) {
    throw new StateTransferError(
      `The export is not whole: it ends with line ${last}. What it has is stored; repeat the import with all of it.`,
    );
  }
  return { ...counts.moved, existing: importing.existing };
}

/** Collects records, and writes them together. */
class Importing {
  /** Conversations, responses, files and vector stores that were there already. */
  existing = 0;
  private tenant: Tenant | null = null;
  private records: MovedRecord[] = [];
  private jobs: MovedJob[] = [];
  private length = 0;
  private first = 0;
  /** Of the tenant. */
  private imported: LibraryImport | undefined;

  constructor(
    private readonly backend: Pick<StateBackend, 'claims' | 'secrets'>,
    private readonly transfer: StateTransfer,
    private readonly library: MovedLibrary,
    private readonly counts: MovedCounts,
  ) {}

  async take(number: number, line: StateLine, length: number): Promise<void> {
    if (line.kind === 'secret') return this.keep(number, line);
    if (line.kind === 'end') return this.flush();
    if (line.kind === 'tenant') {
      await this.flush();
      this.tenant = line.tenant;
      this.imported = new LibraryImport(this.library, line.tenant, Date.now());
      this.counts.count('tenants');
      return;
    }
    if (line.kind === 'piece' || line.kind === 'file' || line.kind === 'store' || line.kind === 'store_file') {
      return this.takeEntry(number, line);
    }
    if (line.kind === 'claim') {
      await this.backend.claims.claim(this.requireTenant(number), line.name, line.owner, line.expiresAt);
      return;
    }
    if (this.length === 0) this.first = number;
    this.length += length;
    if (line.kind === 'job') this.jobs.push(line);
    else {
      this.requireTenant(number);
      this.records.push(line);
    }
    if (line.kind !== 'entries') this.counts.count(`${line.kind}s`);
    if (this.records.length + this.jobs.length >= BATCH || this.length >= BATCH_LENGTH) await this.flush();
  }

  private requireTenant(number: number): Tenant {
    if (this.tenant !== null) return this.tenant;
    throw new StateTransferError(`Line ${number} is not valid: no line before it names a tenant.`);
  }

  private async takeEntry(number: number, line: MovedLibraryEntry): Promise<void> {
    this.requireTenant(number);
    try {
      if ((await this.imported?.write(line)) === false) this.existing += 1;
    } catch (error) {
      if (!(error instanceof StateTransferError)) throw error;
      throw new StateTransferError(`Line ${number} cannot be stored: ${error.message}.`, { cause: error });
    }
    if (isCounted(line)) this.counts.count(`${line.kind}s`);
  }

  /** Writes what was collected. */
  async flush(): Promise<void> {
    const { tenant, records, jobs } = this;
    try {
      if (tenant !== null && records.length > 0) {
        const added = await this.transfer.write(tenant, records);
        this.existing += records.filter(({ kind }) => kind !== 'entries').length - added;
      }
      if (jobs.length > 0) await this.transfer.writeJobs(jobs);
    } catch (error) {
      if (!(error instanceof StateTransferError)) throw error;
      throw new StateTransferError(`What begins with line ${this.first} cannot be stored: ${error.message}.`, {
        cause: error,
      });
    }
    this.records = [];
    this.jobs = [];
    this.length = 0;
  }

  private async keep(number: number, { name, value }: SecretLine): Promise<void> {
    if ((await this.backend.secrets.getOrCreate(name, value)) === value) return;
    throw new StateTransferError(
      `Line ${number} has another secret ${name} than this state: what is sealed with it could not be read. Import into an empty state, or export with --no-secrets.`,
    );
  }
}

/** A text in lines, numbered from 1, without their ends and without a byte order mark. Throws StateTransferError for a line of more than `limit` characters. */
async function* linesOf(
  source: AsyncIterable<Uint8Array | string>,
  limit: number,
): AsyncGenerator<readonly [number: number, line: string]> {
  const decoder = new StringDecoder('utf8');
  let number = 1;
  let parts: string[] = [];
  let length = 0;
  const add = (part: string): void => {
    length += part.length;
    if (length > limit) throw new StateTransferError(`Line ${number} is longer than ${limit} characters.`);
    parts.push(part);
  };
  const end = (): readonly [number, string] => {
    const text = parts.join('');
    const line = [number, number === 1 && text.startsWith(BYTE_ORDER_MARK) ? text.slice(1) : text] as const;
    number += 1;
    parts = [];
    length = 0;
    return line;
  };
  for await (const chunk of source) {
    const text = typeof chunk === 'string' ? chunk : decoder.write(chunk);
    let start = 0;
    for (let next = text.indexOf('\n'); next >= 0; next = text.indexOf('\n', start)) {
      add(text.slice(start, next));
      yield end();
      start = next + 1;
    }
    add(text.slice(start));
  }
  add(decoder.end());
  if (length > 0) yield end();
}
