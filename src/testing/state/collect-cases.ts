import type { ContractCase } from '../contract/provider-contract.js';
import { openMemory } from './open-memory.js';
import type { ContractPart, StateContractName, Suite } from './part.js';
import { newTenant } from './records.js';
import { isOptional, type StateSubject } from './state-subject.js';
import { type TestedState, withDefaults } from './tested-state.js';

/** The cases of a part, and what ends them. */
export interface CollectedCases {
  readonly cases: readonly ContractCase[];
  /** Runs the `afterAll` of everything that a case has begun. */
  readonly close: () => Promise<void>;
}

/** The hooks of a `describe`. */
class Scope {
  readonly before: Step[] = [];
  readonly beforeEach: Step[] = [];
  readonly afterEach: Step[] = [];
  readonly after: Step[] = [];
  private begun: Promise<void> | undefined;

  constructor(
    readonly name: string,
    private readonly outer: Scope | null,
  ) {}

  async run(body: Step): Promise<void> {
    await this.begin();
    const scopes = this.path();
    for (const { beforeEach } of scopes) await runAll(beforeEach);
    try {
      await body();
    } finally {
      for (const { afterEach } of scopes.toReversed()) await runAll(afterEach);
    }
  }

  async end(): Promise<void> {
    // A state that could not be opened has nothing to close, and has failed a case already.
    const hasBegun = await this.begun?.then(
      () => true,
      () => false,
    );
    if (hasBegun === true) await runAll(this.after);
  }

  /** From the outermost. */
  path(): readonly Scope[] {
    return this.outer === null ? [this] : [...this.outer.path(), this];
  }

  private begin(): Promise<void> {
    this.begun ??= (async () => {
      await this.outer?.begin();
      await runAll(this.before);
    })();
    return this.begun;
  }
}

type Step = Parameters<Suite['beforeAll']>[0];

/** Has a part register its cases for a subject. Nothing is opened before the first case runs. */
export function collectCases({ contract, name, define }: ContractPart, subject: StateSubject): CollectedCases {
  const cases: ContractCase[] = [];
  const scopes = [new Scope(name, null)];
  let scope = scopes[0] as Scope;
  const open = async (): Promise<TestedState> => requireContract(contract, withDefaults(await subject.open()));
  const opening = (use: (opened: TestedState) => unknown): { readonly begin: Step; readonly end: Step } => {
    let opened: TestedState | undefined;
    const begin = async (): Promise<void> => {
      opened = await open();
      await use(opened);
    };
    return { begin, end: () => opened?.close() };
  };
  define({
    subject,
    open,
    openOnce: (use) => {
      const { begin, end } = opening(use);
      scope.before.push(begin);
      scope.after.push(end);
    },
    share: (use) => {
      let shared: TestedState | undefined;
      const { begin, end } = opening((opened) => (shared = opened));
      scope.before.push(begin);
      scope.beforeEach.push(() => shared && use(shared, newTenant()));
      scope.after.push(end);
    },
    openEach: (use) => {
      const { begin, end } = opening(use);
      scope.beforeEach.push(begin);
      scope.afterEach.push(end);
    },
    openPeer: async () => withDefaults(await (subject.openPeer ?? openMemory)()),
    it: (title, body) => {
      const within = scope;
      const names = within
        .path()
        .slice(1)
        .map((outer) => outer.name);
      cases.push({ name: [...names, title].join(' '), run: () => within.run(body) });
    },
    describe: (title, body) => {
      const outer = scope;
      scope = new Scope(title, outer);
      scopes.push(scope);
      body();
      scope = outer;
    },
    beforeAll: (step) => scope.before.push(step),
    beforeEach: (step) => scope.beforeEach.push(step),
    afterEach: (step) => scope.afterEach.push(step),
    afterAll: (step) => scope.after.push(step),
  });
  const close = async (): Promise<void> => {
    for (const ended of scopes.toReversed()) await ended.end();
  };
  return { cases, close };
}

async function requireContract(contract: StateContractName, opened: TestedState): Promise<TestedState> {
  if (!isOptional(contract) || opened.backend[contract] !== undefined) return opened;
  await opened.close();
  throw new Error(`the backend has no ${contract}: its subject must say so, with without: ['${contract}']`);
}

async function runAll(steps: readonly Step[]): Promise<void> {
  for (const step of steps) await step();
}
