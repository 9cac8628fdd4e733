import { type KubeObject, type LabelSelector, selects } from '../../../pkg/kube/index.ts';
import { textOf } from './fields.ts';
import { type ApiReply, failure } from './request.ts';
import type { Resource } from './resource.ts';

/** Which objects a list or a watch is about. */
export interface Selection {
  readonly namespace: string | undefined;
  /** Whether it is about every object that there is. */
  readonly isAll: boolean;
  /** The one name that it is about, where it says so. */
  readonly name: string | undefined;
  matches(object: KubeObject): boolean;
}

/** A selection that nobody can read: a reply instead. */
export type SelectionResult =
  | { readonly ok: true; readonly selection: Selection }
  | { readonly ok: false; readonly reply: ApiReply };

/** Reads `fieldSelector` and `labelSelector` of a request for a resource, in one namespace or in all. */
export function selectionOf(
  resource: Resource,
  namespace: string | undefined,
  query: Readonly<Record<string, unknown>>,
): SelectionResult {
  if (query.fieldSelector === undefined && query.labelSelector === undefined) {
    const isAll = namespace === undefined;
    return { ok: true, selection: { namespace, isAll, name: undefined, matches: inside(namespace) } };
  }
  const fields = requirementsOf(String(query.fieldSelector ?? ''));
  const known = ['metadata.name', 'metadata.namespace', ...(resource.fields ?? [])];
  const unknown = fields?.find(({ key }) => !known.includes(key));
  if (fields === undefined || unknown !== undefined) {
    const why = unknown === undefined ? 'invalid field selector' : `field label not supported: ${unknown.key}`;
    return { ok: false, reply: failure(400, 'BadRequest', why) };
  }
  const labels = labelsOf(String(query.labelSelector ?? ''));
  if (labels === undefined) {
    return {
      ok: false,
      reply: failure(400, 'BadRequest', `unable to parse the label selector ${JSON.stringify(query.labelSelector)}`),
    };
  }
  const isInside = inside(namespace);
  const matches = (object: KubeObject): boolean => {
    if (!isInside(object)) return false;
    const isWanted = fields.every(({ key, value, isEqual }) => (textOf(object, key) === value) === isEqual);
    return isWanted && selects(labels, object.metadata.labels ?? {});
  };
  const name = fields.find(({ key, isEqual }) => key === 'metadata.name' && isEqual)?.value;
  return { ok: true, selection: { namespace, isAll: false, name, matches } };
}

function inside(namespace: string | undefined): (object: KubeObject) => boolean {
  return namespace === undefined ? () => true : ({ metadata }) => metadata.namespace === namespace;
}

interface FieldRequirement {
  readonly key: string;
  readonly value: string;
  readonly isEqual: boolean;
}

function requirementsOf(text: string): FieldRequirement[] | undefined {
  const parts = text.split(',').filter((part) => part.trim() !== '');
  const requirements = parts.map((part) => {
    const [, key, operator, value] = /^\s*([^=!\s]+)\s*(==|=|!=)\s*(.*?)\s*$/.exec(part) ?? [];
    return key === undefined ? undefined : { key, value: value ?? '', isEqual: operator !== '!=' };
  });
  return requirements.includes(undefined) ? undefined : (requirements as FieldRequirement[]);
}

type Expression = NonNullable<LabelSelector['matchExpressions']>[number];

/** The label selector of a query (`a=b,c in (d,e),!f`) as objects have it. */
function labelsOf(text: string): LabelSelector | undefined {
  const expressions: Expression[] = [];
  // Commas inside brackets belong to a set.
  for (const part of text
    .split(/,(?![^(]*\))/)
    .map((each) => each.trim())
    .filter((each) => each !== '')) {
    const expression = expressionOf(part);
    if (expression === undefined) return undefined;
    expressions.push(expression);
  }
  return { matchExpressions: expressions };
}

function expressionOf(part: string): Expression | undefined {
  const set = /^(\S+)\s+(in|notin)\s*\(([^)]*)\)$/.exec(part);
  if (set !== null) {
    const values = (set[3] ?? '').split(',').map((value) => value.trim());
    return { key: set[1] ?? '', operator: set[2] === 'in' ? 'In' : 'NotIn', values };
  }
  const equal = /^([^=!\s]+)\s*(==|=|!=)\s*(\S*)$/.exec(part);
  if (equal !== null) {
    return { key: equal[1] ?? '', operator: equal[2] === '!=' ? 'NotIn' : 'In', values: [equal[3] ?? ''] };
  }
  const exists = /^(!?)\s*([^=!\s()]+)$/.exec(part);
  return exists === null
    ? undefined
    : { key: exists[2] ?? '', operator: exists[1] === '!' ? 'DoesNotExist' : 'Exists' };
}
