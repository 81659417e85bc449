import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  Optional,
} from '@nestjs/common';

import type { Caller, Tenant } from '../access/index.js';
import { Environment } from '../config/index.js';
import { DocumentError, Documents } from '../documents/index.js';
import { EmbeddingsService } from '../embeddings/index.js';
import { FilesService, mediaTypeOfName } from '../files/index.js';
import { OutageLog } from '../logging/index.js';
import { ApiError } from '../protocol/index.js';
import { type ClaimedFile, type StoreFileOutcome, type VectorChunk } from '../state/index.js';
import { Backoff, Clock, type Timer } from '../time/index.js';
import { chunkText } from './chunk-text.js';
import { toUnit } from './hybrid-search.js';
import { VectorLibrary } from './vector-library.js';
import { type IndexRecord, VectorObserver } from './vector-observer.js';

/** Chunks that are embedded and written at a time. */
const CHUNKS_AT_ONCE = 64;

/** A file is given up after so many claims: processes die of it. */
const MOST_CLAIMS = 5;

/** How often one request for vectors is repeated, and the pauses between. */
const MOST_REPEATS = 8;
const PAUSES = { firstMs: 500, longestMs: 30_000 };

/** A file cannot be indexed, whoever tries. */
class UnusableFileError extends Error {
  override readonly name = 'UnusableFileError';

  constructor(
    readonly code: 'unsupported_file' | 'invalid_file' | 'server_error',
    message: string,
  ) {
    super(message);
  }
}

/** The file is claimed by this process no more: it was cancelled, taken out or replaced, or the process stops. */
class ClaimLostError extends Error {
  override readonly name = 'ClaimLostError';
}

/**
 * Indexes the files that were added to vector stores, in the background: each is claimed for a time, read, cut, embedded, written, and shown to
 * searches at once. A process that goes on after another has died begins the file anew and writes the same.
 */
@Injectable()
export class Indexer implements OnApplicationBootstrap, BeforeApplicationShutdown {
  private readonly logger = new Logger('VectorStores');
  private readonly outages = new OutageLog(this.logger);
  private readonly running = new Set<Promise<void>>();
  private readonly stopping = new AbortController();
  private timer: Timer | null = null;
  private isLooking = false;
  private mayFind = false;

  constructor(
    private readonly library: VectorLibrary,
    private readonly files: FilesService,
    private readonly documents: Documents,
    private readonly embeddings: EmbeddingsService,
    private readonly clock: Clock,
    private readonly environment: Environment,
    @Optional() @Inject(VectorObserver) private readonly observer: VectorObserver | null = null,
  ) {}

  onApplicationBootstrap(): void {
    const { BACKGROUND_MAX_RUNNING, BACKGROUND_LEASE } = this.environment;
    if (!this.library.isAvailable || BACKGROUND_MAX_RUNNING === 0) return;
    this.timer = this.clock.schedule((BACKGROUND_LEASE * 1000) / 3, () => {
      this.wake();
      this.timer?.refresh();
    });
    this.wake();
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.timer?.cancel();
    this.timer = null;
    this.stopping.abort(new ClaimLostError());
    await Promise.all(this.running);
  }

  /** There may be files that wait. */
  wake(): void {
    this.mayFind = true;
    if (this.timer === null || this.isLooking) return;
    const looking = this.look().finally(() => this.running.delete(looking));
    this.running.add(looking);
  }

  private get leaseMs(): number {
    return this.environment.BACKGROUND_LEASE * 1000;
  }

  /** Claims files until there are none, or as many as this process indexes at once. */
  private async look(): Promise<void> {
    this.isLooking = true;
    try {
      while (this.mayFind && this.timer !== null) {
        const free = this.environment.INDEX_PARALLEL_FILES - this.indexing.size;
        if (free <= 0) return;
        this.mayFind = false;
        const now = this.clock.now();
        const claimed = await this.library.records.claim(free, now, now + this.leaseMs);
        for (const file of claimed) this.begin(file);
        if (claimed.length === free) this.mayFind = true;
      }
    } catch (error) {
      // The timer looks again.
      this.outages.warn('files that wait to be indexed were not found', error instanceof Error ? error.message : '');
    } finally {
      this.isLooking = false;
    }
  }

