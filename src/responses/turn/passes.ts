import { Injectable } from '@nestjs/common';

import { Environment } from '../../config/index.js';
import type { Transcript } from '../../context/index.js';
import { type IncompleteReason, type Item, withoutUpstream } from '../../protocol/index.js';
import type { Finish, FinishReason, ModelRoute, Turn } from '../../providers/index.js';
import { Seals } from '../../seals/index.js';
import { ConversationChangedError } from '../../state/index.js';
import { Clock } from '../../time/index.js';
import type { Outcome } from '../assembler/response-snapshot.js';
import type { ResponseAssembler } from '../assembler/response-assembler.js';
import type { ActiveTurn } from './active-turn.js';
import { Assemblers } from './assemblers.js';
import { CountedReasoning } from './counted-reasoning.js';
import { Delivery } from './delivery.js';
import type { EventSink } from './event-sink.js';
import { isBreak, TurnFailures } from './failures.js';
import { Pass, type PassDependencies } from './pass.js';
import { type NextPass, type OwnPass, PassPolicies } from './pass-policy.js';
import { ReasoningSealer } from './reasoning-sealer.js';
import { type ResolvedTurn, TurnResolver } from './resolve.js';
import { type EarlyEnd, endsUnanswered } from './stop-reason.js';
import { type Course, takeOver } from './take-over.js';
import { TokenMeter } from './token-meter.js';
import { TurnObservers } from './turn-observer.js';

/** The result of a turn's passes. */
export interface Answer {
  readonly assembler: ResponseAssembler;
  readonly delivery: Delivery;
  readonly outcome: Outcome;
  /** The context of the model, including given items, and its output before `included`. */
  readonly transcript: Transcript;
  /** The number of output items that are already part of the transcript. */
  readonly included: number;
}

const INCOMPLETE_REASONS: Readonly<Record<Exclude<FinishReason, 'stop'>, IncompleteReason>> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
};

/** Pauses before a model is asked again whose upstream broke off its answer, ms; as often as there are pauses in a turn. */
const REPEAT_PAUSES_MS = [500, 2000];

/** Runs the passes of a turn: another one as long as a policy returns items. */
@Injectable()
export class Passes {
  constructor(
    private readonly policies: PassPolicies,
    private readonly observers: TurnObservers,
    private readonly resolver: TurnResolver,
    private readonly meter: TokenMeter,
    private readonly failures: TurnFailures,
    private readonly assemblers: Assemblers,
    private readonly seals: Seals,
    private readonly reasoning: CountedReasoning,
    private readonly clock: Clock,
    private readonly environment: Environment,
  ) {}

