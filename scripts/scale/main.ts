/**
 * What a load needs: `npm run scale -- [--state postgres|redis] [--sockets 10000] [--turns-per-minute 1] [--deltas 300] [--days 30]`.
 * The costs of a turn are those of docs/scale.md; measure yours, and scale what this prints.
 */
import { parseArgs } from 'node:util';

import { COSTS, type Load, type State } from './model.ts';
import { toDemandTable } from './tables.ts';

const { values } = parseArgs({
  options: {
    state: { type: 'string', default: 'postgres' },
    sockets: { type: 'string', default: '10000' },
    'turns-per-minute': { type: 'string', default: '1' },
    deltas: { type: 'string', default: '300' },
    days: { type: 'string', default: '30' },
  },
});

try {
  const load: Load = {
    sockets: positive('sockets', values.sockets),
    turnsPerMinute: positive('turns-per-minute', values['turns-per-minute']),
    deltas: positive('deltas', values.deltas),
    days: positive('days', values.days),
  };
  process.stdout.write(`${toDemandTable([load], stateOf(values.state))}\n`);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

function positive(name: string, text: string): number {
  const value = Number(text);
  if (value > 0 && Number.isFinite(value)) return value;
  throw new Error(`--${name}: expected a number above 0, but got '${text}'`);
}

function stateOf(text: string): State {
  if (Object.hasOwn(COSTS, text)) return text as State;
  throw new Error(`--state: expected one of ${Object.keys(COSTS).join(', ')}, but got '${text}'`);
}
