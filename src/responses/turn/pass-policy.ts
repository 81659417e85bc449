import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';

import { Environment } from '../../config/index.js';
import { type ForeignItem, IdGenerator, type Item, itemIdPrefix } from '../../protocol/index.js';
import type { ModelEvent, ModelRoute, Turn } from '../../providers/index.js';
import type { MaybePromise } from '../../time/index.js';
import type { ResponseAssembler } from '../assembler/response-assembler.js';
import type { ActiveTurn } from './active-turn.js';
import { findInstances } from './find-instances.js';

/** A pass that ended with `finish`. */
export interface FinishedPass {
  /** From 1; passes of policies are not counted. */
  readonly number: number;
  /** The output items of the pass. */
  readonly output: readonly Item[];
  /** How many more calls may be answered within `max_tool_calls`; Infinity without a limit. */
  readonly toolCallsLeft: number;
  /** Aborts when the turn is stopped. */
  readonly signal: AbortSignal;
}

/** A pass that is about to begin. */
export interface NextPass {
  /** From 1; passes of policies are not counted. */
  readonly number: number;
  /** What the model will be asked. */
  readonly question: Turn;
  readonly route: ModelRoute;
  /** Characters that may still be added to the output of the response. */
  readonly charactersLeft: number;
  /** Aborts when the turn is stopped. */
  readonly signal: AbortSignal;
}

/** A pass that a policy answers in place of the model. */
export interface OwnPass {
  /**
   * Its events, up to `finish`, with the tokens that it used. They become output of the response. An error fails the turn; an empty batch is a
   * sign of life. A pass of nothing but `finish` leaves everything as it is.
   */
  generate(): AsyncIterable<ModelEvent | readonly ModelEvent[]>;
  /** Whether the response ends with it; otherwise the model is asked next, with this output in its context. */
  readonly isLast: boolean;
}

/** A policy for one turn. */
export interface TurnPolicy {
  /**
   * Called before each pass of the model, but not directly after a pass of a policy. Returns a pass that comes first, or
   * undefined. The first policy that returns one wins.
   */
  ahead?(next: NextPass): MaybePromise<OwnPass | undefined>;

  /**
   * Maps an event of a model before the response receives it: to itself, another event, several, or none. Events that
   * are held back may be returned with a later one, at the latest with `finish`. An error fails the turn. A call begins
   * with `function_call` or `custom_tool_call`, or with `item.open` where a provider hands on the items of an upstream.
   */
  look?(event: ModelEvent): ModelEvent | readonly ModelEvent[] | undefined;

  /**
   * Called after a pass. Undefined ends the response; returned items are given to the model in another pass of the same
   * response. Clients do not see the items, but a response that continues this one includes them. An output needs its
   * call, in the response or among the items. While a call waits for an output of the client, there is no further pass.
   * The turn waits until it is stopped: its client disconnects, or MAX_TURN_MS is over. When the process of a background
   * turn dies before the items are stored, another process asks for them again: tools run at least once.
   */
  answer?(pass: FinishedPass): MaybePromise<readonly ForeignItem[] | undefined>;
}

/**
 * Filters the events of a model and starts further passes within a turn; tools that the server runs are policies. They
 * are called in the order given by the program, then those of its modules.
 */
export abstract class PassPolicy {
  /**
   * Called once per turn, before its model is asked, and again in each process that takes over a background turn.
   * Undefined when the policy does not apply to the turn, which then has no cost.
   */
  abstract begin(turn: Turn): TurnPolicy | undefined;
}

/** The suffix of the item types that answer a call. */
const OUTPUT_SUFFIX = '_output';

/** DI token: the policies given by the program, in order. */
export const PASS_POLICIES = 'antiphon: pass policies';

/** All policies of the application: those given by the program, then those of its modules. */
@Injectable()
export class PassPolicies implements OnModuleInit {
  private policies: readonly PassPolicy[] = [];

  constructor(
    private readonly discovery: DiscoveryService,
    @Inject(PASS_POLICIES) private readonly given: readonly PassPolicy[],
    private readonly ids: IdGenerator,
    private readonly environment: Environment,
  ) {}

  onModuleInit(): void {
    this.policies = findInstances(this.discovery, PassPolicy, this.given);
  }

  /** The policies that apply to a turn. */
  begin(turn: Turn): readonly TurnPolicy[] {
    return this.policies.map((policy) => policy.begin(turn)).filter((policy) => policy != null);
  }

  /** The pass that a policy answers before the model is asked; undefined for none. */
  async ahead(policies: readonly TurnPolicy[], next: NextPass): Promise<OwnPass | undefined> {
    if (next.number > this.environment.MAX_PASSES) return undefined;
    for (const policy of policies) {
      const own = await policy.ahead?.(next);
      if (own !== undefined) return own;
    }
    return undefined;
  }

  /**
   * The items that the policies give the model after a pass; null ends the turn. Policies are not called after the last
   * of MAX_PASSES passes, or once `max_tool_calls` calls were answered; answers beyond that are dropped.
   */
  async decide(
    policies: readonly TurnPolicy[],
    turn: ActiveTurn,
    assembler: ResponseAssembler,
  ): Promise<readonly Item[] | null> {
    const { modelPasses: number } = assembler;
    const { given: before } = assembler.state;
    const toolCallsLeft = (turn.admitted.settings.max_tool_calls ?? Infinity) - countOutputs(before.flatMap(itemsOf));
    if (number >= this.environment.MAX_PASSES || toolCallsLeft <= 0) return null;
    // A copy, so that policies cannot change the response.
    const output = structuredClone(assembler.outputFrom(assembler.pass.firstIndex));
    const pass: FinishedPass = { number, output, toolCallsLeft, signal: turn.signal };
    const answers = await Promise.all(policies.map(async (policy) => policy.answer?.(pass)));
    const given = answers.flatMap((items) => items ?? []).map((item) => this.toItem(item));
    return given.length === 0 || countOutputs(given) > toolCallsLeft ? null : given;
  }

  /** The item with an id. Throws an Error for an invalid item: not every policy is written in TypeScript. */
  private toItem(item: ForeignItem): Item {
    const copy = JSON.parse(JSON.stringify(item)) as ForeignItem | null;
    const { type, id } = copy ?? {};
    if (typeof type !== 'string' || type === 'item_reference')
      throw new Error('a pass policy returned a value that is not an item');
    return { ...copy, type, id: typeof id === 'string' ? id : this.ids.next(itemIdPrefix(type)) };
  }
}

function itemsOf({ items }: { readonly items: readonly Item[] }): readonly Item[] {
  return items;
}

function countOutputs(items: readonly Item[]): number {
  return items.filter(({ type }) => type.endsWith(OUTPUT_SUFFIX)).length;
}