  /**
   * Runs a turn up to its terminal event; a background turn goes on where the attempt before it ended. Throws the
   * model's refusal before the response exists, and disconnects; every other error becomes an outcome.
   */
  async run(turn: ActiveTurn, resolved: ResolvedTurn, sink: EventSink | null): Promise<Answer> {
    const writing = sink === null ? 'nothing' : sink.note === undefined ? 'events' : 'events and notes';
    const assembler = this.assemblers.make(turn.admitted, writing, {
      state: turn.run?.state,
      context: resolved.transcript,
    });
    const delivery = new Delivery(turn, assembler, sink);
    turn.outlet = delivery;
    if (!turn.admitted.generate) return this.warmUp(turn, resolved, assembler, delivery);

    const { clock, observers, reasoning, environment: limits } = this;
    const { route } = resolved;
    let course = beginningOf(resolved);
    let outcome: Outcome;
    /** What the model was asked last; null once its tokens are known. */
    let asked: Turn | null = null;
    let policies = this.policies.begin(course.question);
    const sealer = ReasoningSealer.of(turn.admitted, this.seals);
    const shared = { observers, reasoning, clock, limits };
    let dependencies: PassDependencies = { turn, assembler, delivery, policies, sealer, ...shared };
    let repeats = 0;
    const canLookAhead = policies.some((policy) => policy.ahead !== undefined);
    let pass = new Pass(dependencies, turn.run !== null);
    assembler.start();
    try {
      if (turn.run !== null) {
        course = await this.takeOver(turn, resolved, assembler);
        // Its readers need not wait for the model.
        void delivery.deliver();
      }
      for (;;) {
        const { ended } = course;
        let { question } = course;
        let own: OwnPass | undefined;
        if (ended === null && canLookAhead && !course.followsOwn) {
          own = await turn.until(this.policies.ahead(policies, this.toNext(turn, question, route, assembler)));
        }
        if (resolved.mayCompact && ended === null && own === undefined && turn.earlyEnd === null) {
          question = await turn.until(this.resolver.fitUncompacted(question, route, turn.signal));
        }
        // Before the pass begins: a model that was not asked has used nothing.
        if (turn.earlyEnd !== null) {
          outcome = endEarly(turn.earlyEnd, assembler);
          break;
        }
        if (ended === null) assembler.beginPass();
        asked = ended === null && own === undefined ? question : null;
        // Before its model writes: wherever the log ends, it says what the output has cost.
        if (asked !== null && turn.run !== null) await turn.until(this.noteInput(asked, assembler, delivery));
        let finish: Finish | null;
        try {
          finish = ended ?? (await (own === undefined ? pass.ask(route, question) : pass.run(own, route, question)));
        } catch (error) {
          const pauseMs = REPEAT_PAUSES_MS[repeats];
          if (asked === null || pauseMs === undefined || !isUnseenBreak(error, turn, pass, delivery)) throw error;
          repeats += 1;
          await this.countUnended(asked, assembler);
          asked = null;
          await clock.sleep(pauseMs, turn.signal);
          course = await this.goBack(turn, resolved, assembler, course);
          policies = this.policies.begin(course.question);
          dependencies = { ...dependencies, policies };
          pass = new Pass(dependencies, true);
          continue;
        }
        if (finish === null) {
          outcome = await this.cut(turn, route, question, assembler);
          break;
        }
        assembler.endPass(finish);
        if (own !== undefined && finish.reason === 'stop' && !own.isLast) {
          // Noted together with its end, so that another attempt goes on with the model.
          assembler.give([]);
          if (pass.isAccepted) void delivery.deliver();
          const hasOutput = assembler.outputFrom(course.included).length > 0;
          course = { ...advance(course, assembler, []), followsOwn: true };
          // Without output the model is asked as if nothing had happened.
          if (hasOutput) {
            const origin = withoutUpstream(assembler.pass.origin);
            question = await turn.until(this.resolver.resolveNext(turn, resolved, [], course.transcript, origin));
            course = { ...course, question };
          }
          pass = new Pass(dependencies, pass.isAccepted);
          continue;
        }
        if (assembler.pass.usage === null) {
          const output = assembler.outputFrom(assembler.pass.firstIndex);
          assembler.report(await turn.until(this.meter.countPass(route.provider, question, output, turn.signal)));
        }
        outcome = toOutcome(finish, assembler);
        if (own !== undefined || finish.reason !== 'stop' || policies.length === 0 || assembler.pass.isAnswered) break;

        const catchingUp = delivery.deliver();
        if (catchingUp !== undefined) await turn.until(catchingUp);
        turn.throwIfStopped();
        const given = await turn.until(this.policies.decide(policies, turn, assembler));
        if (given === null) break;
        course = advance(course, assembler, given);
        assembler.give(given);
        // Logged before the model goes on, so that another attempt need not ask the policies again.
        void delivery.deliver();
        // The client must answer the open calls before the model can continue.
        if (course.transcript.hasOpenCalls) break;
        const { origin } = assembler.pass;
        question = await turn.until(this.resolver.resolveNext(turn, resolved, given, course.transcript, origin));
        course = { ...course, question };
        pass = new Pass(dependencies, true);
      }
      turn.conclude();
      // Its client was told that it is interrupted, even if its model has come to an end meanwhile.
      if (turn.earlyEnd === 'interrupted') outcome = endEarly(turn.earlyEnd, assembler);
      const catchingUp = delivery.deliver();
      if (catchingUp !== undefined) await turn.until(catchingUp);
    } catch (error) {
      if (asked !== null) await this.countUnended(asked, assembler);
      if (endsUnanswered(error, turn.run !== null) || !pass.isAccepted) throw error;
      if (asked !== null && mayBeAskedAnew(turn, assembler, delivery)) {
        const refusal = this.failures.toBreakOff(error, turn);
        if (refusal !== null) throw refusal;
      }
      turn.conclude();
      outcome = this.failures.toFailedOutcome(assembler, this.failures.toResponseError(error, turn.admitted));
    } finally {
      turn.used(assembler.usage);
    }
    return { assembler, delivery, outcome, transcript: course.transcript, included: course.included };
  }

  /**
   * Where a turn goes on whose upstream broke off its answer: in the background with what it has finished, as after the death of its
   * process; otherwise with the same question, because nobody has seen anything of the answer.
   */
  private async goBack(
    turn: ActiveTurn,
    resolved: ResolvedTurn,
    assembler: ResponseAssembler,
    course: Course,
  ): Promise<Course> {
    if (turn.run !== null) return this.takeOver(turn, resolved, assembler);
    assembler.dropPass();
    return { ...course, included: assembler.state.items.length };
  }

  /** Counts a pass without an end: what its model was asked and has written, unless it has reported that itself. */
  private async countUnended(question: Turn, assembler: ResponseAssembler): Promise<void> {
    const { asked, usage, firstIndex } = assembler.pass;
    const written = assembler.writtenFrom(firstIndex);
    if (usage !== null || written.length === 0) return;
    const counted = await this.meter.countUnended(question, written);
    assembler.report({ ...counted, input: asked ?? counted.input });
  }

  /** Notes in the log of a background turn how much its model is asked: who ends it from outside does not know its context. */
  private async noteInput(question: Turn, assembler: ResponseAssembler, delivery: Delivery): Promise<void> {
    const { pass } = assembler;
    const { input } = await this.meter.countUnended(question, []);
    if (assembler.pass !== pass || pass.usage !== null || assembler.state.ended) return;
    assembler.asked(input);
    void delivery.deliver();
  }

