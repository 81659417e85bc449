import {
  type BeforeApplicationShutdown,
  Inject,
  Injectable,
  Logger,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  Optional,
} from '@nestjs/common';

import { tenantKey } from '../../access/index.js';
import { Environment } from '../../config/index.js';
import { DocumentError, Documents } from '../documents/index.js';
import { EmbeddingsService } from '../../resources/embeddings/index.js';
import { FilesService, mediaTypeOfName } from '../index.js';
import { OutageLog } from '../../logging/index.js';
import { ApiError } from '../../protocol/index.js';
import {
  type ClaimedFile,
  IndexFullError,
  inOneLine,
  StoreUnavailableError,
  type StoreFileOutcome,
  type VectorChunk,
} from '../../state/index.js';
import { Clock, LastWaits, type Timer } from '../../time/index.js';
import { chunkText } from './chunk-text.js';
import { ClaimLostError, FileClaim, NotNowError, UnindexableError, requireIndexable } from './file-claim.js';
import { embedAsUnits } from './hybrid-search.js';
import { PAUSES, Waits } from './waits.js';
import { VectorLibrary } from './vector-library.js';
import { type IndexRecord, VectorObserver } from './vector-observer.js';

/** Chunks that are embedded and written at a time. */
const CHUNKS_AT_ONCE = 64;

/** How often one request for vectors is repeated while the file is held: what was embedded of it would be paid for again. */
const MOST_REPEATS = 6;

/** How long a file waits when too many documents are read, ms. */
const DOCUMENTS_PAUSE_MS = 2000;

/** What `waits` has for the state. */
const STATE = 'state';

/**
 * Indexes the files that were added to vector stores, in the background: each is claimed for a time, read, cut, embedded, written, and shown to
 * searches at once. A process that goes on after another has died begins the file anew and writes the same. A file that cannot be indexed now
 * is given back, so that others come first.
 */
@Injectable()
export class Indexer implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown {
  private readonly logger = new Logger('VectorStores');
  private readonly outages = new OutageLog(this.logger);
  private readonly stopping = new AbortController();
  private readonly indexing = new Set<Promise<void>>();
  private readonly waits: Waits;
  private looking: Promise<void> | null = null;
  private mayFind = false;
  private timer: Timer | null = null;
  /** When the first file that was given back may be tried again. */
  private pause: { readonly endsAt: number; readonly timer: Timer } | null = null;

  constructor(
    private readonly library: VectorLibrary,
    private readonly files: FilesService,
    private readonly documents: Documents,
    private readonly embeddings: EmbeddingsService,
    private readonly clock: Clock,
    private readonly lastWaits: LastWaits,
    private readonly environment: Environment,
    @Optional() @Inject(VectorObserver) private readonly observer: VectorObserver | null = null,
  ) {
    this.waits = new Waits(clock, this.outages);
  }

  onApplicationBootstrap(): void {
    const { BACKGROUND_MAX_RUNNING, BACKGROUND_LEASE } = this.environment;
    if (!this.library.isAvailable || BACKGROUND_MAX_RUNNING === 0) return;
    this.timer = this.clock.schedule((BACKGROUND_LEASE * 1000) / 3, () => {
      this.wake();
      this.timer?.refresh();
    });
    this.wake();
  }

  /** Only begins to stop: the shutdown of turns comes after this hook, and must not wait for files. */
  beforeApplicationShutdown(): void {
    this.timer?.cancel();
    this.timer = null;
    this.pause?.timer.cancel();
    this.stopping.abort(new ClaimLostError());
  }

  async onApplicationShutdown(): Promise<void> {
    await this.lastWaits.wait(this.ended());
  }

  private async ended(): Promise<void> {
    await this.looking;
    await Promise.all(this.indexing);
  }

  /** There may be files that wait. */
  wake(): void {
    this.mayFind = true;
    if (this.timer === null) return;
    this.looking ??= this.look().finally(() => {
      this.looking = null;
      // `wake` was called after the last look for files, and before its end.
      if (this.mayFind && this.free > 0) this.wake();
    });
  }

  private get leaseMs(): number {
    return this.environment.BACKGROUND_LEASE * 1000;
  }

  /** How many files this process may begin. */
  private get free(): number {
    return this.timer === null ? 0 : this.environment.INDEX_PARALLEL_FILES - this.indexing.size;
  }

  /** Claims files until there are none, or as many as this process indexes at once. */
  private async look(): Promise<void> {
    try {
      while (this.mayFind && this.free > 0) {
        const { free } = this;
        this.mayFind = false;
        const now = this.clock.now();
        const claimed = await this.library.records.claim(free, now, now + this.leaseMs, this.waits.heldBack);
        for (const file of claimed) this.begin(file);
        if (claimed.length === free) this.mayFind = true;
      }
    } catch (error) {
      // The timer looks again.
      this.outages.warn('files that wait to be indexed were not found', inOneLine(error));
    }
  }

  private begin(file: ClaimedFile): void {
    const indexed = this.index(file).finally(() => {
      this.indexing.delete(indexed);
      this.wake();
    });
    this.indexing.add(indexed);
  }

