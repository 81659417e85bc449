import type { ChatAnswers } from '../chat-upstream/chat-answer.js';
import { ChatUpstream } from '../chat-upstream/chat-upstream.js';
import type { Quirks } from '../chat-upstream/quirks.js';
import type { Members } from '../output.js';
import { type ChatService, startChatService } from '../chat-upstream/start-chat-service.js';
import type { UpstreamBody } from '../upstream-server.js';
import { Refusal, type Transport, type TurnResult } from '../transport.js';
import { JSON_TRANSPORT, SSE_TRANSPORT } from '../transports.js';

/** A provider's settings by the name of the model that leads to it. */
export type Variants = Readonly<Record<string, Members>>;

/** A turn that was answered: what the upstream was asked, and what came back. */
export interface TranslatedTurn extends TurnResult {
  readonly body: UpstreamBody;
}

/** A request that was refused, and whether the upstream had been asked. */
export interface TranslatedRefusal {
  readonly status: number;
  readonly error: Members;
  readonly wasAsked: boolean;
}

/** What the upstream answers; `queued` is what the test has told it itself. */
export type Answers = ChatAnswers | 'queued';

const ANSWER: ChatAnswers = { text: 'ok' };

/**
 * The service in front of one upstream that is known under several models, each with capabilities of its own. `generic` is
 * one without settings.
 *
 *     translation = await Translation.start({ blind: { capabilities: { images: false } } });
 *     const { messages } = await translation.sent({ model: 'blind', input: 'Hello' });
 */
export class Translation implements AsyncDisposable {
  private constructor(
    readonly service: ChatService,
    readonly upstream: ChatUpstream,
  ) {}

  /** `models` are further entries of the providers file. */
  static async start(variants: Variants = {}, models: readonly object[] = []): Promise<Translation> {
    const upstream = await ChatUpstream.start();
    const named = Object.entries<Members>({ generic: {}, ...variants });
    const providersBeside = Object.fromEntries(
      named.map(([name, settings]) => {
        // What is compared are requests for streams.
        const capabilities = { whole_answers: 'never', ...(settings['capabilities'] as Members | undefined) };
        return [name, { base_url: upstream.baseUrl, ...settings, capabilities }];
      }),
    );
    const entries = named.map(([name]) => ({ name, provider: name, model: 'upstream-model' }));
    try {
      const service = await startChatService({ upstream, providersBeside, models: [...entries, ...models] });
      return new Translation(service, upstream);
    } catch (error) {
      await upstream.close();
      throw error;
    }
  }

  /** Runs a turn over SSE whose upstream answers like this. Rejects with Refusal when it is refused. */
  async turn(request: object, answers: Answers = ANSWER, quirks: Quirks = {}): Promise<TranslatedTurn> {
    return this.run(SSE_TRANSPORT, request, answers, quirks);
  }

  /** Runs a turn over the transport. Rejects with Refusal when it is refused. */
  async run(
    transport: Transport,
    request: object,
    answers: Answers = ANSWER,
    quirks: Quirks = {},
  ): Promise<TranslatedTurn> {
    // Not queued: of a turn that is refused nothing is left for the next.
    if (answers !== 'queued') this.upstream.always(answers, quirks);
    const result = await transport.run(this.service, { model: 'generic', input: 'Go on.', ...request });
    const body = this.upstream.requests.at(-1)?.body;
    if (body === undefined) throw new Error('the upstream was not asked');
    return { ...result, body };
  }

  /** What the upstream is asked for a request. */
  async sent(request: object): Promise<UpstreamBody> {
    return (await this.run(JSON_TRANSPORT, request)).body;
  }

  /** The messages the upstream gets for a request. */
  async messages(request: object): Promise<readonly Members[]> {
    return (await this.sent(request)).messages ?? [];
  }

  /** The functions the upstream is offered for a request. */
  async functions(request: object): Promise<readonly Members[]> {
    return functionsOf(await this.sent(request));
  }

  /** How a request is refused. Throws when it is not. */
  async refusal(request: object, transport: Transport = JSON_TRANSPORT): Promise<TranslatedRefusal> {
    const before = this.upstream.requests.length;
    const answer = transport.run(this.service, { model: 'generic', input: 'Go on.', ...request }).then(
      () => undefined,
      (error: unknown) => error,
    );
    const refusal = await answer;
    if (!(refusal instanceof Refusal)) throw new Error(`expected a refusal, not ${String(refusal)}`);
    const { error } = refusal.body as { readonly error: Members };
    return { status: refusal.status, error, wasAsked: this.upstream.requests.length > before };
  }

  close(): Promise<void> {
    return this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.service.close();
    await this.upstream.close();
  }
}

/** The functions that a request offers. */
export function functionsOf({ tools }: UpstreamBody): readonly Members[] {
  return ((tools ?? []) as readonly { readonly function: Members }[]).map((tool) => tool.function);
}

/** The 400 for what an upstream cannot be told. */
export function refusedValue(param: string, message: string): object {
  return {
    status: 400,
    error: { type: 'invalid_request_error', code: 'unsupported_value', param, message },
    wasAsked: false,
  };
}
