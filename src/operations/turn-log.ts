import { Injectable, Logger } from '@nestjs/common';

import { quote } from '../logging/index.js';
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
        `${responseId} ${status}${errorCode === null ? '' : ` (${quote(errorCode)})`}`,
        `tenant=${quote(caller.tenant)} request=${caller.requestId}${toText(caller.connectionId)}`,
        `model=${quote(model)} provider=${quote(provider ?? '-')}`,
        `tokens=${usage?.input_tokens ?? 0}+${usage?.output_tokens ?? 0} ms=${durationMs}`,
      ].join(' '),
    );
  }
}

function toText(connectionId: string | undefined): string {
  return connectionId === undefined ? '' : ` connection=${connectionId}`;
}
