import type { LabelSelector } from './objects.ts';

/**
 * Whether a label selector picks an object with these labels. An empty selector picks everything; an absent one nothing,
 * as in policy/v1.
 */
export function selects(selector: LabelSelector | null | undefined, labels: Readonly<Record<string, string>>): boolean {
  if (selector === undefined || selector === null) return false;
  const exact = Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
  return exact && (selector.matchExpressions ?? []).every((expression) => matches(expression, labels));
}

function matches(
  expression: NonNullable<LabelSelector['matchExpressions']>[number],
  labels: Readonly<Record<string, string>>,
): boolean {
  const value = labels[expression.key];
  const listed = value !== undefined && (expression.values ?? []).includes(value);
  switch (expression.operator) {
    case 'In':
      return listed;
    case 'NotIn':
      return !listed;
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
  }
}
