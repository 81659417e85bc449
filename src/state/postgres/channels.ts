import { adHoc } from '../sql/statement.js';

/** The channels on which replicas notify each other. */
export const CHANNELS = {
  /** Deleted responses: their ids, separated by spaces. */
  deleted: 'antiphon_deleted',
  /** Responses whose logs have further events: the id of the process that added them, and theirs, separated by spaces. */
  logged: 'antiphon_logged',
  /** Responses that were ended from outside of their runs: their ids, separated by spaces. */
  ended: 'antiphon_ended',
  /** Jobs were enqueued; no payload. */
  jobs: 'antiphon_jobs',
} as const;

/** Notifies all processes of enqueued jobs, once per transaction. */
export const NOTIFY_OF_JOBS = adHoc<readonly [], unknown>(`SELECT pg_notify('${CHANNELS.jobs}', '')`);
