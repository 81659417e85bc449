import pg from 'pg';

import type { RoundTripsAnswer } from '../processes/messages.ts';

/** The messages of PostgreSQL's protocol that cause a round trip. */
const ASKING = ['query', 'sync'];

/** Reports, on request, the number of database round trips of this process. */
export function reportRoundTrips(): void {
  let roundTrips = 0;
  const { prototype } = pg.Connection;
  for (const name of ASKING) {
    const send = Reflect.get(prototype, name) as (this: pg.Connection, ...values: unknown[]) => void;
    Reflect.set(prototype, name, function (this: pg.Connection, ...values: unknown[]) {
      roundTrips += 1;
      send.apply(this, values);
    });
  }
  process.on('message', ({ type }: { readonly type: string }) => {
    if (type !== 'round trips') return;
    const answer: RoundTripsAnswer = { type, roundTrips };
    process.send?.(answer);
  });
}