  /** Indexes a file and writes what has become of it. Never rejects. */
  private async index(file: ClaimedFile): Promise<void> {
    const claim = new FileClaim(file, this.library, this.clock, this.leaseMs, this.stopping.signal);
    const startedAt = this.clock.now();
    let outcome: IndexRecord['outcome'] = 'dropped';
    try {
      const settled = await this.outcomeOf(file, claim);
      await this.settle(file, settled, claim);
      claim.end();
      this.waits.succeeded(STATE);
      outcome = settled.error === null ? 'completed' : 'failed';
      if (settled.error === null) await this.describe(file);
    } catch (error) {
      claim.end();
      // The file has its outcome; only what came after has failed.
      if (outcome !== 'dropped') this.outages.warn(`${file.fileId} has ended before`, inOneLine(error));
      else if (error instanceof ClaimLostError || claim.signal.aborted) await this.leave(file);
      else if (error instanceof NotNowError || error instanceof StoreUnavailableError) {
        outcome = 'postponed';
        const pauseMs = error instanceof NotNowError ? error.pauseMs : this.waits.failed(STATE);
        await this.postpone(file, error.message, pauseMs ?? PAUSES.longestMs);
      } else {
        // Another try follows when this claim is over.
        this.outages.warn(`${file.fileId} was not indexed`, inOneLine(error));
      }
    } finally {
      claim.end();
      this.observer?.indexed({ outcome, chunks: claim.chunks, durationMs: this.clock.now() - startedAt });
    }
  }

  private async outcomeOf(file: ClaimedFile, claim: FileClaim): Promise<StoreFileOutcome> {
    try {
      requireIndexable(file);
      return { status: 'completed', error: null, bytes: await this.write(file, claim) };
    } catch (error) {
      const isFull = error instanceof IndexFullError;
      const fault = isFull ? new UnindexableError('server_error', 'This server has no room for more chunks.') : error;
      if (!(fault instanceof UnindexableError)) throw error;
      const { code, message } = fault;
      return { status: 'failed', error: { code, message }, bytes: 0 };
    }
  }

  /** Reads, cuts, embeds and writes a file, and shows it to searches. Returns how many bytes its chunks take. */
  private async write(file: ClaimedFile, claim: FileClaim): Promise<number> {
    const { tenant, storeId, fileId, attributes } = file;
    const { index, records } = this.library;
    const store = await records.get(tenant, storeId);
    if (store === undefined) throw new ClaimLostError();
    const model = store.embeddingModel;
    // Nothing is read, and no vectors are paid for, in vain.
    const key = tenantKey(tenant, model);
    this.waits.hold(key, { tenant, storeId });
    const leftMs = Math.max(this.waits.leftOf(STATE), this.waits.leftOf(key));
    if (leftMs > 0) throw new NotNowError('It waits for what has failed before.', leftMs);
    const texts = await chunkText(await this.read(file, claim.signal), file.chunking);
    if (texts.length === 0) throw new UnindexableError('invalid_file', 'The file has no text.');
    let bytes = 0;
    await this.reserve(file, bytes);
    for (let from = 0; from < texts.length; from += CHUNKS_AT_ONCE) {
      const some = texts.slice(from, from + CHUNKS_AT_ONCE);
      const vectors = await this.embed(some, model, file, claim);
      await claim.confirm();
      const chunks = some.map((text, at): VectorChunk => ({
        position: from + at,
        text,
        vector: vectors[at] ?? new Float32Array(),
      }));
      bytes += chunks.reduce((sum, { text, vector }) => sum + Buffer.byteLength(text) + vector.byteLength, 0);
      await this.reserve(file, bytes);
      await index.append(tenant, storeId, fileId, chunks);
      claim.chunks += chunks.length;
    }
    await claim.confirm();
    if (await index.publish(tenant, storeId, fileId, { attributes, count: texts.length })) return bytes;
    throw new Error('its chunks were forgotten while they were written');
  }

  /** Sets room aside before it is written. Throws UnindexableError where the tenant has none, and ClaimLostError. */
  private async reserve(file: ClaimedFile, bytes: number): Promise<void> {
    const { VECTOR_STORES_MAX_BYTES: most } = this.environment;
    const room = await this.library.records.reserve(file, bytes, most);
    if (room === 'reserved') return;
    if (room === 'lost') throw new ClaimLostError();
    throw new UnindexableError('server_error', `Your vector stores have reached the limit of ${most} bytes.`);
  }

