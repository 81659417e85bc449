import { Injectable, Logger } from '@nestjs/common';
import type { FastifyReply } from 'fastify';

import type { Caller } from '../access/index.js';
import { Environment } from '../config/index.js';
import { UnknownFields } from '../http/index.js';
import { quote } from '../logging/index.js';
import type { ResponseObject } from '../protocol/index.js';
import { ProviderRegistry } from '../providers/index.js';
import {
  type AdmittedTurn,
  type Door,
  HttpTurns,
  type StreamForm,
  type TranslatedBody,
  transportOf,
} from '../responses/index.js';
import { readSessionId } from '../resources/sessions/index.js';
import { type CheckOptions, IgnoredMembers } from '../validation/index.js';
import { CACHE_MARK } from './cache-marks.js';

/** What the translation of a request needs to know beside its body. */
export interface TranslationOptions {
  readonly check: CheckOptions;
  /** The efforts that a model is known to take; undefined if that is not known. */
  readonly effortsOf: (model: string) => readonly string[] | undefined;
  /** Members that some provider takes unchanged (docs/providers.md). */
  readonly forwarded: ReadonlySet<string>;
  /** The members of `forwarded` that a model is given. */
  readonly forwardedTo: (model: string) => ReadonlySet<string>;
  /** Adds the tools of the service that the doors offer. */
  readonly withTools: (tools: readonly object[]) => readonly object[];
  /** Whether the response is stored if the body does not say. */
  readonly storesByDefault: boolean;
  /** Is told the name of a member that has no effect. */
  readonly ignore: (name: string) => void;
}

/** A request as it has arrived. */
export interface DoorRequest {
  readonly body: unknown;
  readonly caller: Caller;
  /** By their names in lower case. */
  readonly headers: Readonly<Record<string, unknown>>;
  readonly reply: FastifyReply;
}

/** How a door translates a request and its answer. */
export interface DoorDialect<T extends TranslatedBody> {
  readonly door: Door;
  /** Throws ApiError 400 for what a turn cannot say. */
  readonly translate: (body: unknown, options: TranslationOptions) => T;
  readonly toStream: (translated: T, admitted: AdmittedTurn) => StreamForm;
  readonly toAnswer: (response: ResponseObject, translated: T) => object;
}

/** The names whose effect is missing, as IgnoredMembers tells classes apart. */
const OF_DOORS: ReadonlySet<string> = new Set();

/** Runs requests of doors as turns. */
@Injectable()
export class DoorTurns {
  private readonly logger = new Logger('Doors');
  private readonly ignored = new IgnoredMembers((name) => {
    const hint = name === CACHE_MARK ? `. \`forward: [${CACHE_MARK}]\` in PROVIDERS_FILE hands it on` : '';
    this.logger.warn(`requests ask for ${quote(name)}, which has no effect here; it is ignored${hint}`);
  });

  constructor(
    private readonly turns: HttpTurns,
    private readonly providers: ProviderRegistry,
    private readonly unknownFields: UnknownFields,
    private readonly environment: Environment,
  ) {}

  /** Answers a request, as JSON or as a stream. Throws ApiError, in the terms of the request, for what comes before the first event. */
  async answer<T extends TranslatedBody>(
    { body, reply, ...asker }: DoorRequest,
    dialect: DoorDialect<T>,
  ): Promise<void> {
    const { door } = dialect;
    const transport = transportOf(body);
    const options = this.optionsFor(asker.headers);
    const { admitted, translated } = this.turns.admitTranslated(body, { ...asker, door, transport }, (given) =>
      dialect.translate(given, options),
    );
    try {
      if (transport === 'sse') {
        await this.turns.stream(admitted, reply, dialect.toStream(translated, admitted), door);
        return;
      }
      const ended = await this.turns.run(admitted, reply, door);
      if (ended !== undefined) {
        await this.turns.send(reply, JSON.stringify(dialect.toAnswer(ended.response, translated)));
      }
    } catch (error) {
      throw translated.explain(error) as Error;
    }
  }

  /** Counts the input tokens of a request, which is not run. Undefined when the client has disconnected. Throws like `answer`. */
  async count(
    { body, reply, ...asker }: DoorRequest,
    translate: DoorDialect<TranslatedBody>['translate'],
  ): Promise<number | undefined> {
    const translated = translate(body, this.optionsFor(asker.headers));
    try {
      return await this.turns.count(translated.body, { ...asker, transport: 'json' }, reply);
    } catch (error) {
      throw translated.explain(error) as Error;
    }
  }

  /** Says once in the log that something has no effect. */
  ignore(name: string): void {
    if (!this.ignored.has(name, OF_DOORS)) this.ignored.add(name, OF_DOORS);
  }

  private optionsFor(headers: DoorRequest['headers']): TranslationOptions {
    return {
      check: this.unknownFields.options(),
      effortsOf: (model) => this.providers.effortsOf(model),
      forwarded: this.providers.forwarded,
      forwardedTo: (model) => this.providers.forwardedTo(model),
      withTools: (tools) => withDoorTools(this.environment, tools),
      storesByDefault: this.environment.DOORS_STORE || readSessionId(headers) !== undefined,
      ignore: (name) => this.ignore(name),
    };
  }
}

/** The tools that a request offers with those of DOOR_TOOLS. Nobody could approve their calls through a door. */
function withDoorTools({ DOOR_TOOLS }: Environment, tools: readonly object[]): readonly object[] {
  if (DOOR_TOOLS.length === 0) return tools;
  const given = tools as readonly { readonly type?: string; readonly server_label?: string }[];
  const ours = DOOR_TOOLS.map((name) =>
    name === 'web_search'
      ? { type: name }
      : { type: 'mcp', server_label: name.slice('mcp:'.length), require_approval: 'never' },
  );
  return [
    ...tools,
    ...ours.filter(({ type, server_label: label }) =>
      given.every((tool) => tool.type !== type || tool.server_label !== label),
    ),
  ];
}
