import { Inject, Injectable } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import { IdGenerator } from '../../protocol/index.js';
import { Clock } from '../../time/index.js';
import { PROVIDER_KINDS, type ProviderKind } from '../provider-kind.js';
import type { Configuration } from './create-providers.js';
import { DEFAULT_KIND } from './providers-file.js';
import { Random } from './random.js';

/** Creates the providers of PROVIDERS_FILE. */
@Injectable()
export class ConfiguredProviders {
  constructor(
    private readonly environment: Environment,
    private readonly clock: Clock,
    private readonly ids: IdGenerator,
    private readonly random: Random,
    @Inject(PROVIDER_KINDS) private readonly kinds: ReadonlyMap<string, ProviderKind>,
  ) {}

  /** Null without a file. Throws EnvironmentError if it is invalid. */
  async read(): Promise<Configuration | null> {
    const { PROVIDERS_FILE: path, CODEX_RS_SSE_FIXTURE: fixture } = this.environment;
    if (path === '') return null;
    // Loaded on demand: the HTTP client consists of about a hundred files.
    const [{ createProviders }, { ChatCompletionsKind }, { ResponsesKind }] = await Promise.all([
      import('./create-providers.js'),
      import('./chat-completions-kind.js'),
      import('./responses-kind.js'),
    ]);
    const { clock, ids, random } = this;
    const own: readonly (readonly [string, ProviderKind])[] = [
      [DEFAULT_KIND, new ChatCompletionsKind({ clock, ids })],
      ['responses', new ResponsesKind({ clock, random }, fixture === '' ? null : fixture)],
    ];
    return createProviders(path, new Map([...own, ...this.kinds]));
  }
}
