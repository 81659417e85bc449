import { Injectable, Logger } from '@nestjs/common';

import { FLOOD_LIMIT, LineBudget, quote } from '../logging/index.js';
import { TurnObserver, type TurnRecord } from '../responses/index.js';
import { Clock } from '../time/index.js';

/**
 * Logs one line per turn: tenant, model, provider, status, tokens and duration; never any content. Failed turns at level
 * `log`, because nothing else may tell of them, the others at `debug`.
 */
@Injectable()
export class TurnLog extends TurnObserver {
  private readonly logger = new Logger('Turn');
  private readonly failures: LineBudget;

  constructor(clock: Clock) {
    super();
    const report = (_kind: string, leftOut: number): void => this.logger.log(`${leftOut} more failed within a second`);
    this.failures = new LineBudget({ ...FLOOD_LIMIT, report }, clock);
  }

  override settled(record: TurnRecord): void {
    const level = record.status === 'failed' ? 'log' : 'debug';
    // Checked first: the debug level is usually off.
    if (!Logger.isLevelEnabled(level)) return;
    if (level === 'log' && !this.failures.admits('failed turns')) return;
    this.logger[level](describe(record));
  }
}

function describe(record: TurnRecord): string {
  const { responseId, caller, model, provider, status, usage, errorCode, durationMs } = record;
  return [
    `${responseId} ${status}${errorCode === null ? '' : ` (${quote(errorCode)})`}`,
    `tenant=${quote(caller.tenant)} request=${caller.requestId}${toText(caller.connectionId)}`,
    `model=${quote(model)} provider=${quote(provider ?? '-')}`,
    `tokens=${usage?.input_tokens ?? 0}+${usage?.output_tokens ?? 0} ms=${durationMs}`,
  ].join(' ');
}

function toText(connectionId: string | undefined): string {
  return connectionId === undefined ? '' : ` connection=${connectionId}`;
}
