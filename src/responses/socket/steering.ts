import { ApiError, ERROR_CODES, type IdGenerator, type ResponseObject } from '../../protocol/index.js';
import { RecentMap } from '../../recent-map.js';
import { isWarmUp } from '../dto/index.js';
import type { ActiveTurn } from '../turn/active-turn.js';
import type { ClientFrame } from './client-frame.js';
import type { QueueShare } from './queue-budget.js';
import {
  acceptedMembers,
  describeInterrupt,
  describeSteer,
  failedMembers,
  HAS_ENDED,
  HAS_FAILED,
  itemsOf,
  pendingMembers,
  type RequiredInput,
  requiredInputOf,
  type Steer,
  type SteerFailure,
  type SteerRefusal,
  WAS_STEERED,
  type WhyEnded,
  whyNotSteerable,
} from './steer.js';

/** Most steers that wait for one response (protocol §6.8). */
const MAX_PENDING = 8;
/** Most ended responses that a connection remembers (protocol §6.8). */
const MAX_REMEMBERED = 64;

const CANNOT_BE_CONTINUED = 'The response can no longer be continued.';

type Request = Readonly<Record<string, unknown>>;

/** A turn of the connection, as its steering needs it. */
export interface SteerableTurn {
  readonly streamId: string | undefined;
  /** The response that it continues, as its client has named it. */
  readonly previousResponseId: unknown;
  /** The steers whose input is part of its own. */
  readonly carried: readonly Steer[];
  /** The running turn, once it is admitted. Throws an Error before. */
  readonly running: ActiveTurn;
}

/** What the steering of a connection needs of it. */
export interface SteeringDependencies {
  readonly ids: IdGenerator;
  readonly share: QueueShare;
  /** Sends an event that belongs to no response; JSON text without its closing brace. */
  readonly answer: (json: string, streamId: string | undefined) => void;
  /** Hears of every steer and interrupt that is refused. */
  readonly onRefusal: (error: ApiError) => void;
  /** Puts a turn of the server's own in front of a lane. Throws ApiError when the connection takes no turns any more. */
  readonly follow: (streamId: string | undefined, request: Request, steers: readonly Steer[]) => void;
}

/** An event behind the terminal one of a response. */
export interface LateEvent {
  readonly type: string;
  readonly members: string;
}

/** A response that has ended. */
interface EndedResponse {
  readonly streamId: string | undefined;
  readonly why: WhyEnded;
}

/** A response with steers, or that may get some. */
interface SteeredResponse {
  /** Null once it has ended in calls, and its steers wait for the client's outputs. */
  turn: SteerableTurn | null;
  readonly streamId: string | undefined;
  readonly steers: Steer[];
  isInterrupted: boolean;
  /** Whether it was stored when it ended: the cache of the connection is not all that it can be continued from. */
  isStored: boolean;
}

/**
 * Steers and interrupts the responses of one connection (protocol §6.8). A steer is accepted while its response runs and
 * applied when a response that has its input is created: a successor that the server starts by itself, or, behind calls,
 * the client's next turn. Each is applied once, or fails.
 */
export class Steering {
  /** By response id: those that run, and those whose steers wait for the client. */
  private readonly targets = new Map<string, SteeredResponse>();
  /** By response id: those that have ended last, so that a late event for one of them gets the right answer. */
  private readonly ended = new RecentMap<EndedResponse>(MAX_REMEMBERED);
  /** Accepted and neither applied nor failed. */
  private readonly accepted = new Set<Steer>();

  constructor(private readonly dependencies: SteeringDependencies) {}

  /** Handles a `response.steer` of so many bytes: answers it, and has its response end at the next safe boundary. */
  steer(frame: ClientFrame, bytes: number): void {
    const refusal = this.accept(frame, bytes);
    if (refusal === null) return;
    this.log(refusal);
    const { previous_response_id: previousResponseId, input } = frame;
    const members = failedMembers({ previousResponseId, input }, ...refusal);
    this.answer('response.steer.failed', members, this.placeOf(previousResponseId));
  }

  /** Handles a `response.interrupt` of Codex: the response ends at once with the items that are finished. */
  interrupt(frame: ClientFrame): void {
    const { response_id: id } = frame;
    const refusal = this.stop(frame);
    let json = `{"type":"response.interrupt.accepted","response_id":${JSON.stringify(id)}`;
    if (refusal !== null) {
      this.log(refusal);
      const [code, message] = refusal;
      const members = { type: 'response.interrupt.failed', response_id: id ?? null };
      json = JSON.stringify({ ...members, error: { type: ERROR_CODES[code].type, code, message } }).slice(0, -1);
    }
    this.dependencies.answer(json, this.placeOf(id)?.streamId);
  }

