import type { ContractCase } from '../contract/provider-contract.js';
import { requireRule } from '../events/rule.js';
import { collectCases } from './collect-cases.js';
import { part, type StateContractName } from './part.js';
import { CHAINS } from './parts/chains.js';
import { CONVERSATION_FENCING } from './parts/conversation-fencing.js';
import { CONVERSATIONS } from './parts/conversations.js';
import { DELETED_CONVERSATIONS } from './parts/deleted-conversations.js';
import { DELETION } from './parts/deletion.js';
import { EVENT_LOG } from './parts/event-log.js';
import { EXPIRY } from './parts/expiry.js';
import { FENCING } from './parts/fencing.js';
import { FILES } from './parts/files.js';
import { GIVEN_ITEMS } from './parts/given-items.js';
import { GONE_CURSORS } from './parts/gone-cursors.js';
import { INPUT_ITEMS } from './parts/input-items.js';
import { JOB_QUEUE } from './parts/job-queue.js';
import { NOTICES } from './parts/notices.js';
import { ODD_NAMES } from './parts/odd-names.js';
import { PAGE_CURSORS } from './parts/page-cursors.js';
import { RELATIVES } from './parts/relatives.js';
import { RESPONSE_LIST } from './parts/response-list.js';
import { RUNS_BOUNDS } from './parts/runs-bounds.js';
import { RUNS_CONCLUDE } from './parts/runs-conclude.js';
import { RUNS_DELETION } from './parts/runs-deletion.js';
import { RUNS_EXPIRY } from './parts/runs-expiry.js';
import { RUNS_FENCING } from './parts/runs-fencing.js';
import { RUNS_LIFE } from './parts/runs-life.js';
import { SAVED_RESPONSES } from './parts/saved-responses.js';
import { SECRETS } from './parts/secrets.js';
import { SESSION_DELETION } from './parts/session-deletion.js';
import { SESSION_LIMIT } from './parts/session-limit.js';
import { SESSIONS } from './parts/sessions.js';
import { SHARED_LIMITS } from './parts/shared-limits.js';
import { STORE_FILE_CLAIMS } from './parts/store-file-claims.js';
import { STORED_ITEMS } from './parts/stored-items.js';
import { TENANTS } from './parts/tenants.js';
import { TRANSFER } from './parts/transfer.js';
import { USAGE } from './parts/usage.js';
import { VECTOR_STORES } from './parts/vector-stores.js';
import { VECTORS } from './parts/vectors.js';
import { WITHIN_SESSION } from './parts/within-session.js';
import { WRITE_LOCK } from './parts/write-lock.js';
import type { OptionalContract, StateSubject } from './state-subject.js';

const PARTS = [
  SAVED_RESPONSES,
  CHAINS,
  INPUT_ITEMS,
  STORED_ITEMS,
  GIVEN_ITEMS,
  DELETION,
  EXPIRY,
  ODD_NAMES,
  TENANTS,
  NOTICES,
  RESPONSE_LIST,
  RELATIVES,
  PAGE_CURSORS,
  GONE_CURSORS,
  WITHIN_SESSION,
  SESSIONS,
  SESSION_LIMIT,
  SESSION_DELETION,
  CONVERSATIONS,
  DELETED_CONVERSATIONS,
  CONVERSATION_FENCING,
  WRITE_LOCK,
  FENCING,
  SECRETS,
  RUNS_LIFE,
  RUNS_FENCING,
  RUNS_BOUNDS,
  RUNS_CONCLUDE,
  RUNS_DELETION,
  RUNS_EXPIRY,
  EVENT_LOG,
  JOB_QUEUE,
  SHARED_LIMITS,
  USAGE,
  FILES,
  VECTORS,
  VECTOR_STORES,
  STORE_FILE_CLAIMS,
  TRANSFER,
];

/** Requirements of one contract. The cases of a group share a backend: they run one at a time. */
export interface ContractGroup {
  readonly contract: StateContractName;
  readonly name: string;
  readonly cases: readonly ContractCase[];
  /** Closes what the cases have opened; call it after the last one. */
  readonly close: () => Promise<void>;
}

/**
 * The requirements of every `StateBackend`, in groups, each with a backend of its own:
 *
 *     for (const { name, cases, close } of stateContract(subject)) {
 *       describe(name, () => {
 *         afterAll(close);
 *         for (const { name, run } of cases) it(name, run);
 *       });
 *     }
 *
 * Of what the subject says to lack there is one case: that the backend lacks it.
 */
export function stateContract(subject: StateSubject): readonly ContractGroup[] {
  const { without = [] } = subject;
  const lacking = PARTS.filter(({ contract }) => without.some((lacked) => lacked === contract));
  return [
    ...PARTS.filter((one) => !lacking.includes(one)),
    ...without.map((contract) =>
      part(contract, 'none', ({ it }) =>
        it('a contract that the subject says to lack is lacking', () => requireLack(subject, contract)),
      ),
    ),
  ].map((one) => {
    const { contract, name } = one;
    return { contract, name: `${contract}: ${name}`, ...collectCases(one, subject) };
  });
}

async function requireLack({ open }: StateSubject, contract: OptionalContract): Promise<void> {
  const opened = await open();
  const has = opened.backend[contract] !== undefined;
  await opened.close();
  requireRule(!has, `the backend has ${contract}, but its subject says that it has none`);
}
