import { spawn } from 'node:child_process';

// The input ends when the process that holds the other end does, however it dies.
const SCRIPT = `read -r _
kill -QUIT "$(head -n 1 "$1/data/postmaster.pid")"
rm -rf "$1" || { sleep 1; rm -rf "$1"; }`;

/** Has a cluster's server ended and its directory removed should this process die first. Gives what calls that off. */
export function guardDirectory(directory: string): () => void {
  // Detached, since the terminal interrupts the whole group of the test run.
  const shell = spawn('/bin/sh', ['-c', SCRIPT, 'guard', directory], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  return () => void shell.kill('SIGKILL');
}
