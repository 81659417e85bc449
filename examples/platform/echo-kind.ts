import { Injectable } from '@nestjs/common';
import {
  type ModelEvent,
  type ModelInfo,
  ModelProviderBase,
  type ProviderEntry,
  ProviderKind,
  type Turn,
} from 'antiphon';

/** `kind: echo` in PROVIDERS_FILE: a model that answers with a greeting and the last input item. */
@Injectable()
export class EchoKind extends ProviderKind {
  override readonly members = { greeting: { type: 'string', minLength: 1 } };
  override readonly required = ['greeting'];

  override create(name: string, { greeting }: ProviderEntry): ModelProviderBase {
    return new EchoProvider(name, String(greeting));
  }
}

class EchoProvider extends ModelProviderBase {
  constructor(
    private readonly name: string,
    private readonly greeting: string,
  ) {
    super();
  }

  override async models(): Promise<readonly ModelInfo[]> {
    return [{ id: `${this.name}-1`, ownedBy: this.name, created: 1_767_225_600 }];
  }

  override async *generate({ headers, input }: Turn): AsyncGenerator<ModelEvent> {
    const trace = headers['x-team-trace'] ?? 'none';
    yield { type: 'text', delta: `${this.greeting}: ${JSON.stringify(input.at(-1)?.['content'])} (trace ${trace})` };
    yield { type: 'finish', reason: 'stop' };
  }
}
