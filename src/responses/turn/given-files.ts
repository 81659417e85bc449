import { Injectable } from '@nestjs/common';

import type { Tenant } from '../../access/index.js';
import { Environment } from '../../config/index.js';
import { holdsFiles, type ModelContext } from '../../context/index.js';
import { DocumentError, Documents } from '../../documents/index.js';
import { FilesService, mediaTypeOfName } from '../../files/index.js';
import { ApiError, type Item } from '../../protocol/index.js';
import type { ModelProviderBase } from '../../providers/index.js';
import type { FileRecord } from '../../state/index.js';
import { isObject } from '../../validation/index.js';
import type { AdmittedTurn } from './admit.js';

type Part = Readonly<Record<string, unknown>>;

/** A file with its content. */
interface GivenFile {
  readonly name: string;
  readonly mediaType: string;
  readonly bytes: Buffer;
}

/** Where a turn is with its files. */
interface Reading {
  readonly tenant: Tenant;
  readonly takesFiles: boolean;
  /** Items with files, as the model sees them: each is read once per turn. */
  readonly read: Map<Item, Item>;
  /** Bytes of all files so far. */
  bytes: number;
}

/** Members of items that have parts. */
const WITH_PARTS = ['content', 'output'] as const;

/** Ids that this service has given to files; any other may be one of an upstream. */
const OWN_ID = /^file_[0-9a-f]{32}$/;

const DATA_URL = /^data:(?<type>[^;,]*)[^,]*,/i;

/**
 * Puts files into what a model is asked, in place of their ids: their data where its provider takes files, else their text with the numbers of
 * the pages. What is stored keeps the ids.
 */
@Injectable()
export class GivenFiles {
  private readonly readings = new WeakMap<AdmittedTurn, Reading>();

  constructor(
    private readonly files: FilesService,
    private readonly documents: Documents,
    private readonly environment: Environment,
  ) {}

  /**
   * A context with its files. Throws ApiError 400 for a file of the input that is not found, for one that cannot be read, and when all of them
   * have more than FILE_INPUT_MAX_BYTES.
   */
  async fill(admitted: AdmittedTurn, { takesFiles }: ModelProviderBase, context: ModelContext): Promise<ModelContext> {
    const reading = this.readings.get(admitted) ?? {
      ...{ tenant: admitted.caller.tenant, takesFiles, read: new Map<Item, Item>(), bytes: 0 },
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
        seen.push(isObject(part) ? await this.fillPart(part, reading, isNew) : part);
      }
      filled = { ...filled, [member]: seen };
    }
    return filled;
  }

  private async fillPart(part: Part, reading: Reading, isNew: boolean): Promise<Part> {
    const { type, file_id: id, file_data: data, image_url: url } = part;
    if (type === 'input_image' && typeof id === 'string' && url == null) {
      const file = await this.find(id, reading, isNew);
      if (file === undefined) return missing(part, id);
      const { file_id: _, ...rest } = part;
      return { ...rest, image_url: toDataUrl(requireImage(file)) };
    }
    if (type !== 'input_file') return part;
    if (typeof id === 'string' && data == null) {
      const file = await this.find(id, reading, isNew);
      if (file === undefined) return missing(part, id);
      if (!reading.takesFiles) return this.toText(file, reading);
      return { type, filename: file.name, file_data: toDataUrl(file) };
    }
    if (typeof data !== 'string' || reading.takesFiles) return part;
    return this.toText(this.take(fromData(data, part.filename), reading), reading);
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
  private async toText({ name, mediaType, bytes }: GivenFile, { tenant }: Reading): Promise<Part> {
    try {
      const { pages, isCut } = await this.documents.readFile({ bytes, mediaType }, { owner: tenant });
      const label = JSON.stringify(name);
      const texts = pages.map(({ number, text }) => `<file name=${label} page="${number}">\n${text}\n</file>`);
      if (isCut) texts.push(`(The rest of ${label} was left out.)`);
      return { type: 'input_text', text: texts.join('\n') };
    } catch (error) {
      if (!(error instanceof DocumentError)) throw error;
      throw invalid(
        `this model takes text only, and '${name}' cannot be read: ${error.message.replace(/\.$/, '')}`,
        error,
      );
    }
  }
}

/** In place of a file that is gone; one of an upstream stays as it is. */
function missing(part: Part, id: string): Part {
  return OWN_ID.test(id) ? { type: 'input_text', text: `(The file ${id} is no longer available.)` } : part;
}

function fromData(data: string, filename: unknown): GivenFile {
  const name = typeof filename === 'string' ? filename : 'file';
  const { 0: head = '', groups } = DATA_URL.exec(data) ?? {};
  const mediaType = mediaTypeOfName(name, groups?.['type'] ?? null);
  return { name, mediaType, bytes: Buffer.from(data.slice(head.length), 'base64') };
}

function toDataUrl({ mediaType, bytes }: GivenFile): string {
  return `data:${mediaType};base64,${bytes.toString('base64')}`;
}

function requireImage(file: GivenFile): GivenFile {
  if (file.mediaType.startsWith('image/')) return file;
  throw invalid(`'${file.name}' is not an image, but of the type '${file.mediaType}'`);
}

function invalid(reason: string, cause?: unknown): ApiError {
  return ApiError.of('invalid_value', `Invalid 'input': ${reason}.`, { param: 'input', cause });
}