  private async read({ tenant, fileId }: ClaimedFile, signal: AbortSignal): Promise<string> {
    const record = await this.files.store.get(tenant, fileId);
    if (record === undefined) throw new UnindexableError('invalid_file', 'The file was deleted.');
    const { FILE_INPUT_MAX_BYTES: most } = this.environment;
    if (record.bytes > most) {
      throw new UnindexableError('invalid_file', `The file is larger than ${most} bytes (FILE_INPUT_MAX_BYTES).`);
    }
    const bytes = Buffer.concat(await Array.fromAsync(this.files.read(tenant, fileId)));
    const mediaType = mediaTypeOfName(record.filename, record.mimeType);
    try {
      const { pages, isCut } = await this.documents.readFile({ bytes, mediaType }, { owner: tenant, signal });
      if (!isCut) return pages.map(({ text }) => text).join('\n\n');
    } catch (error) {
      if (!(error instanceof DocumentError)) throw error;
      if (error.fault === 'too_many') throw new NotNowError(error.message, DOCUMENTS_PAUSE_MS);
      const code =
        error.fault === 'unsupported' || error.fault === 'not_installed' ? 'unsupported_file' : 'invalid_file';
      throw new UnindexableError(code, error.message);
    }
    const { DOCUMENT_MAX_PAGES: pages, DOCUMENT_MAX_CHARACTERS: characters } = this.environment;
    throw new UnindexableError('invalid_file', `The file has more than ${pages} pages or ${characters} characters.`);
  }

  /** Vectors of length 1. What may be over soon is waited for, by a file that would lose what was made for it. */
  private async embed(
    inputs: readonly string[],
    model: string,
    { tenant, storeId, keyId }: ClaimedFile,
    { signal, chunks }: FileClaim,
  ): Promise<readonly Float32Array[]> {
    const caller = { tenant, requestId: 'vector stores', ...(keyId === null ? {} : { keyId }) };
    const key = tenantKey(tenant, model);
    for (let repeats = 0; ; repeats += 1) {
      try {
        const vectors = await embedAsUnits(this.embeddings, { model, inputs }, caller, signal);
        this.waits.succeeded(key);
        return vectors;
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof ApiError)) throw error;
        const message = `No vectors were made by '${model}': ${error.message}`;
        const pauseMs = error.status === 429 || error.status >= 500 ? this.waits.failed(key) : null;
        this.waits.hold(key, { tenant, storeId });
        if (pauseMs === null) throw new UnindexableError('server_error', message);
        if (chunks === 0 || repeats === MOST_REPEATS) throw new NotNowError(message, pauseMs);
        await this.clock.sleep(pauseMs, signal);
        signal.throwIfAborted();
      }
    }
  }

  /** Writes what has become of a file, once the state takes it: what was made is not thrown away. Throws ClaimLostError. */
  private async settle(file: ClaimedFile, outcome: StoreFileOutcome, { signal }: FileClaim): Promise<void> {
    const { tenant, storeId, fileId } = file;
    const { records } = this.library;
    if (outcome.error !== null) this.logger.warn(`${fileId} was not indexed in ${storeId}: ${outcome.error.message}`);
    let isRepeated = false;
    const isSettled = await this.waits.repeat(
      `${fileId} is ${outcome.status}, which was not written yet`,
      signal,
      async () => {
        const isWritten = await records.settle(file, outcome);
        if (isWritten || !isRepeated) return isWritten;
        // The time before may have been written, and the answer lost.
        return (await records.file(tenant, storeId, fileId))?.status === outcome.status;
      },
      () => (isRepeated = true),
    );
    if (!isSettled) throw new ClaimLostError();
  }

  /** Has searches see the attributes that a file was given while it was indexed. */
  private async describe({ tenant, storeId, fileId }: ClaimedFile): Promise<void> {
    const { records, index } = this.library;
    await this.waits.repeat(`the attributes of ${fileId} were not written yet`, this.stopping.signal, async () => {
      const now = await records.file(tenant, storeId, fileId);
      if (now !== undefined) await index.describe(tenant, storeId, fileId, now.attributes);
    });
  }

  /** Gives a file back that cannot be indexed now, once the state takes it. */
  private async postpone(file: ClaimedFile, reason: string, pauseMs: number): Promise<void> {
    this.outages.warn(`${file.fileId} is indexed later`, reason);
    const { records } = this.library;
    const { signal } = this.stopping;
    try {
      await this.waits.repeat(`${file.fileId} was not given back`, signal, () =>
        records.giveBack(file, this.clock.now() + pauseMs),
      );
      this.wakeIn(pauseMs);
    } catch (error) {
      // Another try follows when this claim is over.
      if (!signal.aborted) this.outages.warn(`${file.fileId} was not given back`, inOneLine(error));
    }
  }

  private wakeIn(pauseMs: number): void {
    const endsAt = this.clock.now() + pauseMs;
    // The regular look finds those whose pause is longer than the first one.
    if (this.timer === null || (this.pause !== null && this.pause.endsAt <= endsAt)) return;
    this.pause?.timer.cancel();
    const timer = this.clock.schedule(pauseMs, () => {
      this.pause = null;
      this.wake();
    });
    this.pause = { endsAt, timer };
  }

  /** Leaves a file to others, at once; what was written of one that nobody wants any more is purged. */
  private async leave(file: ClaimedFile): Promise<void> {
    try {
      await this.library.records.giveBack(file, this.clock.now());
    } catch (error) {
      // Another try follows when this claim is over.
      this.outages.warn(`${file.fileId} was not left`, inOneLine(error));
    }
  }
}
