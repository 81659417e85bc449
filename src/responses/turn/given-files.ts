import { createHash } from 'node:crypto';

import { Injectable } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import { holdsFiles, type ModelContext } from '../../context/index.js';
import { DocumentError, Documents, type DocumentText } from '../../files/documents/index.js';
import { FileBudget, FilesService, FileUrls, type GivenFile, mediaTypeOfName } from '../../files/index.js';
import { WebClientError } from '../../http/outbound/index.js';
import { ApiError, type Item } from '../../protocol/index.js';
import type { ModelProviderBase } from '../../providers/index.js';
import { Clock } from '../../time/index.js';
import { isObject } from '../../validation/index.js';
import type { ActiveTurn } from './active-turn.js';
import { FileBoundError, type MadeFile, type Part, TurnFiles, UnusableFileError } from './turn-files.js';

/** A turn that asks a model. */
export type AskingTurn = Pick<ActiveTurn, 'admitted' | 'signal' | 'files'>;

/** For whom files are read. */
interface Reader extends Pick<AskingTurn, 'admitted' | 'signal'> {
  readonly provider: ModelProviderBase;
  readonly files: TurnFiles;
  /** Whether the items are those of the turn, rather than of one before. */
  readonly isNew: boolean;
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
  constructor(
    private readonly files: FilesService,
    private readonly urls: FileUrls,
    private readonly documents: Documents,
    private readonly budget: FileBudget,
    private readonly environment: Environment,
    private readonly clock: Clock,
  ) {}

  /**
   * A context with its files. A file of an earlier turn that is gone or cannot be read is a note, which says why: nobody could mend it. Throws
   * ApiError 400 with the parameter for such a file of this turn, and when all files have more than FILE_INPUT_MAX_BYTES or become more than
   * FILE_INPUT_MAX_CHARACTERS, and 503 when the process has no room for them or too many documents wait. Rejects with the reason of the
   * signal of the turn.
   */
  async fill(turn: AskingTurn, provider: ModelProviderBase, context: ModelContext): Promise<ModelContext> {
    const { admitted, signal } = turn;
    // A turn that is over has released its files already.
    signal.throwIfAborted();
    turn.files ??= new TurnFiles(this.environment, this.budget.open());
    const reader = { admitted, signal, provider, files: turn.files };
    const input = await this.fillItems(context.input, { ...reader, isNew: true });
    const items = await this.fillItems(context.items, { ...reader, isNew: false });
    return { input, items, isFresh: context.isFresh };
  }

  private async fillItems(items: readonly Item[], reader: Reader): Promise<readonly Item[]> {
    const { items: known } = reader.files;
    const filled: Item[] = [];
    for (const item of items) {
      const found = known.get(item) ?? (holdsFiles(item) ? await this.fillItem(item, reader) : item);
      if (found !== item) known.set(item, found);
      filled.push(found);
    }
    return filled;
  }

  private async fillItem(item: Item, reader: Reader): Promise<Item> {
    let filled = item;
    for (const member of WITH_PARTS) {
      const parts = item[member];
      if (!Array.isArray(parts)) continue;
      const seen: unknown[] = [];
      for (const [index, part] of (parts as readonly unknown[]).entries()) {
        const place = (): string => placeOf(item, `${member}[${index}]`, reader);
        seen.push(...(isObject(part) ? await this.fillPart(part, reader, place) : [part]));
      }
      filled = { ...filled, [member]: seen };
    }
    return filled;
  }

  /** `place`: the parameter of the part, which only errors ask for. */
  private async fillPart(part: Part, reader: Reader, place: () => string): Promise<readonly Part[]> {
    try {
      return (await this.give(part, reader)) ?? [part];
    } catch (error) {
      if (error instanceof FileBoundError) {
        throw invalid(place(), `the files of a turn, with those of earlier turns, ${error.message}`, error);
      }
      if (!(error instanceof UnusableFileError)) throw error;
      if (reader.isNew) throw invalid(place(), error.message, error);
      return [toTextPart(`(${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.)`)];
    }
  }

  /** What a part becomes; null for one that stays as it is. */
  private async give(part: Part, reader: Reader): Promise<readonly Part[] | null> {
    const { type, filename, file_id: id, file_data: data, file_url: url, image_url: imageUrl } = part;
    const { files, provider } = reader;
    const { takesFiles, takesFileUrls } = provider;
    if (type === 'input_image' && typeof id === 'string' && imageUrl == null) {
      const found = await files.once(`image ${id}`, async () => this.whole(id, reader, toImage));
      const { file_id: _, ...rest } = part;
      return found && found.map((image) => ({ ...rest, ...image }));
    }
    if (type !== 'input_file') return null;
    const make = (file: GivenFile): MadeFile | Promise<MadeFile> =>
      takesFiles ? toData(file) : this.toText(file, reader);
    if (typeof id === 'string' && data == null) return files.once(`file ${id}`, () => this.whole(id, reader, make));
    if (typeof data === 'string') {
      if (takesFiles) return null;
      const hash = createHash('sha256')
        .update(JSON.stringify([filename]))
        .update(data)
        .digest('base64');
      return files.once(`data ${hash}`, () => this.toText(fromData(data, filename, files), reader));
    }
    if (typeof url !== 'string' || (takesFiles && takesFileUrls)) return null;
    return files.once(`url ${JSON.stringify([filename, url])}`, async () =>
      make(await this.fetch(url, filename, reader)),
    );
  }

