import { readFileSync } from 'node:fs';

/** A user of the operating system, by numbers. */
export interface Account {
  readonly uid: number;
  readonly gid: number;
}

/** The account that PostgreSQL has to run as: it refuses root. Undefined where it can run as whoever runs the tests. */
export function serverAccount(): Account | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const accounts = new Map(
    readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .map((line) => line.split(':'))
      .map(([name = '', , uid, gid]) => [name, { uid: Number(uid), gid: Number(gid) }]),
  );
  const account = accounts.get('postgres') ?? accounts.get('nobody');
  if (account === undefined)
    throw new Error('PostgreSQL cannot run as root, and there is no account postgres or nobody');
  return account;
}
