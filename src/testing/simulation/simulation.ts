import type { NestFastifyApplication } from '@nestjs/platform-fastify';

import { objectSchema, requireSchema } from '../../config/index.js';
import type { FaultKind } from '../../simulator/index.js';
import type { NamedScript, ScriptTurn } from '../../simulator/script/index.js';
import {
  faultSchema,
  type JournalEntry,
  type Space,
  type SpaceFault,
  type SpaceScript,
  type Spaces,
} from '../../simulator/spaces/index.js';
import { type Answer, placeOf, toTurn } from './answers.js';
import { type Matcher, showMatcher, toPredicate } from './matcher.js';
import { checkAt, placeOfCaller } from './place.js';

/** How a fault happens; what is not given is drawn or has its default (docs/simulator-settings.md#faults). */
export interface FaultOptions extends Pick<SpaceFault, 'after' | 'forMs' | 'retryAfterSeconds'> {
  /** How many turns it hits, from the next one on. Default: 1. */
  readonly turns?: number;
}

const FAULT_SCHEMA = faultSchema('after', 'forMs', 'retryAfterSeconds');

const SPACE_SCHEMA = objectSchema({ answers: { type: 'array' } });

/** A simulated model with answers, faults and a journal of its own. An agent reaches it with `url` and `apiKey`. */
export class SimulatedSpace {
  constructor(
    /** For `baseURL` of the official SDKs; it ends with `/v1`. */
    readonly url: string,
    /** The key that names the space. */
    readonly apiKey: string,
    private readonly own: Space,
    private readonly service: { readonly isClosed: boolean },
  ) {}

  /** What the official SDKs read: for an agent that is a process of its own. */
  get env(): Readonly<
    Record<'OPENAI_BASE_URL' | 'OPENAI_API_KEY' | 'ANTHROPIC_BASE_URL' | 'ANTHROPIC_API_KEY', string>
  > {
    return {
      OPENAI_BASE_URL: this.url,
      OPENAI_API_KEY: this.apiKey,
      // The paths of Anthropic's SDK begin with `/v1`.
      ANTHROPIC_BASE_URL: new URL(this.url).origin,
      ANTHROPIC_API_KEY: this.apiKey,
    };
  }

  /**
   * The create requests as the agent sent them, oldest first, with what each was answered; also those that were refused. The last
   * thousand, or fewer if they are large.
   */
  get requests(): readonly JournalEntry[] {
    return this.own.journal.entries;
  }

  /** The latest request. Throws an Error if there was none. */
  get last(): JournalEntry {
    const last = this.requests.at(-1);
    if (last === undefined) throw new Error('the agent has sent no request');
    return last;
  }

  /** The requests and their answers, one a line, for the message of a test that fails. */
  get journal(): string {
    return this.requests.join('\n');
  }

  /** The answers to the next requests, in place of those that are left. Throws an Error for an invalid one. */
  answer(...answers: readonly Answer[]): this {
    this.requireOpen('answer()');
    this.own.add(toScript(answers, `answer() at ${placeOfCaller()}`));
    return this;
  }

  /**
   * Answers the requests that match, before all other answers; of several that match the newest. Further answers follow as the
   * conversation goes on after the user message, and the last one is repeated. Throws an Error for an invalid answer or matcher.
   */
  on(matcher: Matcher, ...answers: readonly [Answer, ...Answer[]]): this {
    this.requireOpen('on()');
    const place = placeOfCaller();
    const turns = toTurns(answers, `on() at ${place}`);
    const accepts = checkAt(`on() at ${place}`, () => toPredicate(matcher));
    if (turns.length === 0) throw new Error(`on() at ${place} has no answer`);
    this.own.add({
      file: { model: '*', match: 'last_user_message', turns },
      accepts,
      label: `on(${showMatcher(matcher)}) at ${place}`,
    });
    return this;
  }

  /** The next turns have a fault. Throws an Error for an unknown kind or option. */
  fault(kind: FaultKind, options: FaultOptions = {}): this {
    this.requireOpen('fault()');
    const asked = { turns: 1, ...options, kind };
    const fault = checkAt(`fault() at ${placeOfCaller()}`, () =>
      requireSchema<typeof asked>(asked, FAULT_SCHEMA, { whole: 'the fault' }),
    );
    this.own.addFault(fault);
    return this;
  }

  /** Everything is as it was at the start: the first answers, no others, no faults, no requests. */
  reset(): void {
    this.own.reset();
  }

  /** Throws an Error once the service is closed: nobody would get what a test prepares. */
  protected requireOpen(member: string): void {
    if (this.service.isClosed) throw new Error(`${member} at ${placeOfCaller(2)}: the simulator is closed`);
  }
}

/** What a simulation is made of. */
export interface SimulationParts {
  readonly app: NestFastifyApplication;
  readonly url: string;
  readonly spaces: Spaces;
  /** The scripts that every space has. */
  readonly scripts: readonly NamedScript[];
  /** Lets clients in with a key, which is then a tenant of its own. */
  readonly admit: (key: string) => void;
}

/** A simulator in this process: its first space, which any other key reaches, and the way to further ones. */
export class Simulation extends SimulatedSpace implements AsyncDisposable {
  private count = 0;
  private closing: Promise<void> | undefined;

  constructor(
    private readonly parts: SimulationParts,
    space: Space,
    private readonly life = { isClosed: false },
  ) {
    super(parts.url, 'test', space, life);
  }

  /** A further space, with a key of its own: nothing of it is seen in another one, not even stored responses. */
  space(options: { readonly answers?: readonly Answer[] } = {}): SimulatedSpace {
    this.requireOpen('space()');
    const origin = `space() at ${placeOfCaller()}`;
    const { answers } = checkAt(origin, () => requireSchema<typeof options>(options, SPACE_SCHEMA, { whole: 'it' }));
    const { url, spaces, scripts, admit } = this.parts;
    const apiKey = `antiphon-space-${++this.count}`;
    admit(apiKey);
    const own = listScripts(scripts, answers, origin);
    return new SimulatedSpace(url, apiKey, spaces.hold(apiKey, own), this.life);
  }

  /** Ends the service, with the turns that are under way. */
  close(): Promise<void> {
    this.life.isClosed = true;
    return (this.closing ??= this.parts.app.close());
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** The scripts of a space. Its answers come before scripts for every model; without any, what no script answers is refused. */
export function listScripts(
  scripts: readonly NamedScript[],
  answers: readonly Answer[] | undefined,
  origin: string,
): readonly SpaceScript[] {
  const given = scripts.map((file) => ({ file, label: `the script '${file.model}'` }));
  const own = toScript(answers ?? [], origin);
  return answers === undefined ? [...given, own] : [own, ...given];
}

/** A script of answers in order, for every model. */
function toScript(answers: readonly Answer[], origin: string): SpaceScript {
  const turns = toTurns(answers, origin);
  const count = turns.length === 1 ? 'the answer' : `the ${turns.length} answers`;
  const label = turns.length === 0 ? `no answers, ${origin}` : `${count} of ${origin}`;
  return { file: { model: '*', on_exhausted: 'unmatched', turns }, label };
}

function toTurns(answers: readonly Answer[], origin: string): readonly ScriptTurn[] {
  return answers.map((answer, index) => {
    try {
      return toTurn(answer);
    } catch (error) {
      const place = placeOf(answer) ?? `in ${origin}`;
      throw new Error(`answer ${index + 1}, ${place}: ${(error as Error).message}`, { cause: error });
    }
  });
}