  private readonly indexing = new Set<Promise<void>>();

  private begin(file: ClaimedFile): void {
    const indexed = this.index(file).finally(() => {
      this.indexing.delete(indexed);
      this.running.delete(indexed);
      this.wake();
    });
    this.indexing.add(indexed);
    this.running.add(indexed);
  }

  /** Indexes a file and writes what has become of it. Never rejects. */
  private async index(file: ClaimedFile): Promise<void> {
    const claim = new Claim(file, this.library, this.clock, this.leaseMs, this.stopping.signal);
    const startedAt = this.clock.now();
    let outcome: IndexRecord['outcome'] = 'dropped';
    try {
      const settled = await this.outcomeOf(file, claim);
      await this.settle(file, settled);
      outcome = settled.error === null ? 'completed' : 'failed';
    } catch (error) {
      if (error instanceof ClaimLostError || claim.signal.aborted) await this.leave(file);
      // Another claim follows when this one is over.
      else this.outages.warn(`${file.fileId} was not indexed`, error instanceof Error ? error.message : String(error));
    } finally {
      claim.end();
      this.observer?.indexed({ outcome, chunks: claim.chunks, durationMs: this.clock.now() - startedAt });
    }
  }

  private async outcomeOf(file: ClaimedFile, claim: Claim): Promise<StoreFileOutcome> {
    try {
      if (file.attempt > MOST_CLAIMS) {
        throw new UnusableFileError('server_error', `It could not be indexed in ${MOST_CLAIMS} attempts.`);
      }
      return { status: 'completed', error: null, bytes: await this.write(file, claim) };
    } catch (error) {
      if (!(error instanceof UnusableFileError)) throw error;
      const { code, message } = error;
      return { status: 'failed', error: { code, message }, bytes: 0 };
    }
  }

  /** Reads, cuts, embeds and writes a file, and shows it to searches. Returns how many bytes its chunks take. */
  private async write(file: ClaimedFile, claim: Claim): Promise<number> {
    const { tenant, storeId, fileId, attributes } = file;
    const { index } = this.library;
    const store = await this.library.records.get(tenant, storeId);
    if (store === undefined) throw new ClaimLostError();
    const texts = await chunkText(await this.read(file, claim.signal), file.chunking);
    if (texts.length === 0) throw new UnusableFileError('invalid_file', 'The file has no text.');
    const { VECTOR_STORES_MAX_BYTES: most } = this.environment;
    const room = most - (await this.library.records.used(tenant)).bytes;
    let bytes = 0;
    for (let from = 0; from < texts.length; from += CHUNKS_AT_ONCE) {
      const some = texts.slice(from, from + CHUNKS_AT_ONCE);
      const vectors = await this.embed(some, store.embeddingModel, tenant, claim.signal);
      await claim.confirm();
      const chunks = some.map((text, at): VectorChunk => ({
        position: from + at,
        text,
        vector: vectors[at] ?? new Float32Array(),
      }));
      bytes += chunks.reduce((sum, { text, vector }) => sum + Buffer.byteLength(text) + vector.byteLength, 0);
      if (bytes > room) {
        throw new UnusableFileError('server_error', `Your vector stores have reached the limit of ${most} bytes.`);
      }
      await index.append(tenant, storeId, fileId, chunks);
      claim.chunks += chunks.length;
    }
    await claim.confirm();
    await index.publish(tenant, storeId, fileId, { attributes, count: texts.length });
    return bytes;
  }

