import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Resident set size of a process and all its descendants, bytes, as reported by the system. */
export async function toResidentBytes(root: number): Promise<number> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=,rss=']);
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
  const sum = (pid: number): number =>
    rows.reduce((total, [id = 0, parent = 0, kilobytes = 0]) => {
      if (id === pid) return total + kilobytes * 1024;
      return parent === pid ? total + sum(id) : total;
    }, 0);
  return sum(root);
}
