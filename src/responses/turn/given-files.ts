import { Injectable } from '@nestjs/common';

import type { Tenant } from '../../access/index.js';
import { Environment } from '../../config/index.js';
import { holdsFiles, type ModelContext } from '../../context/index.js';
import { DocumentError, Documents } from '../../documents/index.js';
import { FilesService, FileUrls, type GivenFile, mediaTypeOfName } from '../../files/index.js';
import { WebClientError } from '../../outbound/index.js';
import { ApiError, type Item } from '../../protocol/index.js';
import type { ModelProviderBase } from '../../providers/index.js';
import type { FileRecord } from '../../state/index.js';
import { isObject } from '../../validation/index.js';
import { Clock } from '../../time/index.js';
import type { ActiveTurn } from './active-turn.js';
import type { AdmittedTurn } from './admit.js';

/** A turn that asks a model. */
export type AskingTurn = Pick<ActiveTurn, 'admitted' | 'signal'>;

type Part = Readonly<Record<string, unknown>>;

/** Where a turn is with its files. */
interface Reading {
  readonly tenant: Tenant;
  readonly provider: Pick<ModelProviderBase, 'takesFiles' | 'takesFileUrls'>;
  readonly seesImages: boolean;
  readonly signal: AbortSignal;
  /** Items with files, as the model sees them: each is read once per turn. */
  readonly read: Map<Item, Item>;
  /** Bytes of all files so far. */
  bytes: number;
  /** Time that was spent on URLs, ms. */
  fetchMs: number;
}

/** Members of items that have parts. */
const WITH_PARTS = ['content', 'output'] as const;

/** Ids that this service has given to files; any other may be one of an upstream. */
const OWN_ID = /^file_[0-9a-f]{32}$/;

const DATA_URL = /^data:(?<type>[^;,]*)[^,]*,/i;

/**
 * Puts files into what a model is asked, in place of their ids and URLs: their data where its provider takes files, else their text with the
 * numbers of the pages. What is stored keeps the ids and URLs.
 */
@Injectable()
export class GivenFiles {
  private readonly readings = new WeakMap<AdmittedTurn, Reading>();

  constructor(
    private readonly files: FilesService,
    private readonly urls: FileUrls,
    private readonly documents: Documents,
    private readonly environment: Environment,
    private readonly clock: Clock,
  ) {}

  /**
   * A context with its files. Throws ApiError 400 for a file of the input that is not found or cannot be fetched, for one that cannot be read,
   * and when all of them have more than FILE_INPUT_MAX_BYTES. Rejects with the reason of the signal of the turn.
   */
  async fill(turn: AskingTurn, provider: ModelProviderBase, context: ModelContext): Promise<ModelContext> {
    const { admitted, signal } = turn;
    const reading = this.readings.get(admitted) ?? {
      ...{
        tenant: admitted.caller.tenant,
        provider,
        signal,
        seesImages: provider.seesImages(admitted.settings.model),
        read: new Map<Item, Item>(),
        bytes: 0,
        fetchMs: 0,
      },
    };
    this.readings.set(admitted, reading);
    const { isFresh } = context;
    const input = await this.fillItems(context.input, reading, true);
    return { input, isFresh, items: await this.fillItems(context.items, reading, false) };
  }

  private async fillItems(items: readonly Item[], reading: Reading, isNew: boolean): Promise<readonly Item[]> {
    const filled: Item[] = [];
    for (const item of items) {
      const known = reading.read.get(item);
      const found = known ?? (holdsFiles(item) ? await this.fillItem(item, reading, isNew) : item);
      if (found !== item) reading.read.set(item, found);
      filled.push(found);
    }
    return filled;
  }

  private async fillItem(item: Item, reading: Reading, isNew: boolean): Promise<Item> {
    let filled = item;
    for (const member of WITH_PARTS) {
      const parts = item[member];
      if (!Array.isArray(parts)) continue;
      const seen: unknown[] = [];
      for (const part of parts as readonly unknown[]) {
        seen.push(...(isObject(part) ? await this.fillPart(part, reading, isNew) : [part]));
      }
      filled = { ...filled, [member]: seen };
    }
    return filled;
  }

  private async fillPart(part: Part, reading: Reading, isNew: boolean): Promise<readonly Part[]> {
    const { type, file_id: id, file_data: data, file_url: url, image_url: imageUrl } = part;
    const { takesFiles, takesFileUrls } = reading.provider;
    if (type === 'input_image' && typeof id === 'string' && imageUrl == null) {
      const file = await this.find(id, reading, isNew);
      if (file === undefined) return [missing(part, id)];
      const { file_id: _, ...rest } = part;
      return [{ ...rest, image_url: toDataUrl(requireImage(file)) }];
    }
    if (type !== 'input_file') return [part];
    if (typeof id === 'string' && data == null) {
      const file = await this.find(id, reading, isNew);
      return file === undefined ? [missing(part, id)] : this.give(file, reading);
    }
    if (typeof data === 'string') {
      return takesFiles ? [part] : this.toText(this.take(fromData(data, part.filename), reading), reading);
    }
    if (typeof url !== 'string' || (takesFiles && takesFileUrls)) return [part];
    try {
      return await this.give(await this.fetch(url, part.filename, reading), reading);
    } catch (error) {
      const isGone = !isNew && (error instanceof WebClientError || error instanceof ApiError);
      if (isGone) return [toTextPart(`(The file at ${url} is no longer available.)`)];
      if (!(error instanceof WebClientError)) throw error;
      throw invalid(`the file at '${url}' cannot be read: ${inSentence(error.message)}`, error);
    }
  }

