import { Injectable } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import type { Transcript } from '../../context/index.js';
import { type Item, type Origin, withoutUpstream } from '../../protocol/index.js';
import type { Finish, Turn } from '../../providers/index.js';
import { Seals } from '../../context/seals/index.js';
import { ConversationChangedError } from '../../state/index.js';
import { andThen, Clock, isPromise, type MaybePromise } from '../../time/index.js';
import type { Outcome } from '../assembler/response-snapshot.js';
import type { ResponseAssembler } from '../assembler/response-assembler.js';
import type { ActiveTurn } from './active-turn.js';
import { Assemblers } from './assemblers.js';
import { CountedReasoning } from './counted-reasoning.js';
import { Delivery } from './delivery.js';
import type { EventSink } from './event-sink.js';
import { isBreak, TurnFailures } from './failures.js';
import { Pass } from './pass.js';
import type { OwnPass } from './pass-policy.js';
import { ReasoningSealer } from './reasoning-sealer.js';
import { type ResolvedTurn, TurnResolver } from './resolve.js';
import { endsUnanswered } from './stop-reason.js';
import { advance, type Course, endEarly, takeOver, toOutcome } from './course.js';
import { TokenMeter } from './token-meter.js';
import { TurnObservers } from './turn-observer.js';
import { PassPolicies, type TurnPolicies } from './turn-policies.js';

/** The result of a turn's passes. */
export interface TurnAnswer {
  readonly assembler: ResponseAssembler;
  readonly delivery: Delivery;
  readonly outcome: Outcome;
  /** The context of the model, including given items, and its output before `included`. */
  readonly transcript: Transcript;
  /** The number of output items that are already part of the transcript. */
  readonly included: number;
}

/** Pauses before a model is asked again whose upstream broke off its answer, ms; as often as there are pauses in a turn. */
const REPEAT_PAUSES_MS = [500, 2000];

/** Runs the passes of turns. */
@Injectable()
export class Passes {
  constructor(
    readonly policies: PassPolicies,
    readonly observers: TurnObservers,
    readonly resolver: TurnResolver,
    readonly meter: TokenMeter,
    readonly failures: TurnFailures,
    readonly assemblers: Assemblers,
    readonly seals: Seals,
    readonly reasoning: CountedReasoning,
    readonly clock: Clock,
    readonly environment: Environment,
  ) {}

  /**
   * Runs a turn up to its terminal event; a background turn goes on where the attempt before it ended. Throws the
   * model's refusal before the response exists, and disconnects; every other error becomes an outcome.
   */
  run(turn: ActiveTurn, resolved: ResolvedTurn, sink: EventSink | null): Promise<TurnAnswer> {
    const passes = new TurnPasses(this, turn, resolved, sink);
    return turn.admitted.generate ? passes.run() : passes.warmUp();
  }
}

/** The passes of one turn: another one as long as a policy has one of its own, or returns items. */
class TurnPasses {
  readonly assembler: ResponseAssembler;
  readonly delivery: Delivery;
  private readonly sealer: ReasoningSealer | null;
  private policies!: TurnPolicies;
  private course: Course;
  private pass!: Pass;
  /** The question of the current pass. */
  private question: Turn;
  /** Passes of policies that come before the next one of the model, and whether the response ends with them. */
  private following: OwnPass[] = [];
  private endsWithOwn = false;
  /** What the model was asked last; null once its tokens are known. */
  private asked: Turn | null = null;
  /** How often the model was asked again after its upstream had broken off its answer. */
  private repeats = 0;

  constructor(
    private readonly shared: Passes,
    readonly turn: ActiveTurn,
    private readonly resolved: ResolvedTurn,
    sink: EventSink | null,
  ) {
    const { question, transcript } = resolved;
    const writing = sink === null ? 'nothing' : sink.note === undefined ? 'events' : 'events and notes';
    const before = { state: turn.run?.state, context: transcript };
    this.assembler = shared.assemblers.make(turn.admitted, writing, before);
    this.delivery = new Delivery(turn, this.assembler, sink);
    turn.outlet = this.delivery;
    this.sealer = ReasoningSealer.of(turn.admitted, shared.seals);
    this.question = question;
    this.course = { question, transcript, included: 0, ended: null, askedPolicies: 0 };
  }

