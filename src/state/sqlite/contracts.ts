import type { DatabaseSync } from 'node:sqlite';

import { sqliteClaims } from './claims.js';
import { sqliteFiles } from './files.js';
import { sqliteSecrets } from './secrets.js';
import { sqliteUsage } from './usage.js';
import { sqliteVectorStores } from './vector-stores.js';
import { sqliteVectors } from './vectors.js';

/** The contracts that the thread executes as they are. `now`: the time of the call, milliseconds since the epoch. */
export function contractsOf(database: DatabaseSync, now: () => number) {
  return {
    secrets: sqliteSecrets(database),
    claims: sqliteClaims(database, now),
    usage: sqliteUsage(database),
    ...sqliteFiles(database, now),
    vectors: sqliteVectors(database),
    vectorStores: sqliteVectorStores(database, now),
  };
}
