/** The address of an endpoint, which talosctl takes with the port of the Talos API as well: `[fd00::1]:50000`. */
export function addressOfEndpoint(endpoint: string): string {
  const [, host = endpoint] = /^(.+?)(?::50000)?$/.exec(endpoint) ?? [];
  return host.startsWith('[') && host.endsWith(']') ? host.slice(1, -1) : host;
}
