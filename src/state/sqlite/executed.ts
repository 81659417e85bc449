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