  /** What each step does stands below, in the order of this loop. */
  async run(): Promise<TurnAnswer> {
    const { turn, assembler, delivery, shared } = this;
    let outcome: Outcome;
    this.begin(turn.run !== null);
    assembler.start();
    try {
      if (turn.run !== null) {
        this.course = await this.takeOver();
        // The readers of the response need not wait for the model.
        void delivery.deliver();
      }
      for (;;) {
        this.question = this.course.question;
        const looked = this.following.shift() ?? (this.canLookAhead() ? this.lookAhead() : undefined);
        const own = isPromise(looked) ? await looked : looked;
        if (this.mayCompact(own)) this.question = await this.compact();
        // Before the pass begins: a model that was not asked has used nothing.
        if (turn.earlyEnd !== null) {
          outcome = endEarly(turn.earlyEnd, assembler);
          break;
        }
        let finish: Finish | null;
        try {
          finish = this.course.ended ?? (await this.ask(own));
        } catch (error) {
          await this.repeat(error);
          continue;
        }
        if (finish === null) {
          outcome = await this.cut();
          break;
        }
        assembler.endPass(finish);
        if (own !== undefined && finish.reason === 'stop' && (await this.goOnAfter(own))) continue;
        const isAnsweredByModel = own === undefined && finish.reason === 'stop';
        if (isAnsweredByModel && !assembler.pass.isAnswered && (await this.follow())) continue;
        if (assembler.pass.usage === null) await this.count(assembler.outputFrom(assembler.pass.firstIndex));
        outcome = toOutcome(finish, assembler);
        if (!isAnsweredByModel || !this.policies.canAnswer || assembler.pass.isAnswered || !(await this.answer()))
          break;
      }
      turn.conclude();
      // The client was told that the response is interrupted, even if the model has come to an end meanwhile.
      if (turn.earlyEnd === 'interrupted') outcome = endEarly(turn.earlyEnd, assembler);
      const catchingUp = delivery.deliver();
      if (catchingUp !== undefined) await turn.until(catchingUp);
    } catch (error) {
      const { asked } = this;
      if (asked !== null) await this.countUnended(asked);
      if (endsUnanswered(error, turn.run !== null) || !this.pass.isAccepted) throw error;
      if (asked !== null && this.mayBeAskedAnew()) {
        const refusal = shared.failures.toBreakOff(error, turn);
        if (refusal !== null) throw refusal;
      }
      turn.conclude();
      outcome = shared.failures.toFailedOutcome(assembler, shared.failures.toResponseError(error, turn.admitted));
    } finally {
      turn.used(assembler.usage);
    }
    const { transcript, included } = this.course;
    return { assembler, delivery, outcome, transcript, included };
  }

  /** Prepares a context to be continued: its input is counted, but the model is not asked (protocol §6.4). */
  async warmUp(): Promise<TurnAnswer> {
    const { assembler, delivery } = this;
    assembler.create();
    assembler.beginPass();
    assembler.nameOrigin({ provider: this.resolved.route.providerName });
    await this.count([]);
    const { transcript } = this.course;
    return { assembler, delivery, outcome: toOutcome({ reason: 'stop' }, assembler), transcript, included: 0 };
  }

  /** Begins with the policies anew. */
  private begin(isAccepted: boolean): void {
    this.policies = this.shared.policies.begin(this.course.question, this);
    this.beginPass(isAccepted);
  }

  /** `isAccepted` as for a Pass. */
  private beginPass(isAccepted: boolean): void {
    const { turn, assembler, delivery, sealer, policies } = this;
    const { observers, reasoning, clock, environment: limits } = this.shared;
    const shared = { turn, assembler, delivery, policies: policies.list, sealer, observers, reasoning, clock, limits };
    this.pass = new Pass(shared, isAccepted);
  }

