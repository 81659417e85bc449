import { apiPaths } from '../../http/index.js';

/** The paths for sockets, equal to those of `POST /responses`. */
export const RESPONSES_PATHS: readonly string[] = apiPaths('responses').map((path) => `/${path}`);

/** The path under which the gateway is registered; it answers on all of RESPONSES_PATHS. */
export const RESPONSES_PATH = '/v1/responses';
