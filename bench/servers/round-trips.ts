/** Counts the round trips of a process to its database. */
import pg from 'pg';

import { counted } from '../harness/inside.ts';

/** What a connection sends: https://www.postgresql.org/docs/current/protocol-flow.html. */
interface Sending {
  /** A text without values, and what turns send of it: the bounds of their transactions. Connections set themselves up this way. */
  query: (this: pg.Connection, text: string) => void;
  parse: (this: pg.Connection, statement: { readonly text: string }) => void;
  /** Ends a statement with values, and waits for its rows. */
  sync: (this: pg.Connection) => void;
}

// Counts round trips. Those of timers, of the queue and of the clock, do not count.
const byTimer = new WeakSet<pg.Connection>();
const prototype = pg.Connection.prototype as unknown as Sending;
const { query, parse, sync } = prototype;
prototype.query = function (text) {
  if (/^(?:BEGIN|COMMIT|ROLLBACK)/.test(text)) counted.roundTrips += 1;
  query.call(this, text);
};
prototype.parse = function (statement) {
  if (/antiphon_jobs|clock_timestamp\(\)\) \* 1000/.test(statement.text)) byTimer.add(this);
  parse.call(this, statement);
};
prototype.sync = function () {
  if (!byTimer.delete(this)) counted.roundTrips += 1;
  sync.call(this);
};
