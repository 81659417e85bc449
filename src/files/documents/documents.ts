import { isUtf8 } from 'node:buffer';

import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { Environment } from '../../config/index.js';
import { describeMissing, isInstalled } from '../../require-packages.js';
import type { DocumentText } from './document-text.js';
import type { Read, ReadTask, RobotsTask } from './document-thread.js';
import { DocumentThreads, ThreadsClosedError, TooManyDocumentsError } from './document-threads.js';

export type { DocumentText } from './document-text.js';

/** Why a document could not be read. With `too_many` and `stopping` the document has no fault: too many waited already, or the service stops. */
export type DocumentFault =
  'unsupported' | 'damaged' | 'took_too_long' | 'too_complex' | 'not_installed' | 'too_many' | 'stopping';

/** A document could not be read. The message is for people and models. */
export class DocumentError extends Error {
  override readonly name = 'DocumentError';

  constructor(
    readonly fault: DocumentFault,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }

  /** Whether the same document may be read later. */
  get mayPass(): boolean {
    return this.fault === 'too_many' || this.fault === 'stopping';
  }
}

/** A document as it came. */
export interface Document {
  /** They are moved to the thread that reads them: the caller must not use them any more. */
  readonly bytes: Uint8Array;
  /** As HTTP states it, with its `charset` if it has one. */
  readonly contentType: string;
  /** Where it came from: the base of its links. */
  readonly url?: string;
}

/** For whom a document is read. */
export interface ReadOptions {
  /** Ends the reading. */
  readonly signal?: AbortSignal | undefined;
  /** The tenant: the documents of one do not hold up those of others. */
  readonly owner: string;
  /** Whether pages are wanted as images where the document has no text; by default not. */
  readonly wantsImages?: boolean;
}

/** What can be read, with the packages that do; none for plain text. */
const PACKAGES = {
  docx: ['linkedom', 'mammoth'],
  html: ['@mozilla/readability', 'linkedom'],
  odt: ['fflate', 'saxes'],
  pdf: ['unpdf'],
  pptx: ['fflate', 'saxes'],
  robots: ['robots-parser'],
  text: [],
  xlsx: ['fflate', 'saxes'],
} as const satisfies Record<(ReadTask | RobotsTask)['format'], readonly string[]>;