  /** A response was created, which applies what its turn carries. */
  begun(turn: SteerableTurn): void {
    for (const steer of turn.carried) {
      this.targets.delete(steer.previousResponseId);
      this.release(steer);
    }
    this.targets.set(turn.running.responseId, {
      turn,
      streamId: turn.streamId,
      steers: [],
      isInterrupted: false,
      isStored: false,
    });
  }

  /**
   * A response ends; its terminal event follows, and then those that are returned. A successor takes the place in front of
   * the lane, which is not free yet.
   */
  concluded(turn: SteerableTurn, response: ResponseObject): readonly LateEvent[] {
    const { id, status } = response;
    const target = this.targets.get(id);
    this.targets.delete(id);
    this.ended.set(id, { streamId: turn.streamId, why: status === 'failed' ? HAS_FAILED : HAS_ENDED });
    const own = target === undefined || target.steers.length === 0 ? [] : this.settle(turn, target, response);
    return this.targets.size === 0 ? own : [...own, ...this.lose(turn, response)];
  }

  /**
   * The steers that a request of the client takes up: those of the response that it continues, on the same lane, which
   * wait for it. A warm-up takes none.
   */
  waitingFor(streamId: string | undefined, request: Request): readonly Steer[] {
    const target = this.targetOf(request.previous_response_id);
    if (target === undefined || target.turn !== null || target.streamId !== streamId) return [];
    return isWarmUp(request) ? [] : target.steers;
  }

  /**
   * A turn of the client that continues a response was refused before its own response existed. What waits for the
   * response fails, if it cannot be continued any more.
   */
  notContinued({ streamId, previousResponseId }: SteerableTurn, { code }: ApiError): void {
    const isGone = code === 'previous_response_not_found';
    const lost = this.failWaiting(streamId, (id, { isStored }) => id === previousResponseId && (isGone || !isStored));
    for (const { type, members } of lost) this.answer(type, members, { streamId });
  }

  /** A successor was refused before its response existed, and what it continues can be continued by the client. */
  refused(turn: SteerableTurn, error: ApiError): void {
    for (const { previousResponseId } of turn.carried) {
      this.ended.set(previousResponseId, { streamId: turn.streamId, why: HAS_ENDED });
    }
    for (const { type, members } of this.failAll(turn.carried, 'successor_creation_failed', error.message)) {
      this.answer(type, members, turn);
    }
  }

  /** The connection is closed, and everything that waits is lost. */
  end(): void {
    for (const steer of this.accepted) this.release(steer);
    this.targets.clear();
    this.ended.clear();
  }

  private accept(frame: ClientFrame, bytes: number): SteerRefusal<SteerFailure> | null {
    const target = this.runningOf(frame.previous_response_id);
    if (target === undefined) return this.whyNotRunning(frame.previous_response_id, 'previous_response_id');
    const { turn, steers } = target;
    const { running } = turn;
    const why = whyNotSteerable(running);
    if (why !== null) return ['steering_not_supported', why];
    if (target.isInterrupted) return ['response_not_active', 'The response is being interrupted.'];
    const wrong = describeSteer(frame);
    if (wrong !== null) return ['invalid_input', wrong];
    if (steers.length >= MAX_PENDING) {
      return ['too_many_pending_steers', `At most ${MAX_PENDING} inputs may wait for a response.`];
    }
    const { ids, share } = this.dependencies;
    try {
      share.take(bytes);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return ['too_many_pending_steers', error.message];
    }
    const input = frame.input as Steer['input'];
    const steer = { id: ids.next('steer'), previousResponseId: running.responseId, input, bytes };
    this.accepted.add(steer);
    if (running.outlet?.interject('response.steer.accepted', acceptedMembers(steer)) !== true) {
      this.release(steer);
      return HAS_ENDED;
    }
    steers.push(steer);
    running.endEarly('steered');
    return null;
  }

  private stop(frame: ClientFrame): SteerRefusal<'invalid_value' | SteerFailure> | null {
    const target = this.runningOf(frame.response_id);
    if (target === undefined) return this.whyNotRunning(frame.response_id, 'response_id');
    const wrong = describeInterrupt(frame);
    if (wrong !== null) return ['invalid_value', wrong];
    if (!target.turn.running.endEarly('interrupted')) return HAS_ENDED;
    target.isInterrupted = true;
    return null;
  }