  private async fetch(url: string, filename: unknown, { files, signal }: Reader): Promise<GivenFile> {
    const startedAt = this.clock.now();
    try {
      return await this.urls.fetch(url, {
        signal,
        name: typeof filename === 'string' ? filename : null,
        spentMs: files.fetchMs,
        arrive: (bytes) => files.arrive(bytes),
      });
    } catch (error) {
      if (!(error instanceof WebClientError)) throw error;
      throw new UnusableFileError(`the file at '${url}' cannot be read: ${inSentence(error.message)}`, error);
    } finally {
      files.fetchMs += this.clock.now() - startedAt;
    }
  }

  /** What a file of the tenant becomes. Null for one that an upstream may have. */
  private async whole(
    id: string,
    { admitted, files, signal }: Reader,
    make: (file: GivenFile) => MadeFile | Promise<MadeFile>,
  ): Promise<MadeFile | null> {
    const { tenant } = admitted.caller;
    const record = this.files.isAvailable ? await this.files.store.get(tenant, id) : undefined;
    if (record === undefined) {
      if (!OWN_ID.test(id)) return null;
      throw new UnusableFileError(`there is no file with id '${id}': it was deleted, has expired or never was there`);
    }
    files.arrive(record.bytes);
    const pieces: Buffer[] = [];
    for await (const piece of this.files.read(tenant, id)) {
      signal.throwIfAborted();
      pieces.push(piece);
    }
    const mediaType = mediaTypeOfName(record.filename, record.mimeType);
    return make({ name: record.filename, mediaType, bytes: Buffer.concat(pieces) });
  }

  /** The text of a document, for a model that takes no files. */
  private async toText(file: GivenFile, { admitted, signal, provider }: Reader): Promise<MadeFile> {
    const wantsImages = provider.seesImages(admitted.settings.model);
    try {
      const options = { owner: admitted.caller.tenant, signal, wantsImages };
      return toDocumentParts(file.name, await this.documents.readFile(file, options));
    } catch (error) {
      if (!(error instanceof DocumentError)) throw error;
      if (error.mayPass) throw overloaded(error);
      const reason = inSentence(error.message);
      throw new UnusableFileError(`this model takes text only, and '${file.name}' cannot be read: ${reason}`, error);
    }
  }
}

/** The parameter of a part: its path in the request, or what names the items of earlier turns. */
function placeOf(item: Item, path: string, { admitted, isNew }: Reader): string {
  const { input, settings } = admitted;
  const isItem = (asked: Item): boolean => asked === item || (asked.type === 'item_reference' && asked.id === item.id);
  const index = input.findIndex(isItem);
  if (index !== -1) return `input[${index}].${path}`;
  if (!isNew && settings.conversation != null) return 'conversation';
  return !isNew && settings.previous_response_id != null ? 'previous_response_id' : 'input';
}

function fromData(data: string, filename: unknown, files: TurnFiles): GivenFile {
  const name = typeof filename === 'string' ? filename : 'file';
  const { 0: head = '', groups } = DATA_URL.exec(data) ?? {};
  const mediaType = mediaTypeOfName(name, groups?.['type'] ?? null);
  files.arrive(Buffer.byteLength(data.slice(head.length), 'base64'));
  return { name, mediaType, bytes: Buffer.from(data.slice(head.length), 'base64') };
}

function toData(file: GivenFile): MadeFile {
  return { parts: [{ type: 'input_file', filename: file.name, file_data: toDataUrl(file) }], characters: 0 };
}

/** An image, as what stands in place of the id in its part. */
function toImage(file: GivenFile): MadeFile {
  if (file.mediaType.startsWith('image/')) return { parts: [{ image_url: toDataUrl(file) }], characters: 0 };
  throw new UnusableFileError(`'${file.name}' is not an image, but of the type '${file.mediaType}'`);
}

function toDataUrl({ mediaType, bytes }: GivenFile): string {
  return `data:${mediaType.replaceAll(' ', '')};base64,${bytes.toString('base64')}`;
}

/** A message within a sentence. */
function inSentence(message: string): string {
  return message.replace(/\.$/, '');
}

/** What is over soon. */
function overloaded(error: DocumentError): ApiError {
  return ApiError.of('server_is_overloaded', error.message, { headers: { 'retry-after': '1' }, cause: error });
}

function invalid(param: string, reason: string, cause: unknown): ApiError {
  return ApiError.of('invalid_value', `Invalid '${param}': ${reason}.`, { param, cause });
}

/** A text as a part of a message. */
function toTextPart(text: string): Part {
  return { type: 'input_text', text };
}

/** A document for a model that takes no files: its text with the numbers of its pages, or the images of its pages. */
function toDocumentParts(name: string, { pages, images, isCut }: DocumentText): MadeFile {
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
    return counted([...shown, ...rest.map(toTextPart)]);
  }
  if (pages.every(({ text }) => text.trim() === '')) return counted([toTextPart(`(${label} has no text.)`)]);
  const texts = pages.map(({ number, text }) => `<file name=${label} page="${number}">\n${text}\n</file>`);
  return counted([toTextPart([...texts, ...rest].join('\n'))]);
}

function counted(parts: readonly Part[]): MadeFile {
  const values = parts.flatMap(({ text, image_url: image }) => [text, image]);
  return {
    parts,
    characters: values.reduce((sum: number, value) => sum + (typeof value === 'string' ? value.length : 0), 0),
  };
}