/** The formats of office programs, by their media types. */
const OFFICE_TYPES: ReadonlyMap<string, 'docx' | 'odt' | 'pptx' | 'xlsx'> = new Map([
  ['application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'docx'],
  ['application/vnd.openxmlformats-officedocument.presentationml.presentation', 'pptx'],
  ['application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'xlsx'],
  ['application/vnd.oasis.opendocument.text', 'odt'],
]);

/** The media types that are text, beside `text/*` and those that end with `+json` or `+xml`. */
const TEXT_TYPES: ReadonlySet<string> = new Set([
  'application/json',
  'application/jsonl',
  'application/x-ndjson',
  'application/xml',
  'application/yaml',
  'application/x-yaml',
  'application/toml',
  'application/sql',
  'application/javascript',
  'application/typescript',
  'application/x-sh',
]);

/**
 * Turns documents into text: HTML into Markdown of what is its article, DOCX into Markdown, PDF, PPTX and XLSX into pages, ODT into paragraphs, plain text
 * as it is. Each is read in a thread of its own, which is ended when it takes longer or needs more memory than it may: what a document holds never
 * holds up the service.
 */
@Injectable()
export class Documents implements OnApplicationShutdown {
  private readonly threads: DocumentThreads;

  constructor(
    @Inject(Environment)
    private readonly environment: Pick<
      Environment,
      | 'DOCUMENT_TIMEOUT_MS'
      | 'DOCUMENT_MAX_PAGES'
      | 'DOCUMENT_MAX_IMAGES'
      | 'DOCUMENT_MAX_CHARACTERS'
      | 'DOCUMENT_THREADS'
    >,
  ) {
    this.threads = new DocumentThreads(environment.DOCUMENT_THREADS);
  }

  /** Whether documents of a media type can be read. */
  reads(contentType: string): boolean {
    return formatOf(contentType) !== undefined;
  }

  /** The text of a document. Rejects with DocumentError, and with the reason of the signal. */
  async read(document: Document, options: ReadOptions): Promise<DocumentText> {
    const { bytes, contentType, url } = document;
    const format = formatOf(contentType);
    if (format === undefined) {
      throw new DocumentError('unsupported', `Documents of the type '${mediaTypeOf(contentType)}' cannot be read.`);
    }
    const missing = missingFor(format);
    if (missing.length > 0) {
      throw new DocumentError('not_installed', `Reading ${format.toUpperCase()} needs ${describeMissing(missing)}`);
    }
    const { environment: most } = this;
    const task: ReadTask = {
      format,
      bytes,
      charset: charsetOf(contentType),
      url,
      mostPages: most.DOCUMENT_MAX_PAGES,
      mostImages: options.wantsImages === true ? most.DOCUMENT_MAX_IMAGES : 0,
      mostCharacters: most.DOCUMENT_MAX_CHARACTERS,
    };
    const read = await this.run(task, options);
    if ('text' in read) return read.text;
    const damage = 'damage' in read ? read.damage.replace(/\.$/, '') : '';
    throw new DocumentError('damaged', `The document cannot be read: ${damage}.`);
  }

  /** The text of a file: one of an unknown type is text if its bytes are. Takes the bytes and rejects like `read`. */
  readFile(
    { bytes, mediaType }: { readonly bytes: Buffer; readonly mediaType: string },
    options: ReadOptions,
  ): Promise<DocumentText> {
    const isText = !this.reads(mediaType) && !bytes.includes(0) && isUtf8(bytes);
    return this.read({ bytes, contentType: isText ? 'text/plain' : mediaType }, options);
  }

  /** Whether a robots.txt lets a robot read a page (RFC 9309). Rejects like `read`. */
  async isAllowed(rules: string, url: string, robot: string, options: ReadOptions): Promise<boolean> {
    const read = await this.run({ format: 'robots', rules, url, robot }, options);
    return 'isAllowed' in read && read.isAllowed;
  }

  private async run(task: ReadTask | RobotsTask, { signal, owner }: ReadOptions): Promise<Read> {
    const { DOCUMENT_TIMEOUT_MS: timeoutMs } = this.environment;
    const deadline = new AbortController();
    const begin = (): NodeJS.Timeout => setTimeout(() => deadline.abort(), timeoutMs);
    const stops = signal === undefined ? deadline.signal : AbortSignal.any([deadline.signal, signal]);
    try {
      return await this.threads.run(task, { signal: stops, owner, begin });
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof TooManyDocumentsError) throw new DocumentError('too_many', error.message);
      if (error instanceof ThreadsClosedError) throw new DocumentError('stopping', error.message);
      if (deadline.signal.aborted) {
        throw new DocumentError('took_too_long', `The document could not be read within ${timeoutMs} ms.`);
      }
      // The thread has died, mostly of its limit of memory.
      throw new DocumentError('too_complex', 'Reading the document needs more memory than it may have.', {
        cause: error,
      });
    }
  }

  onApplicationShutdown(): Promise<void> {
    return this.threads.close();
  }
}

/** The packages that reading such formats needs, and that are not installed. */
export function missingFor(...formats: readonly (keyof typeof PACKAGES)[]): readonly string[] {
  const names = new Set(formats.flatMap((format): readonly string[] => PACKAGES[format]));
  return [...names].filter((name) => !isInstalled(name));
}

/** The media type without its parameters, in lower case. */
function mediaTypeOf(contentType: string): string {
  return contentType.split(';', 1)[0]?.trim().toLowerCase() ?? '';
}

function formatOf(contentType: string): ReadTask['format'] | undefined {
  const type = mediaTypeOf(contentType);
  if (type === 'text/html' || type === 'application/xhtml+xml') return 'html';
  if (type === 'application/pdf') return 'pdf';
  const office = OFFICE_TYPES.get(type);
  if (office !== undefined) return office;
  const isText = type.startsWith('text/') || TEXT_TYPES.has(type) || /\+(?:json|xml|yaml)$/.test(type);
  return isText ? 'text' : undefined;
}

function charsetOf(contentType: string): string | undefined {
  return /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(contentType)?.[1];
}
