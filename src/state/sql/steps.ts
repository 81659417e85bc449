import type { AnyStatement, Statement } from './statement.js';

/** A statement that is asked for its rows. */
export interface Asked {
  readonly statement: AnyStatement;
  readonly values: readonly unknown[];
}

/**
 * What a method does, statement by statement. It is written once for SQLite, whose thread answers at once, and for PostgreSQL, which is
 * waited for.
 */
export type Steps<Result> = Generator<Asked, Result, readonly unknown[]>;

/** A contract whose methods are steps. */
export type InSteps<Contract> = {
  readonly [Method in keyof Contract]: Contract[Method] extends (...args: infer Args) => Promise<infer Result>
    ? (...args: Args) => Steps<Result>
    : never;
};

/** Methods in steps as those of a contract that answers at once. */
export type Immediate<Methods, Name extends keyof Methods> = {
  readonly [Method in Name]: Methods[Method] extends (...args: infer Args) => Generator<Asked, infer Result>
    ? (...args: Args) => Result
    : never;
};

/** Methods in steps as those of a contract that is waited for. */
export type Promised<Methods, Name extends keyof Methods> = {
  readonly [Method in Name]: Methods[Method] extends (...args: infer Args) => Generator<Asked, infer Result>
    ? (...args: Args) => Promise<Result>
    : never;
};

/** How PostgreSQL runs a method: in a transaction, or each statement by itself. In SQLite every call is a part of a transaction. */
export type Mode = 'transaction' | 'statements';

/** The methods of a contract, in its order. */
export type Modes<Name extends PropertyKey> = Readonly<Record<Name, Mode>>;

/** The names of the methods of a contract. */
export function methodsOf<Name extends string>(modes: Modes<Name>): readonly Name[] {
  return Object.keys(modes) as Name[];
}

/** Asks for the rows of a statement. */
export function* rowsOf<Values extends readonly unknown[], Row>(
  statement: Statement<Values, Row>,
  values: Values,
): Steps<readonly Row[]> {
  return (yield { statement, values }) as readonly Row[];
}

/** Asks for the first row of a statement; undefined without one. */
export function* rowOf<Values extends readonly unknown[], Row>(
  statement: Statement<Values, Row>,
  values: Values,
): Steps<Row | undefined> {
  return (yield* rowsOf(statement, values))[0];
}

type Run<Rows> = (statement: AnyStatement, values: readonly unknown[]) => Rows;

/** Methods in steps, for a database that answers at once. */
export function immediate<Methods extends object, Name extends keyof Methods & string>(
  methods: Methods,
  modes: Modes<Name>,
  run: Run<readonly unknown[]>,
): Immediate<Methods, Name> {
  return mapMethods(methods, modes, (begin) => {
    const steps = begin();
    let step = steps.next();
    while (step.done !== true) step = steps.next(run(step.value.statement, step.value.values));
    return step.value;
  }) as Immediate<Methods, Name>;
}

/** Methods in steps, for a database that is waited for. `take`: begins the steps, perhaps again after they have failed, and takes them. */
export function promised<Methods extends object, Name extends keyof Methods & string>(
  methods: Methods,
  modes: Modes<Name>,
  take: (begin: () => Steps<unknown>, mode: Mode) => Promise<unknown>,
): Promised<Methods, Name> {
  return mapMethods(methods, modes, take) as Promised<Methods, Name>;
}

/** Takes steps, and waits for each of them. */
export async function awaitSteps<Result>(steps: Steps<Result>, run: Run<Promise<readonly unknown[]>>): Promise<Result> {
  let step = steps.next();
  while (step.done !== true) step = steps.next(await run(step.value.statement, step.value.values));
  return step.value;
}

function mapMethods(
  methods: object,
  modes: Modes<string>,
  take: (begin: () => Steps<unknown>, mode: Mode) => unknown,
): object {
  const named = methods as Readonly<Record<string, (...args: readonly unknown[]) => Steps<unknown>>>;
  const taken = Object.entries(modes).map(([name, mode]) => {
    return [name, (...args: readonly unknown[]) => take(() => named[name]?.(...args) as Steps<unknown>, mode)];
  });
  return Object.fromEntries(taken) as object;
}
