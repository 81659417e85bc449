import { access, constants } from 'node:fs/promises';

import { Logger } from '@nestjs/common';

import type { ModelProviderBase } from '../model-provider.js';
import { type ProviderEntry, ProviderKind } from '../provider-kind.js';
import type { ResponsesDependencies } from '../responses/index.js';
import { RESPONSES_MEMBERS, type ResponsesEntry } from './responses-entry.js';
import { checkResponsesEntry, secretsOfResponsesEntry, toResponsesOptions } from './to-responses-options.js';

/** The kind `responses`: servers with the Responses API, over SSE and WebSocket. */
export class ResponsesKind extends ProviderKind {
  override readonly members = RESPONSES_MEMBERS;
  override readonly required = ['base_url'];
  /** The provider retries itself. */
  override readonly retries = 0;
  private readonly logger = new Logger('ResponsesProvider');

  /** `fixture`: the path of a file that answers in place of every server; null for none. */
  constructor(
    private readonly dependencies: ResponsesDependencies,
    private readonly fixture: string | null,
  ) {
    super();
  }

  override async create(name: string, entry: ProviderEntry, secrets: readonly string[]): Promise<ModelProviderBase> {
    // Loaded for files that have such an entry only.
    const { ResponsesProvider } = await import('../responses/index.js');
    const options = toResponsesOptions(name, entry as ResponsesEntry, { secrets, fixture: this.fixture });
    if (options.fixture !== null) await this.useFixture(name, options.fixture);
    return new ResponsesProvider(options, this.dependencies);
  }

  /** Throws an Error if the fixture cannot be read. */
  private async useFixture(name: string, path: string): Promise<void> {
    const source = this.fixture === null ? 'base_url' : 'CODEX_RS_SSE_FIXTURE';
    try {
      await access(path, constants.R_OK);
    } catch {
      throw new Error(`the fixture of ${source} cannot be read`);
    }
    this.logger.warn(`'${name}' answers from the fixture of ${source}, not from a server`);
  }

  override check(entry: ProviderEntry): void {
    checkResponsesEntry(entry as ResponsesEntry);
  }

  override secretsOf(entry: ProviderEntry): readonly string[] {
    return secretsOfResponsesEntry(entry as ResponsesEntry);
  }
}
