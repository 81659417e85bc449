import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';

import { Environment } from '../../config/index.js';
import { type ForeignItem, IdGenerator, type Item, itemIdPrefix } from '../../protocol/index.js';
import type { ModelEvent, Turn } from '../../providers/index.js';
import type { MaybePromise } from '../../time/index.js';
import type { ResponseAssembler } from '../assembler/index.js';
import type { ActiveTurn } from './active-turn.js';
import { findInstances } from './find-instances.js';

/** A pass whose model came to its own end. */
export interface FinishedPass {
  /** From 1. */
  readonly number: number;
  /** The items of the response that it made. */
  readonly output: readonly Item[];
  /** How many more calls may be answered within `max_tool_calls`; Infinity without one. */
  readonly toolCallsLeft: number;
  /** Aborts when nobody wants the answer any more. */
  readonly signal: AbortSignal;
}

/** A policy at work on one turn. */
export interface TurnPolicy {
  /**
   * Looks at an event of a model before the response does, and gives what takes its place: the event itself, another one,
   * several, or nothing. What is held back can be given with a later event, at the latest with `finish`. What it throws fails the turn.
   */
  look?(event: ModelEvent): ModelEvent | readonly ModelEvent[] | undefined;

  /**
   * Decides after a pass: undefined leaves it at that, items are given to the model, which is asked again in the same response.
   * Clients do not see the items, but whoever continues the response goes on from them. An output needs its call, which
   * is in the response or among the items. While a call waits for an output of the client, the model is not asked again.
   * There is no time limit but the policy's own: the turn waits until its client leaves.
   */
  answer?(pass: FinishedPass): MaybePromise<readonly ForeignItem[] | undefined>;
}

/**
 * Decides how often a model is asked within a turn, and what of its answers becomes part of the response. Tools that the
 * server runs are policies. They take part in the order in which the program gave them, then those of its modules.
 */
export abstract class PassPolicy {
  /** Called once per turn, before its model is asked. Undefined where the turn is none of its business: then it costs nothing. */
  abstract begin(turn: Turn): TurnPolicy | undefined;
}

/** What outputs of tools have in common: each answers a call. */
const OUTPUT_SUFFIX = '_output';

/** DI token: the policies that the program gave, in their order. */
export const PASS_POLICIES = Symbol('pass policies');

/** Every policy of the application: those that the program gave, then those of its modules. */
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
    this.policies = [...new Set([...this.given, ...findInstances(this.discovery, PassPolicy)])];
  }

  /** The policies that have something to do with a turn. */
  begin(turn: Turn): readonly TurnPolicy[] {
    return this.policies.map((policy) => policy.begin(turn)).filter((policy) => policy != null);
  }

  /**
   * What a model is given after a pass, by all policies together; null where the turn ends. Policies are not asked after the last
   * of MAX_PASSES, nor once as many calls were answered as `max_tool_calls` allows; what answers more is forgotten.
   */
  async decide(
    policies: readonly TurnPolicy[],
    turn: ActiveTurn,
    assembler: ResponseAssembler,
  ): Promise<readonly Item[] | null> {
    const { passes, given: before } = assembler.state;
    const toolCallsLeft = (turn.admitted.settings.max_tool_calls ?? Infinity) - countOutputs(before.flatMap(itemsOf));
    if (passes.length >= this.environment.MAX_PASSES || toolCallsLeft <= 0) return null;
    // A copy: what a policy does to it must not reach the response.
    const output = structuredClone(assembler.outputFrom(assembler.pass.firstIndex));
    const pass: FinishedPass = { number: passes.length, output, toolCallsLeft, signal: turn.signal };
    const answers = await Promise.all(policies.map(async (policy) => policy.answer?.(pass)));
    const given = answers.flatMap((items) => items ?? []).map((item) => this.toItem(item));
    return given.length === 0 || countOutputs(given) > toolCallsLeft ? null : given;
  }

  /** The item as it is kept. Throws an Error for what is no item of a transcript: not every policy is TypeScript. */
  private toItem(item: ForeignItem): Item {
    const copy = JSON.parse(JSON.stringify(item)) as ForeignItem | null;
    const { type, id } = copy ?? {};
    if (typeof type !== 'string' || type === 'item_reference')
      throw new Error('a policy gave something that is no item');
    return { ...copy, type, id: typeof id === 'string' ? id : this.ids.next(itemIdPrefix(type)) };
  }
}

function itemsOf({ items }: { readonly items: readonly Item[] }): readonly Item[] {
  return items;
}

function countOutputs(items: readonly Item[]): number {
  return items.filter(({ type }) => type.endsWith(OUTPUT_SUFFIX)).length;
}
