import type { Tenant } from '../../access/index.js';
import type { StateSubject } from './state-subject.js';
import type { TestedState } from './tested-state.js';

/** The contracts of the state, as `StateBackend` names them. */
export type StateContractName =
  | 'responses'
  | 'graph'
  | 'sessions'
  | 'conversations'
  | 'locks'
  | 'secrets'
  | 'notices'
  | 'log'
  | 'jobs'
  | 'runs'
  | 'limits'
  | 'usage'
  | 'files'
  | 'vectors'
  | 'vectorStores'
  | 'transfer';

type Step = () => unknown;

/** What the cases of a part are written with. Names and order of the hooks are those of test runners. */
export interface Suite {
  readonly subject: StateSubject;
  /** Opens an empty backend. */
  readonly open: () => Promise<TestedState>;
  /** Has the cases share an empty backend, which `use` gets before the first one. It is closed after the last one. */
  readonly openOnce: (use: (opened: TestedState) => unknown) => void;
  /** The same, but `use` gets it before each case, with a tenant that no other case has. */
  readonly share: (use: (opened: TestedState, tenant: Tenant) => unknown) => void;
  /** Gives each case an empty backend of its own, which is closed after it. */
  readonly openEach: (use: (opened: TestedState) => unknown) => void;
  /** Opens the empty backend that states are moved to and from. */
  readonly openPeer: () => Promise<TestedState>;
  readonly it: (name: string, run: () => Promise<void>) => void;
  readonly describe: (name: string, body: () => void) => void;
  readonly beforeAll: (step: Step) => void;
  readonly beforeEach: (step: Step) => void;
  readonly afterEach: (step: Step) => void;
  readonly afterAll: (step: Step) => void;
}

/** Cases of one contract. */
export interface ContractPart {
  readonly contract: StateContractName;
  readonly name: string;
  readonly define: (suite: Suite) => void;
}

/** Makes a part. `define` registers its cases; it is called anew for each subject. */
export function part(contract: StateContractName, name: string, define: ContractPart['define']): ContractPart {
  return { contract, name, define };
}
