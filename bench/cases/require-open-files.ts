import { OptionError } from '../options.ts';

/** Files that a process has open beside its sockets, generously. */
const OTHERS = 200;

/** Throws an OptionError when a process may not have this many sockets open. */
export function requireOpenFiles(sockets: number): void {
  const limit = openFilesLimit();
  if (limit >= sockets + OTHERS) return;
  const needed = sockets + OTHERS;
  throw new OptionError(
    `--idle-sockets: these need ${needed} open files in a process, but 'ulimit -n' allows ${limit}`,
  );
}

/** The limit of this process, which those that it starts inherit; infinite where there is none. */
function openFilesLimit(): number {
  const { userLimits } = process.report.getReport() as {
    readonly userLimits?: { readonly open_files?: { readonly soft: number | 'unlimited' } };
  };
  const limit = userLimits?.open_files?.soft ?? 'unlimited';
  return limit === 'unlimited' ? Infinity : limit;
}
