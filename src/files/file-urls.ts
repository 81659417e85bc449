import { Injectable, Logger, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';

import { Environment } from '../config/index.js';
import { inTime, openWebClient, type WebClient, WebClientError } from '../outbound/index.js';
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
export interface FetchOptions {
  readonly signal: AbortSignal;
  /** Its name, where the client has said one. */
  readonly name: string | null;
  readonly mostBytes: number;
  readonly timeoutMs: number;
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

  /** The file behind a URL. Rejects with WebClientError, whose message begins with `It`, and with the reason of the signal. */
  async fetch(url: string, { signal, name, mostBytes, timeoutMs }: FetchOptions): Promise<GivenFile> {
    const { FILE_URLS: hosts, FILE_URL_TIMEOUT_MS: connectTimeoutMs, WEB_SEARCH_CONTACT: contact } = this.environment;
    if (hosts === 'none') throw new WebClientError('It is not fetched by this service (FILE_URLS).');
    this.client ??= openWebClient({ hosts, connectTimeoutMs }, contact);
    const client = await this.client;
    return inTime(this.clock, timeoutMs, signal, async (either) => {
      const found = await client.find(url, { signal: either, accept: '*/*' });
      const { url: place, answer } = found;
      const known = name ?? nameOf(place);
      const mediaType = mediaTypeOfName(known, answer.headers.get('content-type'));
      return { name: known, mediaType, bytes: await client.read(found, either, mostBytes, 'reject') };
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