  private async read({ tenant, fileId }: ClaimedFile, signal: AbortSignal): Promise<string> {
    const record = await this.files.store.get(tenant, fileId);
    if (record === undefined) throw new UnusableFileError('invalid_file', 'The file was deleted.');
    const { FILE_INPUT_MAX_BYTES: most } = this.environment;
    if (record.bytes > most) {
      throw new UnusableFileError('invalid_file', `The file is larger than ${most} bytes (FILE_INPUT_MAX_BYTES).`);
    }
    const bytes = Buffer.concat(await Array.fromAsync(this.files.read(tenant, fileId)));
    const mediaType = mediaTypeOfName(record.filename, record.mimeType);
    try {
      const { pages, isCut } = await this.documents.readFile({ bytes, mediaType }, { owner: tenant, signal });
      if (!isCut) return pages.map(({ text }) => text).join('\n\n');
    } catch (error) {
      if (!(error instanceof DocumentError)) throw error;
      const code =
        error.fault === 'unsupported' || error.fault === 'not_installed' ? 'unsupported_file' : 'invalid_file';
      throw new UnusableFileError(code, error.message);
    }
    const { DOCUMENT_MAX_PAGES: pages, DOCUMENT_MAX_CHARACTERS: characters } = this.environment;
    throw new UnusableFileError('invalid_file', `The file has more than ${pages} pages or ${characters} characters.`);
  }

  /** Vectors of length 1. What may be over soon is waited for. */
  private async embed(
    inputs: readonly string[],
    model: string,
    tenant: Tenant,
    signal: AbortSignal,
  ): Promise<readonly Float32Array[]> {
    const caller: Caller = { tenant, requestId: 'vector stores' };
    const backoff = new Backoff(this.clock, PAUSES);
    for (let repeats = 0; ; repeats += 1) {
      try {
        const { vectors } = await this.embeddings.embed({ model, inputs }, caller, signal);
        return vectors.map(toUnit);
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof ApiError)) throw error;
        const mayPass = error.status === 429 || error.status >= 500;
        if (!mayPass || repeats === MOST_REPEATS) {
          throw new UnusableFileError('server_error', `No vectors were made by '${model}': ${error.message}`);
        }
        await this.clock.sleep(backoff.failed(), signal);
        signal.throwIfAborted();
      }
    }
  }

  private async settle(file: ClaimedFile, outcome: StoreFileOutcome): Promise<void> {
    const { tenant, storeId, fileId } = file;
    const { records, index } = this.library;
    if (outcome.error !== null) this.logger.warn(`${fileId} was not indexed in ${storeId}: ${outcome.error.message}`);
    if (!(await records.settle(file, outcome))) throw new ClaimLostError();
    // Nothing of it is found, nor of what it was before.
    if (outcome.error !== null) return index.remove(tenant, storeId, fileId);
    const now = await records.file(tenant, storeId, fileId);
    // They were changed meanwhile.
    if (now !== undefined) await index.describe(tenant, storeId, fileId, now.attributes);
  }

  /** Takes back what was written of a file that nobody wants any more; for others it is left to them, at once. */
  private async leave(file: ClaimedFile): Promise<void> {
    const { tenant, storeId, fileId } = file;
    const { records, index } = this.library;
    try {
      if (await records.renew(file, this.clock.now())) return;
      const now = await records.file(tenant, storeId, fileId);
      if (now === undefined || now.status === 'cancelled') await index.remove(tenant, storeId, fileId);
    } catch (error) {
      // What is left of it is purged later.
      this.outages.warn(`${fileId} was not left`, error instanceof Error ? error.message : String(error));
    }
  }
}

/** A claim that is renewed while its file is indexed. */
class Claim {
  /** Chunks that were written. */
  chunks = 0;
  private readonly lost = new AbortController();
  private readonly timer: Timer;

  constructor(
    private readonly file: ClaimedFile,
    private readonly library: VectorLibrary,
    private readonly clock: Clock,
    private readonly leaseMs: number,
    private readonly stopping: AbortSignal,
  ) {
    this.timer = clock.schedule(leaseMs / 3, () => {
      this.timer.refresh();
      // An outage is found by who writes next.
      this.confirm().catch(() => undefined);
    });
  }

  /** Aborts when the claim is lost, or the process stops. */
  get signal(): AbortSignal {
    return AbortSignal.any([this.lost.signal, this.stopping]);
  }

  /** Renews the claim. Throws ClaimLostError, and StoreUnavailableError. */
  async confirm(): Promise<void> {
    this.stopping.throwIfAborted();
    if (await this.library.records.renew(this.file, this.clock.now() + this.leaseMs)) return;
    const error = new ClaimLostError();
    this.lost.abort(error);
    throw error;
  }

  end(): void {
    this.timer.cancel();
  }
}