  /** A file as the provider of the turn takes it. */
  private async give(file: GivenFile, reading: Reading): Promise<readonly Part[]> {
    if (!reading.provider.takesFiles) return this.toText(file, reading);
    return [{ type: 'input_file', filename: file.name, file_data: toDataUrl(file) }];
  }

  private async fetch(url: string, filename: unknown, reading: Reading): Promise<GivenFile> {
    const { FILE_INPUT_MAX_BYTES: mostBytes, FILE_URL_TIMEOUT_MS: mostMs } = this.environment;
    const startedAt = this.clock.now();
    try {
      const file = await this.urls.fetch(url, {
        signal: reading.signal,
        name: typeof filename === 'string' ? filename : null,
        mostBytes: mostBytes - reading.bytes,
        timeoutMs: mostMs - reading.fetchMs,
      });
      return this.take(file, reading);
    } finally {
      reading.fetchMs += this.clock.now() - startedAt;
    }
  }

  /** A file of the tenant. Undefined for one that an upstream may have, and for one that was deleted since its turn. */
  private async find(id: string, reading: Reading, isNew: boolean): Promise<GivenFile | undefined> {
    const record = await this.recordOf(id, reading.tenant);
    if (record === undefined) {
      if (!isNew || !OWN_ID.test(id)) return undefined;
      throw invalid(`there is no file with id '${id}'`);
    }
    this.count(record.bytes, reading);
    const bytes = await Array.fromAsync(this.files.read(reading.tenant, id));
    const mediaType = mediaTypeOfName(record.filename, record.mimeType);
    return { name: record.filename, mediaType, bytes: Buffer.concat(bytes) };
  }

  private async recordOf(id: string, tenant: Tenant): Promise<FileRecord | undefined> {
    return this.files.isAvailable ? this.files.store.get(tenant, id) : undefined;
  }

  private take(file: GivenFile, reading: Reading): GivenFile {
    this.count(file.bytes.length, reading);
    return file;
  }

  private count(bytes: number, reading: Reading): void {
    const { FILE_INPUT_MAX_BYTES: most } = this.environment;
    reading.bytes += bytes;
    if (reading.bytes > most) throw invalid(`the files of a turn can have up to ${most} bytes together`);
  }

  /** The text of a document, for a model that takes no files. */
  private async toText({ name, mediaType, bytes }: GivenFile, reading: Reading): Promise<readonly Part[]> {
    const { tenant, signal, seesImages } = reading;
    try {
      const options = { owner: tenant, signal, wantsImages: seesImages };
      const { pages, images, isCut } = await this.documents.readFile({ bytes, mediaType }, options);
      const label = JSON.stringify(name);
      const rest = isCut ? [`(The rest of ${label} was left out.)`] : [];
      if (images.length > 0) {
        const shown = images.flatMap(({ number, png }): readonly Part[] => [
          toTextPart(`<file name=${label} page="${number}"/>`),
          {
            type: 'input_image',
            image_url: `data:image/png;base64,${Buffer.from(png).toString('base64')}`,
            detail: 'auto',
          },
        ]);
        return [...shown, ...rest.map(toTextPart)];
      }
      if (pages.every(({ text }) => text.trim() === '')) return [toTextPart(`(${label} has no text.)`)];
      const texts = pages.map(({ number, text }) => `<file name=${label} page="${number}">\n${text}\n</file>`);
      return [toTextPart([...texts, ...rest].join('\n'))];
    } catch (error) {
      if (!(error instanceof DocumentError)) throw error;
      if (error.mayPass) throw overloaded(error);
      throw invalid(`this model takes text only, and '${name}' cannot be read: ${inSentence(error.message)}`, error);
    }
  }
}

/** In place of a file that is gone; one of an upstream stays as it is. */
function missing(part: Part, id: string): Part {
  return OWN_ID.test(id) ? toTextPart(`(The file ${id} is no longer available.)`) : part;
}

function toTextPart(text: string): Part {
  return { type: 'input_text', text };
}

function fromData(data: string, filename: unknown): GivenFile {
  const name = typeof filename === 'string' ? filename : 'file';
  const { 0: head = '', groups } = DATA_URL.exec(data) ?? {};
  const mediaType = mediaTypeOfName(name, groups?.['type'] ?? null);
  return { name, mediaType, bytes: Buffer.from(data.slice(head.length), 'base64') };
}

function toDataUrl({ mediaType, bytes }: GivenFile): string {
  return `data:${mediaType.replaceAll(' ', '')};base64,${bytes.toString('base64')}`;
}

function requireImage(file: GivenFile): GivenFile {
  if (file.mediaType.startsWith('image/')) return file;
  throw invalid(`'${file.name}' is not an image, but of the type '${file.mediaType}'`);
}

/** A message within a sentence. */
function inSentence(message: string): string {
  return message.replace(/\.$/, '');
}

/** What is over soon. */
function overloaded(error: DocumentError): ApiError {
  return ApiError.of('server_is_overloaded', error.message, { headers: { 'retry-after': '1' }, cause: error });
}

function invalid(reason: string, cause?: unknown): ApiError {
  return ApiError.of('invalid_value', `Invalid 'input': ${reason}.`, { param: 'input', cause });
}