  private runningOf(id: unknown): (SteeredResponse & { readonly turn: SteerableTurn }) | undefined {
    const target = this.targetOf(id);
    return target?.turn == null ? undefined : (target as SteeredResponse & { readonly turn: SteerableTurn });
  }

  private whyNotRunning(id: unknown, parameter: string): WhyEnded | SteerRefusal<'response_not_found'> {
    if (id == null) return ['response_not_found', `Missing required parameter: '${parameter}'.`];
    const ended = this.endedOf(id);
    return ended?.why ?? ['response_not_found', 'No response with this id runs on this connection.'];
  }

  /** The lane of a response that is known here: it runs, has steers, or has ended lately. */
  private placeOf(id: unknown): { readonly streamId: string | undefined } | undefined {
    return this.targetOf(id) ?? this.endedOf(id);
  }

  /** A client may send anything as an id. */
  private targetOf(id: unknown): SteeredResponse | undefined {
    return typeof id === 'string' ? this.targets.get(id) : undefined;
  }

  private endedOf(id: unknown): EndedResponse | undefined {
    return typeof id === 'string' ? this.ended.get(id) : undefined;
  }

  /** What becomes of the steers of a response that ends. */
  private settle(
    turn: SteerableTurn,
    target: SteeredResponse,
    { id, status, output, store }: ResponseObject,
  ): readonly LateEvent[] {
    const { steers, isInterrupted } = target;
    if (status === 'failed') return this.failAll(steers, 'successor_creation_failed', 'The response has failed.');
    if (isInterrupted) return this.failAll(steers, 'response_not_active', 'The response was interrupted.');
    const required = requiredInputOf(output, turn.running.outlet?.given ?? []);
    if (required.length === 0) return this.follow(turn, steers);
    target.isStored = store;
    return this.wait(id, target, required);
  }

  /**
   * The steers that wait for a response of the lane which the end of another one drops from the cache of the connection
   * (protocol §6.6), and which is not stored.
   */
  private lose(turn: SteerableTurn, { id, status }: ResponseObject): readonly LateEvent[] {
    const isDropped =
      status === 'failed' ? (other: string) => other === turn.previousResponseId : (other: string) => other !== id;
    return this.failWaiting(turn.streamId, (other, { isStored }) => !isStored && isDropped(other));
  }

  private failWaiting(
    streamId: string | undefined,
    isLost: (id: string, target: SteeredResponse) => boolean,
  ): readonly LateEvent[] {
    const events: LateEvent[] = [];
    for (const [id, target] of this.targets) {
      if (target.turn !== null || target.streamId !== streamId || !isLost(id, target)) continue;
      this.targets.delete(id);
      events.push(...this.failAll(target.steers, 'successor_creation_failed', CANNOT_BE_CONTINUED));
    }
    return events;
  }

  private wait(id: string, target: SteeredResponse, required: readonly RequiredInput[]): readonly LateEvent[] {
    target.turn = null;
    this.targets.set(id, target);
    return target.steers.map((steer) => ({
      type: 'response.steer.pending',
      members: pendingMembers(steer, required),
    }));
  }

  /** The successor has the settings of its response (protocol §6.8). */
  private follow(turn: SteerableTurn, steers: readonly Steer[]): readonly LateEvent[] {
    // What a prompt has brought is among the settings and in the chain.
    const { prompt: _, ...parameters } = turn.running.admitted.parameters;
    const request = { ...parameters, previous_response_id: turn.running.responseId, input: itemsOf(steers) };
    try {
      this.dependencies.follow(turn.streamId, request, steers);
      this.ended.set(turn.running.responseId, { streamId: turn.streamId, why: WAS_STEERED });
      return [];
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      return this.failAll(steers, 'successor_creation_failed', error.message);
    }
  }

  private failAll(steers: readonly Steer[], code: SteerFailure, message: string): readonly LateEvent[] {
    for (const steer of steers) this.release(steer);
    return steers.map((steer) => ({ type: 'response.steer.failed', members: failedMembers(steer, code, message) }));
  }

  private release(steer: Steer): void {
    if (this.accepted.delete(steer)) this.dependencies.share.giveBack(steer.bytes);
  }

  private log([code, message]: SteerRefusal<'invalid_value' | SteerFailure>): void {
    this.dependencies.onRefusal(ApiError.of(code, message));
  }

  /** What belongs to no response has the number 0. */
  private answer(type: string, members: string, at: { readonly streamId: string | undefined } | undefined): void {
    this.dependencies.answer(`{"type":"${type}","sequence_number":0${members}`, at?.streamId);
  }
}
