/** What identifies and dates a resource. Times in ms since the epoch. */
export interface ResourceMetadata {
  readonly namespace: string;
  readonly type: string;
  readonly id: string;
  /** In-memory counter: starts again with every boot, so never compare across boots. */
  readonly version: bigint;
  readonly phase: 'running' | 'tearingDown';
  readonly owner: string;
  readonly created: number;
  readonly updated: number;
  readonly finalizers: readonly string[];
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
}

/** A resource of the COSI state of one machine, its spec decoded. Never holds key bytes. */
export interface Resource<Spec> {
  readonly metadata: ResourceMetadata;
  readonly spec: Spec;
}

/** A kind of resource: where it is and how its spec is read. Kinds are data, see `resources.ts`. */
export interface ResourceKind<Spec> {
  /** Full type, for example `OSRootSecrets.secrets.talos.dev`. */
  readonly type: string;
  readonly namespace: string;
  /** The one ID of a singleton; absent for kinds with many. */
  readonly id?: string;
  /** Reads the protobuf form of the spec; throws an Error that says what is wrong. */
  readonly decode: (spec: Uint8Array) => Spec;
}

/** One change seen by a watch. `bootstrapped` comes once, after the state that was present. */
export type ResourceEvent<Spec> =
  | { readonly type: 'created' | 'updated'; readonly resource: Resource<Spec> }
  | { readonly type: 'destroyed'; readonly id: string }
  | { readonly type: 'bootstrapped' };
