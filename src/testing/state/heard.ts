import type { StateBackend } from '../../state/index.js';

/** The ids of the responses of whose deletion a backend tells from now on; it may tell more than once. */
export function heardBy(backend: StateBackend): ReadonlySet<string> {
  const heard = new Set<string>();
  const ignore = (): void => undefined;
  backend.notices.subscribe({
    deleted: (ids) => {
      for (const id of ids) heard.add(id);
    },
    interrupted: ignore,
    resumed: ignore,
  });
  return heard;
}
