import type { ModelError } from '../model-error.js';
import type { ModelSink } from '../model-sink.js';
import { scrub } from '../scrub.js';
import { type ClientErrorContext, toClientError } from './errors/to-client-error.js';
import type { Repetition } from './errors/retries.js';
import type { Upstream } from './upstream.js';
import type { UpstreamError } from './upstream-error.js';

/** Forms that are not understood, of which the log speaks. */
const MOST_TOLD_FORMS = 16;

/** What is said of the failures of a turn's requests: to the log, with the upstream's words, and to the client. */
export class FailureReport {
  /** `x-request-id` of the latest answer. */
  private requestId: string | undefined;

  constructor(
    private readonly upstream: Upstream,
    private readonly sink: ModelSink,
  ) {}

  /** Another request begins. */
  begin(): void {
    this.requestId = undefined;
  }

  noteRequestId(id: string | readonly string[] | undefined): void {
    if (typeof id === 'string') this.requestId = scrub(id, this.upstream.options.secrets);
  }

  /** Says that a stream is asked for again. */
  reconnecting(number: number, { most, pauseMs }: Repetition, failure: UpstreamError): void {
    const message = `Reconnecting... ${number}/${most}`;
    this.upstream.outages.warn(this.name, `${message}: ${this.reasonOf(failure)}`);
    const { code } = this.toClientError(failure);
    const delay_ms = Math.round(pauseMs);
    this.sink.notice?.({ notice: 'reconnecting', message, code, attempt: number, max_attempts: most, delay_ms });
  }

  /** Says that the conversation goes on over HTTP. The log has it only `with a warning`. */
  fallingBack(failure: UpstreamError, manner: 'silently' | 'with a warning'): void {
    const message = 'Falling back from WebSockets to HTTPS transport.';
    const { logger } = this.upstream;
    if (manner === 'with a warning') logger.warn(`${this.name}: ${message} ${this.reasonOf(failure)}`);
    this.sink.notice?.({ notice: 'fallback', message, code: this.toClientError(failure).code });
  }

  /** Says once of each form that it is left out of answers, because it is not understood. */
  leftOut(what: string | null): void {
    const { toldForms, logger, options } = this.upstream;
    if (what === null || toldForms.has(what) || toldForms.size >= MOST_TOLD_FORMS) return;
    toldForms.add(what);
    logger.warn(`'${options.name}' answers with ${what}, which is left out: it is not understood`);
  }

  /** The error for the client; logs its cause. */
  explain(failure: UpstreamError, told: Pick<ClientErrorContext, 'wasRepeated' | 'hasBegun'>): ModelError {
    const { logger, outages } = this.upstream;
    const error = this.toClientError(failure, told);
    // A request that every upstream would refuse says nothing of this one.
    if (error.retry === 'nowhere') logger.log(`${this.name}: refused: ${this.reasonOf(failure)}`);
    else outages.warn(this.name, `failed: ${this.reasonOf(failure)}`);
    return error;
  }

  /** For the log. The request id is no reason: lines are grouped by that. */
  get name(): string {
    const { name } = this.upstream.options;
    return this.requestId === undefined ? `'${name}'` : `'${name}' (its request ${this.requestId})`;
  }

  private toClientError(
    failure: UpstreamError,
    told: Pick<ClientErrorContext, 'wasRepeated' | 'hasBegun'> = { wasRepeated: true },
  ): ModelError {
    const { options, clock } = this.upstream;
    return toClientError(failure, { secrets: options.secrets, now: clock.now(), ...told });
  }

  private reasonOf({ message }: UpstreamError): string {
    return scrub(message, this.upstream.options.secrets);
  }
}