  /** The pass that is about to begin, as policies see it. */
  private toNext(turn: ActiveTurn, question: Turn, route: ModelRoute, assembler: ResponseAssembler): NextPass {
    const charactersLeft = this.environment.MAX_OUTPUT_CHARACTERS - assembler.state.characters;
    return { number: assembler.modelPasses + 1, question, route, charactersLeft, signal: turn.signal };
  }

  /** Rejects with ConversationChangedError when an earlier attempt has read another version of the conversation. */
  private async takeOver(turn: ActiveTurn, resolved: ResolvedTurn, assembler: ResponseAssembler): Promise<Course> {
    const { conversation } = resolved;
    // What its model has said belongs behind what it has seen.
    if (conversation !== null && !assembler.readsConversation(conversation.version))
      throw new ConversationChangedError(conversation.id);
    // The pass that its process has left behind is not asked again, but it has cost what it has cost.
    if (assembler.state.passes.length > 0 && assembler.pass.finish === null)
      await this.countUnended(resolved.question, assembler);
    const course = takeOver(assembler, resolved, (given, transcript, origin) =>
      this.resolver.resolveNext(turn, resolved, given, transcript, origin),
    );
    return turn.until(course);
  }

  /** Ends a pass that its client has cut. Its tokens count, also those of what is discarded. */
  private async cut(
    turn: ActiveTurn,
    { provider }: ModelRoute,
    question: Turn,
    assembler: ResponseAssembler,
  ): Promise<Outcome> {
    if (turn.earlyEnd === 'interrupted') assembler.discardItems();
    else assembler.cutItems();
    if (assembler.pass.usage === null) {
      const written = assembler.writtenFrom(assembler.pass.firstIndex);
      assembler.report(await turn.until(this.meter.countPass(provider, question, written, turn.signal)));
    }
    return endEarly(turn.earlyEnd ?? 'steered', assembler);
  }

  /** Prepares a context to be continued: its input is counted, but the model is not asked (protocol §6.4). */
  private async warmUp(
    turn: ActiveTurn,
    resolved: ResolvedTurn,
    assembler: ResponseAssembler,
    delivery: Delivery,
  ): Promise<Answer> {
    const { route, question, transcript } = resolved;
    assembler.create();
    assembler.beginPass();
    assembler.nameOrigin({ provider: route.providerName });
    assembler.report(await turn.until(this.meter.countPass(route.provider, question, [], turn.signal)));
    return { assembler, delivery, outcome: toOutcome({ reason: 'stop' }, assembler), transcript, included: 0 };
  }
}

/** Whether an upstream broke off its answer, which may be asked for again, and no client has seen output that would change. */
function isUnseenBreak(error: unknown, turn: ActiveTurn, pass: Pass, delivery: Delivery): boolean {
  return isBreak(error, turn) && pass.isAccepted && (turn.run !== null || !delivery.isStream);
}

/** Whether a client loses nothing when it sends its request again: it has seen nothing, nothing is stored, and no policy has acted for it. */
function mayBeAskedAnew(turn: ActiveTurn, assembler: ResponseAssembler, delivery: Delivery): boolean {
  if (delivery.isStream || turn.run !== null || turn.admitted.settings.store) return false;
  return assembler.state.given.length === 0;
}

function beginningOf({ question, transcript }: ResolvedTurn): Course {
  return { question, transcript, included: 0, ended: null, followsOwn: false };
}

/** The course after a pass, with its output and the items that were given. Its question is that of the pass. */
function advance(course: Course, assembler: ResponseAssembler, given: readonly Item[]): Course {
  const answered = course.transcript.append(assembler.transcriptFrom(course.included));
  return {
    question: course.question,
    transcript: given.length === 0 ? answered : give(answered, given),
    included: assembler.state.items.length,
    ended: null,
    followsOwn: false,
  };
}

/** Throws an Error instead of ApiError for items that do not fit: the client cannot correct them. */
function give(transcript: Transcript, items: readonly Item[]): Transcript {
  try {
    return transcript.give(items);
  } catch (cause) {
    throw new Error('a pass policy returned items that do not fit the transcript', { cause });
  }
}

/** The outcome of a response that its client has ended; its upstream does not know it as it is, and cannot go on from it. */
function endEarly(end: EarlyEnd, assembler: ResponseAssembler): Outcome {
  const { origin } = assembler.pass;
  if (origin?.upstreamId !== undefined) assembler.nameOrigin(withoutUpstream(origin));
  return { status: 'incomplete', incompleteReason: end, usage: assembler.usage };
}

function toOutcome({ reason, incompleteReason, serviceTier }: Finish, { usage }: ResponseAssembler): Outcome {
  const known = { usage, ...(serviceTier === undefined ? {} : { serviceTier }) };
  if (reason === 'stop') return { status: 'completed', ...known };
  return { status: 'incomplete', incompleteReason: incompleteReason ?? INCOMPLETE_REASONS[reason], ...known };
}
