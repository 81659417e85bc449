/** A contract as the thread has it: its methods return at once, and throw what their callers are to catch. */
export type Executed<Contract> = {
  readonly [Method in keyof Contract as IsMethod<Contract[Method], Method>]: Contract[Method] extends (
    ...args: infer Args
  ) => Promise<infer Result>
    ? (...args: Args) => Result
    : never;
};

type IsMethod<Member, Name> = Member extends (...args: never) => Promise<unknown> ? Name : never;

/** The other side: what the thread has, as a contract. */
export type Called<Methods> = {
  readonly [Method in keyof Methods]: Methods[Method] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Result>
    : never;
};

/** How answers of methods are read; one that is undefined is not. */
export type ReadersOf<Methods> = {
  readonly [Method in keyof Methods]?: Methods[Method] extends (...args: never) => infer Result
    ? (answer: Exclude<Result, undefined>) => unknown
    : never;
};

/** Methods of the thread with their answers read. */
export type Read<Methods, Readers> = {
  readonly [Method in keyof Readers & keyof Methods]: Methods[Method] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<ResultOf<Readers[Method]> | Extract<Result, undefined>>
    : never;
};

type ArgsOf<Method> = Method extends (...args: infer Args) => unknown ? Args : never;
type ResultOf<Method> = Method extends (...args: never) => infer Result ? Result : never;
type Ask = (method: string, args: readonly unknown[]) => Promise<unknown>;

/** The thread as a store of the process asks it: for the methods of its group. */
export class ThreadGroup<Methods> {
  /** `decode` reads what a method has returned. It throws StoreUnavailableError for text that cannot be parsed: the file is damaged. */
  constructor(
    private readonly ask: Ask,
    private readonly decode: <T>(read: () => T) => T,
  ) {}

  /** Calls are executed in order; those made while others are executed share a transaction. Throws StoreUnavailableError. */
  call<Name extends keyof Methods & string>(
    method: Name,
    ...args: ArgsOf<Methods[Name]>
  ): Promise<ResultOf<Methods[Name]>> {
    return this.ask(method, args) as Promise<ResultOf<Methods[Name]>>;
  }

  /** A contract whose methods answer with what the thread returns. */
  contract<Method extends keyof Methods & string>(methods: readonly Method[]): Called<Pick<Methods, Method>> {
    const calls = methods.map((method) => [method, (...args: readonly unknown[]) => this.ask(method, args)]);
    return Object.fromEntries(calls) as Called<Pick<Methods, Method>>;
  }

  /** Returns the methods with their answers parsed: what clients have sent crosses threads as text. */
  reading<Readers extends ReadersOf<Methods>>(readers: Readers): Read<Methods, Readers> {
    const named = Object.entries(readers) as readonly (readonly [string, (answer: unknown) => unknown])[];
    const calls = named.map(([method, read]) => [
      method,
      async (...args: readonly unknown[]) => {
        const answer = await this.ask(method, args);
        return answer === undefined ? undefined : this.decode(() => read(answer));
      },
    ]);
    return Object.fromEntries(calls) as Read<Methods, Readers>;
  }
}

/** The methods of groups in one table, by the names of the group and the method. */
export type Named<Groups> = {
  readonly [Name in NameIn<Groups>]: Name extends `${infer Group extends keyof Groups & string}.${infer Method}`
    ? Groups[Group][Method & keyof Groups[Group]]
    : never;
};

type NameIn<Groups> = {
  [Group in keyof Groups & string]: `${Group}.${keyof Groups[Group] & string}`;
}[keyof Groups & string];

/** Puts the methods of groups in one table. */
export function named<Groups extends Readonly<Record<string, object>>>(groups: Groups): Named<Groups> {
  const methods = Object.entries(groups).flatMap(([group, members]) =>
    Object.entries(members).map(([method, execute]): [string, unknown] => [`${group}.${method}`, execute]),
  );
  return Object.fromEntries(methods) as Named<Groups>;
}
