// The Kubernetes API of a simulated world, for whoever serves it over sockets.
export { type Change, createHistory, type History } from './history.ts';
export { KUBERNETES_VERSION } from './nodes.ts';
export { groupVersions, RESOURCES, REVIEW_GROUPS, resourceAt } from './registry.ts';
export { type ApiReply, type ApiRequest, type ApiUser, failure, notServed } from './request.ts';
export { apiVersionOf, type Column, qualifiedName, type Resource } from './resource.ts';
export { type Route, routeOf } from './route.ts';
export { type Selection, selectionOf } from './selection.ts';
export { historyOf } from './watched.ts';
