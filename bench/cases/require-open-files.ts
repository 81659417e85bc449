import { OptionError } from '../options.ts';

/** Upper bound of open files other than sockets. */
const OTHERS = 200;

/** Throws an OptionError if the limit of open files is too low for this many sockets. */
export function requireOpenFiles(sockets: number): void {
  const limit = openFilesLimit();
  if (limit >= sockets + OTHERS) return;
  const needed = sockets + OTHERS;
  throw new OptionError(
    `--idle-sockets: these need ${needed} open files in a process, but 'ulimit -n' allows ${limit}`,
  );
}

/** The limit of this process, which child processes inherit. Infinity if there is none. */
function openFilesLimit(): number {
  const { userLimits } = process.report.getReport() as {
    readonly userLimits?: { readonly open_files?: { readonly soft: number | 'unlimited' } };
  };
  const limit = userLimits?.open_files?.soft ?? 'unlimited';
  return limit === 'unlimited' ? Infinity : limit;
}
