import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { DiscoveryService } from '@nestjs/core';

import { Environment } from '../../config/index.js';
import { type ForeignItem, IdGenerator, type Item, itemIdPrefix } from '../../protocol/index.js';
import type { ModelRoute, Turn } from '../../providers/index.js';
import { andThen, type MaybePromise } from '../../time/index.js';
import type { ResponseAssembler } from '../assembler/response-assembler.js';
import type { ActiveTurn } from './active-turn.js';
import type { Delivery } from './delivery.js';
import { findInstances } from './find-instances.js';
import { type FinishedPass, type NextPass, type OwnPass, PassPolicy, type TurnPolicy } from './pass-policy.js';

/** The suffix of the item types that answer a call. */
const OUTPUT_SUFFIX = '_output';

/** The item types of calls that hold their own results. */
const HOSTED_CALLS: ReadonlySet<string> = new Set(['mcp_call', 'web_search_call', 'file_search_call']);

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

  /** Whether a policy runs a hosted tool of a turn. */
  runs(tool: object, turn: Turn): boolean {
    return this.policies.some((policy) => policy.runs(tool, turn));
  }

  /** Throws ApiError for what a policy would refuse. */
  check(turn: Turn, input: readonly Item[]): MaybePromise<void> {
    let checking: MaybePromise<void> = undefined;
    for (const policy of this.policies) checking = andThen(checking, () => policy.check(turn, input));
    return checking;
  }

  /** The question as the policies would put it to the model, for counts alone. */
  askOnce(question: Turn): Turn {
    const left = { number: 1, isLast: false, toolCallsLeft: Infinity };
    return this.policies.reduce((asked, policy) => policy.begin(asked)?.ask?.(asked, left) ?? asked, question);
  }

  /** The policies that apply to a turn. */
  begin(question: Turn, passes: PassesOfTurn): TurnPolicies {
    const policies = this.policies.map((policy) => policy.begin(question)).filter((policy) => policy != null);
    return new TurnPolicies(policies, passes, this.environment, this.ids);
  }
}

/** The passes that the policies of a turn look at. */
interface PassesOfTurn {
  readonly turn: ActiveTurn;
  readonly assembler: ResponseAssembler;
  readonly delivery: Delivery;
}

/** A pass that comes before the next one of the model, and the index of its policy. */
interface PassAhead {
  readonly own: OwnPass;
  readonly index: number;
}

/** The policies of one turn. Its methods stand in the order in which a pass calls them. */
export class TurnPolicies {
  constructor(
    /** Those that apply to the turn, in their order. */
    readonly list: readonly TurnPolicy[],
    private readonly passes: PassesOfTurn,
    private readonly environment: Environment,
    private readonly ids: IdGenerator,
  ) {}

  /** Whether a policy from an index on may have a pass of its own before the model is asked. */
  canLookAhead(from: number): boolean {
    return this.list.some((policy, index) => index >= from && policy.ahead !== undefined);
  }

  /** Whether a policy may give the model items after a pass. */
  get canAnswer(): boolean {
    return this.list.some((policy) => policy.answer !== undefined);
  }

  /** The pass that a policy answers before the model is asked; undefined for none. `from`: the index of the first policy to be asked. */
  ahead(question: Turn, route: ModelRoute, from: number): MaybePromise<PassAhead | undefined> {
    const { output: _, number, ...last } = this.lastPass();
    if (number >= this.environment.MAX_PASSES) return undefined;
    const charactersLeft = this.environment.MAX_OUTPUT_CHARACTERS - this.passes.assembler.state.characters;
    return this.askAhead({ ...last, number: number + 1, question, route, charactersLeft }, from);
  }

  /** Without a promise where no policy has one: it is asked before each pass. */
  private askAhead(next: NextPass, index: number): MaybePromise<PassAhead | undefined> {
    if (index >= this.list.length) return undefined;
    return andThen(this.list[index]?.ahead?.(next), (own) =>
      own === undefined ? this.askAhead(next, index + 1) : { own, index },
    );
  }

