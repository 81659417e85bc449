import { Injectable, Logger } from '@nestjs/common';

import { TurnObserver, type TurnRecord } from '../responses/index.js';

/** Logs one line per turn: tenant, model, provider, status, tokens and duration; never any content. */
@Injectable()
export class TurnLog extends TurnObserver {
  private readonly logger = new Logger('Turn');

  override settled(record: TurnRecord): void {
    // Checked first: the debug level is usually off.
    if (!Logger.isLevelEnabled('debug')) return;
    const { responseId, caller, model, provider, status, usage, errorCode, durationMs } = record;
    this.logger.debug(
      [
        `${responseId} ${status}${errorCode === null ? '' : ` (${errorCode})`}`,
        `tenant=${caller.tenant} request=${caller.requestId}${toText(caller.connectionId)}`,
        `model=${model} provider=${provider ?? '-'}`,
        `tokens=${usage?.input_tokens ?? 0}+${usage?.output_tokens ?? 0} ms=${durationMs}`,
      ].join(' '),
    );
  }
}

function toText(connectionId: string | undefined): string {
  return connectionId === undefined ? '' : ` connection=${connectionId}`;
}
