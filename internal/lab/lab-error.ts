/** Why a lab cannot do what was asked, in words for people; `advice` says what to do. */
export class LabError extends Error {
  override readonly name = 'LabError';
  readonly kind: LabErrorKind;
  readonly advice: string | undefined;

  constructor(kind: LabErrorKind, message: string, advice?: string, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.kind = kind;
    this.advice = advice;
  }
}

/**
 * `usage`: what was asked for does not exist. `refused`: not in this state.
 * `directory`: the directory cannot be used. `addresses`: the host has no free
 * loopback addresses. `not-running`: there is no lab.
 */
export type LabErrorKind = 'usage' | 'refused' | 'directory' | 'addresses' | 'not-running';