  /** The question as the policies put it to the model. */
  ask(question: Turn): Turn {
    if (this.list.every((policy) => policy.ask === undefined)) return question;
    const number = this.passes.assembler.modelPasses + 1;
    const left = { number, isLast: number >= this.environment.MAX_PASSES, toolCallsLeft: this.toolCallsLeft };
    return this.list.reduce((asked, policy) => policy.ask?.(asked, left) ?? asked, question);
  }

  /** The passes of policies that follow one of the model. What one of them runs is no more left to the next within `max_tool_calls`. */
  follow(): MaybePromise<readonly OwnPass[]> {
    const policies = this.list.filter((policy) => policy.follow !== undefined);
    const pass = policies.length > 0 ? this.lastPass() : undefined;
    if (pass === undefined || pass.number >= this.environment.MAX_PASSES) return NONE;
    let following: MaybePromise<Following> = { passes: NONE, toolCallsLeft: pass.toolCallsLeft };
    for (const policy of policies) following = andThen(following, (known) => followNext(policy, pass, known));
    return andThen(following, ({ passes }) => passes);
  }

  /**
   * The items that the policies give the model after a pass; null ends the turn. Policies are not called after the last
   * of MAX_PASSES passes, or once `max_tool_calls` calls were answered; answers beyond that are dropped.
   */
  async decide(): Promise<readonly Item[] | null> {
    const { output, ...pass } = this.lastPass();
    if (pass.number >= this.environment.MAX_PASSES || pass.toolCallsLeft <= 0) return null;
    // A copy, so that policies cannot change the response.
    const copy = { ...pass, output: structuredClone(output) };
    const answers = await Promise.all(this.list.map(async (policy) => policy.answer?.(copy)));
    const given = answers.flatMap((items) => items ?? []).map((item) => this.toItem(item));
    return given.length === 0 || given.filter(isCounted).length > pass.toolCallsLeft ? null : given;
  }

  /** The last pass, as policies see it. */
  private lastPass(): FinishedPass {
    const { turn, assembler, delivery } = this.passes;
    const { modelPasses: number, state } = assembler;
    return {
      number,
      output: assembler.outputFrom(state.passes.at(-1)?.firstIndex ?? 0),
      toolCallsLeft: this.toolCallsLeft,
      unfinished: turn.run === null ? [] : assembler.droppedItems,
      caller: turn.admitted.caller,
      signal: turn.signal,
      stored: () => delivery.stored(),
      ran: (run) => turn.ranTool(run),
    };
  }

  private get toolCallsLeft(): number {
    const { turn, assembler } = this.passes;
    const { max_tool_calls: most } = turn.admitted.settings;
    if (most === null) return Infinity;
    const run = [...assembler.outputFrom(0), ...assembler.state.given.flatMap(({ items }) => items)];
    return most - run.filter(isCounted).length;
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

const NONE: readonly OwnPass[] = [];

/** The passes of the policies so far, and the calls that are left to the others. */
interface Following {
  readonly passes: readonly OwnPass[];
  readonly toolCallsLeft: number;
}

function followNext(policy: TurnPolicy, pass: FinishedPass, known: Following): MaybePromise<Following> {
  const { passes, toolCallsLeft } = known;
  const next = policy.follow?.({ ...pass, toolCallsLeft });
  return andThen(next, (own) => {
    if (own === undefined) return known;
    return { passes: [...passes, own], toolCallsLeft: toolCallsLeft - (own.standsFor?.length ?? 0) };
  });
}

/** Whether an item counts within `max_tool_calls`: an output that a policy has given, or a call that the service or the upstream has run. */
function isCounted({ type }: ForeignItem): boolean {
  return type.endsWith(OUTPUT_SUFFIX) || HOSTED_CALLS.has(type);
}
