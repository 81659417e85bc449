import type { IdGenerator } from '../../protocol/index.js';
import type { Clock } from '../../time/index.js';
import { ChatCompletionsProvider, DIALECTS, RESERVED_NAMES } from '../chat-completions/index.js';
import { type ProviderEntry, ProviderKind } from '../provider-kind.js';
import { CAPABILITY_SCHEMAS, type ChatCompletionsEntry, REASONING_TAGS } from './chat-completions-entry.js';
import { milliseconds, object } from './schema-parts.js';
import { checkServer, secretsOfServer, SERVER_MEMBERS } from './server-entry.js';
import { toProviderOptions } from './to-provider-options.js';

const NAMES = { vital: new Set(['model', 'messages', 'stream']), reserved: RESERVED_NAMES };

/** The kind `chat-completions`: servers with OpenAI's Chat Completions API. */
export class ChatCompletionsKind extends ProviderKind {
  override readonly members = {
    ...SERVER_MEMBERS,
    dialect: { enum: DIALECTS },
    reasoning_tags: REASONING_TAGS,
    timeouts: object({
      connect_ms: milliseconds,
      first_byte_ms: milliseconds,
      idle_ms: milliseconds,
      whole_ms: milliseconds,
    }),
    capabilities: object(CAPABILITY_SCHEMAS),
  };
  override readonly required = ['base_url'];

  constructor(private readonly dependencies: { readonly clock: Clock; readonly ids: IdGenerator }) {
    super();
  }

  override create(name: string, entry: ProviderEntry, secrets: readonly string[]): ChatCompletionsProvider {
    return new ChatCompletionsProvider(
      toProviderOptions(name, entry as ChatCompletionsEntry, secrets),
      this.dependencies,
    );
  }

  override check(entry: ProviderEntry): void {
    checkServer(entry as ChatCompletionsEntry, NAMES);
  }

  override secretsOf(entry: ProviderEntry): readonly string[] {
    return secretsOfServer(entry as ChatCompletionsEntry);
  }
}