  /** Rejects with ConversationChangedError when an earlier attempt has read another version of the conversation. */
  private async takeOver(): Promise<Course> {
    const { turn, assembler, resolved } = this;
    const { conversation } = resolved;
    // What its model has said belongs behind what it has seen.
    if (conversation !== null && !assembler.readsConversation(conversation.version))
      throw new ConversationChangedError(conversation.id);
    // The pass that its process has left behind is not asked again, but it has cost what it has cost.
    if (assembler.state.passes.length > 0 && assembler.pass.finish === null) await this.countUnended(resolved.question);
    const course = takeOver(assembler, resolved, (given, transcript, origin) =>
      this.shared.resolver.resolveNext(turn, resolved, given, transcript, origin),
    );
    return turn.until(course);
  }

  private canLookAhead(): boolean {
    const { ended, askedPolicies } = this.course;
    return ended === null && this.policies.canLookAhead(askedPolicies);
  }

  /** Asks the policies for a pass of their own. */
  private lookAhead(): MaybePromise<OwnPass | undefined> {
    const { question, resolved, policies, course } = this;
    const known = policies.ahead(question, resolved.route, course.askedPolicies);
    return andThen(isPromise(known) ? this.turn.until(known) : known, (ahead) => {
      if (ahead !== undefined) this.course = { ...course, askedPolicies: ahead.index + 1 };
      return ahead?.own;
    });
  }

  private mayCompact(own: OwnPass | undefined): boolean {
    return this.resolved.mayCompact && this.course.ended === null && own === undefined && this.turn.earlyEnd === null;
  }

  /** The question with a context that fits. */
  private compact(): Promise<Turn> {
    const { turn, resolved } = this;
    return turn.until(this.shared.resolver.fitUncompacted(this.question, resolved.route, turn.signal));
  }

  /** Asks the model, or has a policy answer in its place. Null when the client has cut the pass. */
  private ask(own: OwnPass | undefined): Promise<Finish | null> {
    const { assembler, pass } = this;
    const { route } = this.resolved;
    const question = own === undefined ? this.policies.ask(this.question) : this.question;
    this.question = question;
    assembler.beginPass();
    this.asked = own === undefined ? question : null;
    if (own !== undefined) return pass.run(own, route, question);
    if (this.turn.run === null) return pass.ask(route, question);
    // Before its model writes: wherever the log ends, it says what the output has cost.
    return this.turn.until(this.noteInput(question)).then(() => pass.ask(route, question));
  }

  /** Notes in the log of a background turn how much its model is asked: who ends it from outside does not know its context. */
  private async noteInput(question: Turn): Promise<void> {
    const { assembler } = this;
    const { pass } = assembler;
    const { input } = await this.shared.meter.countUnended(question, []);
    if (assembler.pass !== pass || pass.usage !== null || assembler.state.ended) return;
    assembler.asked(input);
    void this.delivery.deliver();
  }

  /**
   * Goes back to where the model can be asked again whose upstream broke off its answer. Throws the error of any other
   * pass, and of one whose output a client has seen that would change.
   */
  private async repeat(error: unknown): Promise<void> {
    const { turn, assembler, asked, pass, delivery } = this;
    const pauseMs = REPEAT_PAUSES_MS[this.repeats];
    const isUnseen = pass.isAccepted && (turn.run !== null || !delivery.isStream);
    if (asked === null || pauseMs === undefined || !isUnseen || !isBreak(error, turn)) throw error;
    this.repeats += 1;
    await this.countUnended(asked);
    this.asked = null;
    await this.shared.clock.sleep(pauseMs, turn.signal);
    if (turn.run !== null) {
      // With what it has finished, as after the death of its process.
      this.course = await this.takeOver();
    } else {
      // With the same question: nobody has seen anything of the answer.
      assembler.dropPass();
      this.course = { ...this.course, included: assembler.state.items.length };
    }
    this.begin(true);
  }

  /** Ends a pass that its client has cut. Its tokens count, also those of what is discarded. */
  private async cut(): Promise<Outcome> {
    const { assembler } = this;
    const end = this.turn.earlyEnd ?? 'steered';
    if (end === 'interrupted') assembler.discardItems();
    else assembler.cutItems();
    if (assembler.pass.usage === null) await this.count(assembler.writtenFrom(assembler.pass.firstIndex));
    return endEarly(end, assembler);
  }

