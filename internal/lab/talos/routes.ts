import { ETCD_ROUTES } from './etcd-calls.ts';
import { EVENT_ROUTES } from './event-calls.ts';
import { FILE_ROUTES } from './file-calls.ts';
import type { Route } from './grpc.ts';
import { HEALTH_ROUTES } from './health-calls.ts';
import { IDENTITY_ROUTES } from './identity-calls.ts';
import { MACHINE_ROUTES } from './machine-calls.ts';
import type { Session } from './session.ts';
import { STATE_ROUTES } from './state-calls.ts';

/** Every method that machines of a lab answer, by its path. */
export const ROUTES: ReadonlyMap<string, Route<Session>> = new Map(
  [
    ...MACHINE_ROUTES,
    ...ETCD_ROUTES,
    ...FILE_ROUTES,
    ...EVENT_ROUTES,
    ...IDENTITY_ROUTES,
    ...HEALTH_ROUTES,
    ...STATE_ROUTES,
  ].map((route) => [route.path, route]),
);
