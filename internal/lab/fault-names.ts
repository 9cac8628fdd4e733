/** The names of the faults of a lab, apart from what they do: a shell that starts completes them without the whole world. */
export const FAULT_NAMES = [
  'power-loss',
  'cut-off',
  'etcd-stop',
  'frozen-apiserver',
  'kubelet-stop',
  'foreign-edit',
  'alarm',
  'full-budget',
  'cut-etcd',
  'move-leader',
] as const;

/** The name of one. */
export type FaultName = (typeof FAULT_NAMES)[number];