  /** Goes on after a pass of a policy; false when the response ends with it, or the client must answer a call first. */
  private async goOnAfter(own: OwnPass): Promise<boolean> {
    const { assembler, delivery, pass } = this;
    const isMore = this.following.length > 0;
    this.endsWithOwn ||= own.isLast;
    if (!isMore && this.endsWithOwn) return false;
    // Noted together with its end, so that another attempt goes on with the model.
    assembler.give([]);
    if (pass.isAccepted) void delivery.deliver();
    const hasOutput = assembler.outputFrom(this.course.included).length > 0;
    this.course = { ...advance(this.course, assembler, []), askedPolicies: this.course.askedPolicies };
    if (!isMore && this.course.transcript.hasOpenCalls) return false;
    // Without output the model is asked as if nothing had happened.
    if (!isMore && hasOutput) await this.resolveNext([], withoutUpstream(assembler.pass.origin));
    this.beginPass(pass.isAccepted);
    return true;
  }

  /**
   * Has passes of policies follow one of the model; false if none does. Nothing is delivered before the first of them has begun: wherever
   * the log ends, the model has either not ended its pass, or what follows it is known.
   */
  private async follow(): Promise<boolean> {
    const { assembler } = this;
    const known = this.policies.follow();
    const following = isPromise(known) ? await this.turn.until(known) : known;
    if (following.length === 0) return false;
    const keptBack = following.flatMap(({ standsFor = [] }) => standsFor.map((item) => ({ id: '', ...item })));
    const { usage, firstIndex } = assembler.pass;
    if (usage === null) await this.count([...assembler.outputFrom(firstIndex), ...keptBack]);
    this.following = [...following];
    this.course = advance(this.course, assembler, []);
    this.beginPass(true);
    return true;
  }

  /** Counts the tokens of a pass that has not reported them. */
  private async count(output: readonly Item[]): Promise<void> {
    const { turn, question, resolved, assembler } = this;
    const counting = this.shared.meter.countPass(resolved.route.provider, question, output, turn.signal);
    assembler.report(await turn.until(counting));
  }

  /** Counts a pass without an end: what its model was asked and has written, unless it has reported that itself. */
  private async countUnended(question: Turn): Promise<void> {
    const { assembler } = this;
    const { asked, usage, firstIndex } = assembler.pass;
    const written = assembler.writtenFrom(firstIndex);
    if (usage !== null || written.length === 0) return;
    const counted = await this.shared.meter.countUnended(question, written);
    assembler.report({ ...counted, input: asked ?? counted.input });
  }

  /** Has the policies answer a pass. Resolves with whether the model goes on with what they have given. */
  private async answer(): Promise<boolean> {
    const { turn, assembler, delivery } = this;
    const catchingUp = delivery.deliver();
    if (catchingUp !== undefined) await turn.until(catchingUp);
    turn.throwIfStopped();
    const given = await turn.until(this.policies.decide());
    if (given === null) return false;
    this.course = advance(this.course, assembler, given);
    assembler.give(given);
    // Logged before the model goes on, so that another attempt need not ask the policies again.
    void delivery.deliver();
    // The client must answer the open calls before the model can continue.
    if (this.course.transcript.hasOpenCalls) return false;
    await this.resolveNext(given, assembler.pass.origin);
    this.beginPass(true);
    return true;
  }

  private async resolveNext(given: readonly Item[], origin: Origin | null): Promise<void> {
    const { turn, resolved, course } = this;
    const next = this.shared.resolver.resolveNext(turn, resolved, given, course.transcript, origin);
    this.course = { ...course, question: await turn.until(next) };
  }

  /** Whether a client loses nothing when it sends its request again: it has seen nothing, nothing is stored, and no policy has acted for it. */
  private mayBeAskedAnew(): boolean {
    const { turn, assembler, delivery } = this;
    if (delivery.isStream || turn.run !== null || turn.admitted.settings.store) return false;
    return assembler.state.given.length === 0;
  }
}
