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
    return new ResponsesProvider(options, this.dependencies);
  }

  override check(entry: ProviderEntry): void {
    checkResponsesEntry(entry as ResponsesEntry);
  }

  override secretsOf(entry: ProviderEntry): readonly string[] {
    return secretsOfResponsesEntry(entry as ResponsesEntry);
  }
}
