import { spawn } from 'node:child_process';

// The input ends when the process that holds the other end does, however it dies.
const SCRIPT = `read -r _
kill -QUIT "$(head -n 1 "$1/$2")"
rm -rf "$1" || { sleep 1; rm -rf "$1"; }`;

/**
 * Has a server ended and its directory removed should this process die first; the server writes its process id into a file
 * of the directory. Gives what calls that off.
 */
export function guardDirectory(directory: string, pidFile: string): () => void {
  // Detached, since the terminal interrupts the whole group of the test run.
  const shell = spawn('/bin/sh', ['-c', SCRIPT, 'guard', directory, pidFile], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  return () => void shell.kill('SIGKILL');
}
