import { Injectable, Logger } from '@nestjs/common';

import { Environment } from '../config/index.js';
import { FLOOD_LIMIT, LineBudget, LogLine, quote } from '../logging/index.js';
import { TurnObserver, type TurnRecord, UpstreamTraces } from '../responses/index.js';
import { Clock } from '../time/index.js';

/**
 * Logs one line per turn: tenant, model, provider, status, tokens and duration; never any content. Failed turns at level
 * `log`, because nothing else may tell of them, the others at `debug`; all at `log` with LOG_TURNS=all.
 */
@Injectable()
export class TurnLog extends TurnObserver {
  private readonly logger = new Logger('Turn');
  private readonly failures: LineBudget;

  constructor(
    clock: Clock,
    private readonly environment: Environment,
    private readonly traces: UpstreamTraces,
  ) {
    super();
    const report = (_kind: string, leftOut: number): void => this.logger.log(`${leftOut} more failed within a second`);
    this.failures = new LineBudget({ ...FLOOD_LIMIT, report }, clock);
  }

  override settled(record: TurnRecord): void {
    const { LOG_TURNS } = this.environment;
    const level = LOG_TURNS === 'all' || record.status === 'failed' ? 'log' : 'debug';
    // Checked first: the debug level is usually off.
    if (!Logger.isLevelEnabled(level)) return;
    if (level === 'log' && LOG_TURNS === 'failed' && !this.failures.admits('failed turns')) return;
    const traceId = this.traces.idOf(record);
    this.logger[level](new LogLine(toMembers(record, traceId), () => describe(record, traceId)));
  }
}

/** The members of a line in JSON. */
function toMembers(record: TurnRecord, traceId: string | null): ConstructorParameters<typeof LogLine>[0] {
  const { responseId, caller, model, provider, door, transport, background, status, usage, errorCode } = record;
  return {
    response_id: responseId,
    status,
    error_code: errorCode,
    tenant: caller.tenant,
    key_id: caller.keyId ?? null,
    request_id: caller.requestId,
    connection_id: caller.connectionId ?? null,
    trace_id: traceId,
    model,
    provider,
    door,
    transport,
    background,
    input_tokens: usage?.input_tokens ?? null,
    output_tokens: usage?.output_tokens ?? null,
    first_event_ms: record.firstEventMs,
    duration_ms: record.durationMs,
  };
}

function describe(record: TurnRecord, traceId: string | null): string {
  const { responseId, caller, model, provider, status, usage, errorCode, durationMs } = record;
  return [
    `${responseId} ${status}${errorCode === null ? '' : ` (${quote(errorCode)})`}`,
    `tenant=${quote(caller.tenant)} request=${caller.requestId}${toText(caller.connectionId)}`,
    `model=${quote(model)} provider=${quote(provider ?? '-')}`,
    `tokens=${usage?.input_tokens ?? 0}+${usage?.output_tokens ?? 0} ms=${durationMs}${traceId === null ? '' : ` trace=${traceId}`}`,
  ].join(' ');
}

function toText(connectionId: string | undefined): string {
  return connectionId === undefined ? '' : ` connection=${connectionId}`;
}
