import { Logger } from '@nestjs/common';

import type { Clock } from '../../time/index.js';
import { reasonOf } from '../scrub.js';
import { NoDocumentError, type UpstreamClient } from '../upstream-http/upstream-client.js';
import { readModels } from './read-models.js';

/** Timeout of `GET /models`, ms. */
const LIMIT_MS = 10_000;

/** Paths that end with a version, such as `/v1` or `/v1beta`. */
const VERSIONED = /\/v\d+\w*$/;

/** The server of a ModelList. */
export interface ListedServer {
  /** Name of the provider, for the log. */
  readonly name: string;
  readonly baseUrl: string;
  /** Values to redact from errors. */
  readonly secrets: readonly string[];
}

/** The model list of a server. */
export class ModelList {
  private readonly logger = new Logger('Upstream');
  private hasHinted = false;

  constructor(
    private readonly client: UpstreamClient,
    private readonly clock: Clock,
    private readonly server: ListedServer,
  ) {}

  /** Requests the list, for `readModels`. Throws an Error without addresses and credentials if there is none. */
  async get(): Promise<unknown> {
    const limit = new AbortController();
    const timer = this.clock.schedule(LIMIT_MS, () => limit.abort(new Error('no answer')));
    try {
      return await this.request(limit.signal);
    } catch (error) {
      throw new Error(reasonOf(error, this.server.secrets));
    } finally {
      timer.cancel();
    }
  }

  private async request(signal: AbortSignal): Promise<unknown> {
    try {
      return await this.client.getJson('/models', signal);
    } catch (error) {
      if (error instanceof NoDocumentError) await this.hintAtVersion(signal);
      throw error;
    }
  }

  /** Says once if the list is not where `base_url` leads, but below its `/v1`, which is easily forgotten. */
  private async hintAtVersion(signal: AbortSignal): Promise<void> {
    const { name, baseUrl } = this.server;
    if (this.hasHinted || VERSIONED.test(new URL(baseUrl).pathname)) return;
    try {
      readModels(await this.client.getJson('/v1/models', signal), name);
    } catch {
      return;
    }
    this.hasHinted = true;
    this.logger.warn(`'${name}' has no list of models at its base_url, but at /v1 below it: add /v1 to its base_url`);
  }
}
