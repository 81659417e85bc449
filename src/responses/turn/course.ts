import type { Transcript } from '../../context/index.js';
import { type IncompleteReason, type Item, type Origin, withoutUpstream } from '../../protocol/index.js';
import type { Finish, FinishReason, Turn } from '../../providers/index.js';
import type { Outcome } from '../assembler/response-snapshot.js';
import type { AssemblerState } from '../assembler/state.js';
import type { ResponseAssembler } from '../assembler/response-assembler.js';
import type { ResolvedTurn } from './resolve.js';
import type { EarlyEnd } from './stop-reason.js';

/** Where the passes of a turn go on. */
export interface Course {
  /** The question of the next pass, or of the one that the model has ended. */
  readonly question: Turn;
  /** The context of the model, and its output before `included`. */
  readonly transcript: Transcript;
  readonly included: number;
  /** How the model has ended the last pass, which is not asked again; null when it is to be asked. */
  readonly ended: Finish | null;
  /** How many of the policies were asked for a pass before the next one of the model. */
  readonly askedPolicies: number;
}

/** The course after a pass, with its output and the items that were given. Its question is that of the pass. */
export function advance(course: Course, assembler: ResponseAssembler, given: readonly Item[]): Course {
  const answered = course.transcript.append(assembler.transcriptFrom(course.included));
  return {
    question: course.question,
    transcript: given.length === 0 ? answered : give(answered, given),
    included: assembler.state.items.length,
    ended: null,
    askedPolicies: 0,
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

/** The question of a further pass. */
type NextQuestion = (given: readonly Item[], transcript: Transcript, origin: Origin | null) => Promise<Turn>;

/**
 * Where a turn goes on after its process died: what it had finished stays, what it had half-written is closed and left
 * out of the output and of the transcript. Rejects like `TurnResolver.resolveNext`.
 */
export async function takeOver(
  assembler: ResponseAssembler,
  { question, transcript: base }: ResolvedTurn,
  next: NextQuestion,
): Promise<Course> {
  const { state } = assembler;
  // The process died before it began a pass.
  if (state.passes.length === 0) return { question, transcript: base, included: 0, ended: null, askedPolicies: 0 };
  const { transcript, included, ended } = readCourse(assembler, base);
  const given = state.given.at(-1);
  // When the given items come last, its provider may go on from the pass before, as if nothing had happened.
  const isGivenLast = given !== undefined && given.after === assembler.outputUpTo(included).length;
  const lastEnded = state.passes.findLast(({ finish }) => finish !== null);
  // A pass of the model may have come after it that has left no output, but calls for a policy to run.
  const followsOwn = isGivenLast && given.items.length === 0 && lastEnded?.isAnswered === true;
  const askedPolicies = followsOwn ? Infinity : 0;
  if (transcript === base) return { question, transcript, included, ended, askedPolicies };
  const asked =
    isGivenLast && !followsOwn
      ? await next(given.items, transcript, lastOrigin(state.passes.filter(({ isAnswered }) => isAnswered)))
      : await next([], transcript, withoutUpstream(lastOrigin(state.passes)));
  return { question: asked, transcript, included, ended, askedPolicies };
}

function readCourse(assembler: ResponseAssembler, base: Transcript): Omit<Course, 'question' | 'askedPolicies'> {
  const { state, pass } = assembler;
  if (pass.isAnswered) {
    const transcript = base.append(assembler.transcriptUpTo(state.items.length));
    // The client must answer the open calls before the model can continue.
    return { transcript, included: state.items.length, ended: transcript.hasOpenCalls ? pass.finish : null };
  }
  const before = base.append(assembler.transcriptUpTo(pass.firstIndex));
  if (pass.finish === null) {
    assembler.dropItems();
    const transcript = before.append(assembler.transcriptFrom(pass.firstIndex));
    // A compaction may be asked for while calls of earlier responses wait.
    if (!transcript.hasOpenCalls || base.hasOpenCalls) return { transcript, included: state.items.length, ended: null };
    // A model is not asked again behind calls that wait for their outputs: the pass ends with them.
    assembler.endPass({ reason: 'stop' });
  }
  return { transcript: before, included: pass.firstIndex, ended: pass.finish };
}

function lastOrigin(passes: AssemblerState['passes']): Origin | null {
  return passes.findLast(({ origin }) => origin !== null)?.origin ?? null;
}

const INCOMPLETE_REASONS: Readonly<Record<Exclude<FinishReason, 'stop'>, IncompleteReason>> = {
  length: 'max_output_tokens',
  content_filter: 'content_filter',
};

/** The outcome of a response that its client has ended; its upstream does not know it as it is, and cannot go on from it. */
export function endEarly(end: EarlyEnd, assembler: ResponseAssembler): Outcome {
  const { origin } = assembler.pass;
  if (origin?.upstreamId !== undefined) assembler.nameOrigin(withoutUpstream(origin));
  return { status: 'incomplete', incompleteReason: end, usage: assembler.usage };
}

/** The outcome of a response whose last pass has ended. */
export function toOutcome({ reason, incompleteReason, serviceTier }: Finish, { usage }: ResponseAssembler): Outcome {
  const known = { usage, ...(serviceTier === undefined ? {} : { serviceTier }) };
  if (reason === 'stop') return { status: 'completed', ...known };
  return { status: 'incomplete', incompleteReason: incompleteReason ?? INCOMPLETE_REASONS[reason], ...known };
}
