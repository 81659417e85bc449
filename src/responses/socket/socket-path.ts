/** The path under which the gateway is registered. It answers on the paths of `POST /responses` (ApiRoutes). */
export const RESPONSES_PATH = '/v1/responses';
