import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';

import { Environment } from '../config/index.js';
import { inTime, openWebClient, type WebClient, WebClientError } from '../http/outbound/index.js';
import { Clock } from '../time/index.js';
import { mediaTypeOfName } from './media-types.js';

/** A file with its content. */
export interface GivenFile {
  readonly name: string;
  /** As HTTP states it, perhaps with its `charset`. */
  readonly mediaType: string;
  readonly bytes: Buffer;
}

/** How a file is fetched. */
export interface FileFetchOptions {
  readonly signal: AbortSignal;
  /** The name of the file, where the client has said one. */
  readonly name: string | null;
  /** How much of FILE_URL_TIMEOUT_MS was spent on other files. */
  readonly spentMs: number;
  /** Called with the bytes that have come. What it throws ends the request. */
  readonly arrive: (bytes: number) => void;
}

/** Fetches files that inputs name by their URLs. FILE_URLS says where from. */
@Injectable()
export class FileUrls implements OnModuleInit, OnApplicationShutdown {
  private client: Promise<WebClient> | null = null;

  constructor(
    private readonly environment: Environment,
    private readonly clock: Clock,
  ) {}

  onModuleInit(): void {
    if (this.environment.FILE_URLS !== 'any') return;
    new Logger('Files').warn('FILE_URLS=any: clients can make this service read any address in its network');
  }

  async onApplicationShutdown(): Promise<void> {
    await (await this.client)?.close();
  }

  /** The file behind a URL. Rejects with WebClientError, whose message begins with `It`, with the reason of the signal, and with what `arrive` throws. */
  async fetch(url: string, { signal, name, spentMs, arrive }: FileFetchOptions): Promise<GivenFile> {
    const { FILE_URLS: hosts, FILE_URL_TIMEOUT_MS: mostMs, WEB_SEARCH_CONTACT: contact } = this.environment;
    if (hosts === 'none') throw new WebClientError('It is not fetched by this service (FILE_URLS).');
    if (spentMs >= mostMs) {
      throw new WebClientError(`It was not asked for: others have taken ${mostMs} ms (FILE_URL_TIMEOUT_MS).`);
    }
    this.client ??= openWebClient({ hosts, connectTimeoutMs: mostMs }, contact);
    const client = await this.client;
    return inTime(this.clock, mostMs - spentMs, signal, async (either) => {
      const found = await client.find(url, { signal: either, accept: '*/*' });
      const { url: place, answer } = found;
      const known = name ?? nameOf(place);
      const mediaType = mediaTypeOfName(known, answer.headers.get('content-type'));
      const parts: Uint8Array[] = [];
      for await (const part of client.body(found, either)) {
        arrive(part.byteLength);
        parts.push(part);
      }
      return { name: known, mediaType, bytes: Buffer.concat(parts) };
    });
  }
}

/** The last part of a path. */
function nameOf({ pathname, hostname }: URL): string {
  const last = pathname.slice(pathname.lastIndexOf('/') + 1);
  if (last === '') return hostname;
  try {
    return decodeURIComponent(last);
  } catch {
    return last;
  }
}
